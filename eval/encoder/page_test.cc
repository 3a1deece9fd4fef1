#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "eval/encoder/chart.hh"
#include "eval/encoder/outputs.hh"

namespace cress::encoder_bench {
namespace {

CellOutput cell_of(const std::string& encoder, const std::string& video, size_t frames,
                   bool has_budget) {
  CellOutput cell;
  cell.spec.video = video;
  cell.spec.encoder = encoder;
  cell.spec.budget = has_budget ? "walk:150,2500" : "none";
  cell.spec.width = 64;
  cell.spec.height = 48;
  cell.spec.frames = frames;
  for (size_t i = 0; i < frames; ++i) {
    FrameRow row;
    row.frame = static_cast<uint32_t>(i);
    if (has_budget) {
      row.budget_bytes = 1000;
    }
    row.size_bytes = i % 7 == 3 ? 0 : static_cast<int64_t>(700 + 100 * (i % 5));
    row.attempts = 1;
    row.width = 64;
    if (row.coded()) {
      row.psnr_db = 35;
      row.ssim = 0.9;
    }
    row.psnr_held_db = 30 + static_cast<double>(i % 3);
    row.ssim_held = 0.9;
    cell.frames.push_back(row);
  }
  cell.result = summarize(cell.frames, cell.spec, cell.frame_rate);
  return cell;
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++n;
  }
  return n;
}

TEST(EncoderPage, LoadsNothingRunsNothingAndIsTheSameTwice) {
  const std::vector<CellOutput> cells{cell_of("cbr", "clip", 50, true),
                                      cell_of("cbr-drop", "clip", 50, true)};
  const std::string page = report_page(cells, false, {});
  EXPECT_EQ(page, report_page(cells, false, {}));
  for (const char* word : {"http://", "https://", "<script", " src=", "nan", "inf\""}) {
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  }
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_EQ(count(page, "<svg class=\"chart\""), 4U);
  EXPECT_EQ(count(page, "<figure"), count(page, "</figure>"));
  EXPECT_EQ(count(page, "<details"), count(page, "</details>"));
}

TEST(EncoderPage, NamesAreTextAndNeverMarkup) {
  const std::string page = report_page({cell_of("cbr", "<b>\"&\xFF</b>", 5, true)}, false, {});
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;&quot;&amp;?&lt;/b&gt;"), std::string::npos);
}

TEST(EncoderPage, LeadHasTheMeanShareOverBudget) {
  // Of 28 encoded frames with sizes 700 … 1100 and a budget of 1000, those of 1100 are over.
  const CellOutput cell = cell_of("cbr", "clip", 35, true);
  ASSERT_TRUE(cell.result.fit);
  const std::string page = report_page({cell, cell_of("quantizer", "clip", 35, false)}, false, {});
  char expected[80];
  std::snprintf(expected, sizeof expected, "<h1>Frames over their budget: cbr %.1f %%</h1>",
                100 * cell.result.fit->over_share);
  EXPECT_NE(page.find(expected), std::string::npos) << expected;
}

TEST(EncoderPage, CurvesShowEveryEncoderOnceAndItsBdRate) {
  std::vector<CellOutput> cells;
  for (int i = 1; i <= 3; ++i) {
    for (const char* encoder : {"cbr", "cbr-drop"}) {
      cells.push_back(cell_of(encoder, "clip", 20, true));
      cells.back().spec.budget = "constant:" + std::to_string(100 * i);
      cells.back().result.bitrate_kbps = 100.0 * i * (cells.size() % 2 == 0 ? 0.5 : 1);
      cells.back().result.psnr_held_db = 30 + i;
      cells.back().result.ssim_held_db = 10 - i;  // worse with more bits: undefined
    }
  }
  const std::vector<BdRate> bd = bd_rates(cells, "cbr");
  ASSERT_EQ(bd.size(), 1U);
  EXPECT_EQ(bd[0].encoder, "cbr-drop");
  EXPECT_NEAR(bd[0].psnr_percent.value(), -50, 1e-9);
  EXPECT_FALSE(bd[0].ssim_percent);
  const std::string page = report_page(cells, true, bd);
  EXPECT_NE(page.find("-50.0 % by PSNR, no common quality by SSIM"), std::string::npos);
  EXPECT_EQ(count(page, "<svg class=\"chart\""), 2U + 3 * 4);
}

TEST(EncoderPage, ALongClipIsThinned) {
  const std::string page = report_page({cell_of("cbr", "clip", 20'000, true)}, false, {});
  EXPECT_LT(page.size(), 200'000U);
  EXPECT_NE(page.find("Means of 25 pictures each"), std::string::npos);
}

TEST(Chart, AxesHoldTheirValuesAndSurviveAnyInput) {
  const ChartAxis linear = axis_around("", {3.2, 47.1, 12}, false);
  EXPECT_EQ(linear.low, 0);
  EXPECT_EQ(linear.high, 50);
  const ChartAxis logarithmic = axis_around("", {0, -4, 20, 5000}, true);
  EXPECT_GT(logarithmic.low, 10);
  EXPECT_LT(logarithmic.low, 20);
  EXPECT_GT(logarithmic.high, 5000);
  for (const bool log : {false, true}) {
    for (const std::vector<double>& values : {std::vector<double>{},
                                              {0},
                                              {7},
                                              {100, 100},
                                              {1e-9},
                                              {std::nan(""), 1},
                                              {std::numeric_limits<double>::infinity()}}) {
      const ChartAxis axis = axis_around("", values, log);
      EXPECT_LT(axis.low, axis.high);
      EXPECT_TRUE(!log || axis.low > 0);
      Chart chart;
      chart.x = axis;
      chart.y = axis;
      chart.lines.push_back({.colour = 9, .points = {{1, 1}, {2, std::nullopt}, {3, 3}}});
      const std::string svg = chart_svg(chart, 400, 200);
      EXPECT_EQ(svg.find("nan"), std::string::npos);
      EXPECT_LT(svg.size(), 10'000U);
    }
  }
}

TEST(ResultsTable, ShortNamesAreInTheirColumns) {
  const std::string table = results_table({cell_of("vp8", "v", 5, true)});
  const size_t row = table.rfind("vp8");
  EXPECT_EQ(table.find("walk:150,2500") - row, table.find("budget"));
  EXPECT_EQ(table.find("budget"), std::string{"encoder  "}.size());
}

}  // namespace
}  // namespace cress::encoder_bench
