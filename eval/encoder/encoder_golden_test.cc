// Goal: the bench's calculations, charts and files stay as they were. Method: budgets, curves and
// charts from seeds; pages and tables of rows written by hand; one bench of every encoder.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "eval/encoder/bd_rate.hh"
#include "eval/encoder/bench.hh"
#include "eval/encoder/budget.hh"
#include "eval/encoder/chart.hh"
#include "eval/encoder/ivf_video.hh"
#include "eval/encoder/outputs.hh"
#include "media/codec/versions.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/base/text_file.hh"

namespace cress::encoder_bench {
namespace {

namespace fs = std::filesystem;

/// The part after a page's style sheet, without the program's version.
std::string body_of(std::string page) {
  page.erase(0, page.find("</head>"));
  if (const size_t at = page.find(CRESS_VERSION ". Pictures"); at != std::string::npos) {
    page.erase(at, std::string_view{CRESS_VERSION}.size());
  }
  return page;
}

/// Text too long for a golden file, as its length and digest.
std::string digested(const std::string& name, const std::string& text) {
  return fmt::format("{} {} bytes {}\n", name, text.size(), golden_digest(text));
}

/// A line of digits per list of budgets: the first ones, the sum and a digest of all.
std::string budget_line(const std::string& name, const FrameBudgets& budgets) {
  std::string all;
  std::string first;
  int64_t sum = 0;
  for (size_t i = 0; i < budgets.size(); ++i) {
    all += fmt::format("{} ", budgets[i].bytes());
    sum += budgets[i].bytes();
    first += i < 8 ? fmt::format(" {}", budgets[i].bytes()) : "";
  }
  return fmt::format("{}: {} of {} bytes,{} {}\n", name, budgets.size(), sum, first,
                     golden_digest(all));
}

std::string refusal_of(const std::string& text, const BudgetContext& context) {
  try {
    return budget_line(text, make_budgets(text, context));
  } catch (const std::exception& error) {
    return fmt::format("{}: refused: {}\n", text, error.what());
  }
}

TEST(EncoderGolden, BudgetsOfEveryFormAreAsRecorded) {
  std::string golden;
  for (const int64_t rate : {25, 30, 7}) {
    const BudgetContext context{
        .frames = 400, .frame_rate = {.numerator = rate, .denominator = 1}, .seed = 3, .data = {}};
    for (const char* text : {"none",
                             "constant:600",
                             "constant:1",
                             "constant:1000000",
                             "constant:1000001",
                             "constant:0",
                             "step:300,1500,5s",
                             "step:300,1500",
                             "step:100,200,300,0.5s",
                             "step:100,200,1.25s",
                             "step:100",
                             "step:100,0",
                             "step:100,200,0.001s",
                             "step:100,200,0.0009s",
                             "step:100,200,1000000s",
                             "step:100,200,1000001s",
                             "walk:150,2500",
                             "walk:150,2500,0.25",
                             "walk:150,2500,4",
                             "walk:150,2500,0",
                             "walk:150,2500,100",
                             "walk:150,2500,101",
                             "walk:1,1000000",
                             "walk:0,100",
                             "walk:100,100",
                             "link:lte-slow",
                             "link:3g.up",
                             "link:3g.down",
                             "link:wifi",
                             "window:constant:600",
                             "window:link:3g",
                             "window:none",
                             "window:window:none",
                             "window:",
                             "trace:",
                             "link:",
                             "csv:",
                             "lots"}) {
      golden += refusal_of(text, context);
    }
  }
  for (const char* text :
       {"1\n2\n3\n", "budget_bytes\n7\n\n8\n", "a,budget_bytes\n1,2\n3,\n", "a,b\n5,6\n7,8\n",
        "1073741824\n", "1073741825\n", "0\n1,2,3\n", "budget_bytes,x\n,1\n4\n", "x\n", "", "\n\n",
        "1\r\n2\r\n", "\"9\"\n", "1\n-2\n", "1\n2x\n", "a,budget_bytes\n1,2\n3\n", " 4 \n\t5\n"}) {
    const auto parsed = parse_budget_csv(text);
    golden += parsed
                  ? budget_line("table", *parsed)
                  : fmt::format("table: line {}: {}\n", parsed.error().line, parsed.error().what);
  }
  for (const char* text : {"window:none", "window:", "windo:none", "none", ""}) {
    golden += fmt::format("window budget {}: {}\n", text, is_window_budget(text));
  }
  expect_golden("budgets", golden);
}

/// Curves that mostly rise, of two to seven points.
std::vector<RatePoint> random_curve(Rng& rng) {
  std::vector<RatePoint> points;
  double kbps = rng.uniform(50, 200);
  double quality = rng.uniform(25, 33);
  for (uint64_t n = 2 + rng.below(6); n > 0; --n) {
    points.push_back({kbps, quality});
    kbps *= rng.uniform(1.1, 3);
    quality += rng.chance(0.02) ? -0.1 : rng.uniform(0.05, 4);
  }
  return points;
}

TEST(EncoderGolden, CurveDifferencesAreAsRecorded) {
  Rng rng{11};
  std::string golden;
  for (int i = 0; i < 60; ++i) {
    const std::vector<RatePoint> anchor = random_curve(rng);
    const std::optional<double> percent = bd_rate_percent(anchor, random_curve(rng));
    golden += percent ? fmt::format("{:.6f}\n", *percent) : "none\n";
  }
  expect_golden("bd_rate", golden);
}

std::optional<double> random_value(Rng& rng, double low, double high) {
  const double value = rng.uniform(low, high);
  return rng.chance(0.15) ? std::nullopt : std::optional{value};
}

Chart random_chart(Rng& rng) {
  Chart chart;
  const bool logarithmic_x = rng.chance(0.3);
  const bool logarithmic_y = rng.chance(0.5);
  const double size = std::pow(10.0, rng.uniform(-1, 5));
  std::vector<double> values;
  for (uint64_t line = rng.below(11); line > 0; --line) {
    ChartLine made{.colour = rng.below(11), .points = {}, .markers = rng.chance(0.5), .label = {}};
    made.label = rng.chance(0.4) ? "a <label> & \"more\"" : "";
    double x = logarithmic_x ? 1 : 0;
    for (uint64_t point = rng.below(14); point > 0; --point) {
      made.points.push_back({x, random_value(rng, size / 50, size * 1.2)});
      x += rng.uniform(0, 12);
      values.push_back(made.points.back().y.value_or(size));
    }
    chart.lines.push_back(std::move(made));
  }
  for (uint64_t point = rng.below(9); point > 0; --point) {
    chart.area.push_back({100.0 / static_cast<double>(point), random_value(rng, 0, size)});
  }
  chart.x = axis_around("x & y", {logarithmic_x ? 1.0 : 0.0, rng.uniform(20, 120)}, logarithmic_x);
  chart.y = axis_around("kbit/s", values, logarithmic_y);
  if (rng.chance(0.5)) {
    chart.mark_x = rng.uniform(1, 30);
  }
  return chart;
}

TEST(EncoderGolden, ChartsAndAxesAreDrawnAsRecorded) {
  Rng rng{7};
  std::string golden;
  for (int i = 0; i < 40; ++i) {
    const Chart chart = random_chart(rng);
    golden += fmt::format("x {:.6g}..{:.6g}, y {:.6g}..{:.6g} ", chart.x.low, chart.x.high,
                          chart.y.low, chart.y.high);
    golden += digested("chart", chart_svg(chart, i % 2 == 0 ? 900 : 440, i % 3 == 0 ? 300 : 220));
  }
  for (const bool logarithmic : {false, true}) {
    // Ticks at both ends.
    for (const double high : {10.0, 100.0, 1000.0}) {
      Chart chart;
      chart.x = {.title = "x", .low = 1, .high = high, .logarithmic = logarithmic};
      chart.y = {.title = "y", .low = 2, .high = 2 * high, .logarithmic = logarithmic};
      chart.lines.push_back({.colour = 1, .points = {{1, 2.0}, {high, high}, {2 * high, 1.0}}});
      golden += digested("ends", chart_svg(chart, 900, 300));
    }
    for (const std::vector<double>& values : {std::vector<double>{},
                                              {0},
                                              {5},
                                              {1, 1},
                                              {0.003, 0.004},
                                              {1, 10},
                                              {9.9, 10.1},
                                              {-3, 4},
                                              {1, 1e6},
                                              {99, 101, 5},
                                              {2e-9, 1},
                                              {1000, 1000.5},
                                              {30.1, 41.7},
                                              {0, 0}}) {
      if (!logarithmic || std::ranges::all_of(values, [](double value) { return value > 0; })) {
        const ChartAxis axis = axis_around("t", values, logarithmic);
        golden += fmt::format("axis {} {} {:.9g}..{:.9g} {}\n", values.size(), logarithmic,
                              axis.low, axis.high, axis.title);
      }
    }
  }
  for (size_t colour = 0; colour < 20; ++colour) {
    golden += digested("swatch", swatch_svg(colour));
  }
  golden += escaped_text("<a href=\"x\">'&'</a> \x01\x7f\xc3\xa9 ~ tab\t!") + "\n";
  golden += digested("style", std::string{chart_style()});
  expect_golden("charts", golden);
}

CellOutput scripted_cell(Rng& rng, const std::string& encoder, const std::string& budget,
                         size_t frames, const std::string& video = "clip <1>.y4m") {
  CellOutput cell;
  cell.spec = {.video = video,
               .encoder = encoder,
               .quantizer = 20 + static_cast<int>(rng.below(20)),
               .budget = budget,
               .width = 64,
               .height = 48,
               .cpu_used = -8,
               .frames = frames,
               .skip = 3,
               .seed = 5};
  cell.frame_rate = {.numerator = 15, .denominator = 1};
  for (size_t i = 0; i < frames; ++i) {
    FrameRow row;
    row.frame = static_cast<uint32_t>(i);
    const bool no_window = budget != "none" && rng.chance(0.1);
    if (budget != "none") {
      row.budget_bytes = no_window ? 0 : static_cast<int64_t>(200 + rng.below(1800));
    }
    row.attempts = no_window ? 0 : static_cast<int>(1 + rng.below(3));
    row.size_bytes = no_window || rng.chance(0.1) ? 0 : static_cast<int64_t>(150 + rng.below(1900));
    row.psnr_held_db = rng.uniform(20, 45);
    row.ssim_held = rng.uniform(0.5, 0.999);
    if (row.coded()) {
      row.key_frame = i == 0 || rng.chance(0.05);
      row.quantizer = static_cast<int>(rng.below(64));
      row.width = rng.chance(0.2) ? 32 : 64;
      row.height = row.width * 3 / 4;
      row.psnr_db = rng.uniform(25, 45);
      row.ssim = rng.uniform(0.7, 0.999);
    }
    cell.frames.push_back(row);
    cell.encode_times.push_back(Duration{static_cast<int64_t>(rng.below(9'000'000))});
  }
  cell.result = summarize(cell.frames, cell.spec, cell.frame_rate);
  return cell;
}

std::vector<CellOutput> scripted_cells() {
  Rng rng{19};
  std::vector<CellOutput> cells;
  for (const char* budget : {"constant:60", "constant:120", "constant:240", "walk:50,500"}) {
    for (const char* encoder : {"cbr", "cress", "cbr-drop"}) {
      cells.push_back(scripted_cell(rng, encoder, budget, 40));
    }
  }
  for (const int quantizer : {12, 30, 48}) {
    cells.push_back(scripted_cell(rng, "quantizer", "none", 40));
    cells.back().spec.quantizer = quantizer;
  }
  cells.push_back(scripted_cell(rng, "cress", "csv:/a/b c/d.csv", 4000, "other"));
  cells.push_back(scripted_cell(rng, "cress-full", "csv:/a/b c/d.csv", 1601, "other"));
  // Rates and qualities that make curves.
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto step = static_cast<double>(i / 3);
    cells[i].result.bitrate_kbps = 60 * std::pow(1.9, step) + static_cast<double>(i % 3);
    cells[i].result.psnr_held_db = 30 + 2.5 * step + 0.3 * static_cast<double>(i % 3);
    cells[i].result.ssim_held_db = 10 + 1.5 * step - 0.2 * static_cast<double>(i % 3);
  }
  return cells;
}

TEST(EncoderGolden, TablesAndPagesOfScriptedCellsAreAsRecorded) {
  const std::vector<CellOutput> cells = scripted_cells();
  const std::vector<BdRate> bd = bd_rates(cells, "cbr");
  std::string golden = results_table(cells) + bd_table(bd) +
                       bd_table({{.video = "v",
                                  .width = 1,
                                  .height = 2,
                                  .cpu_used = -3,
                                  .encoder = "e",
                                  .anchor = "a",
                                  .psnr_percent = {},
                                  .ssim_percent = -1.25}});
  golden += digested("results.json", results_json(cells));
  golden += digested("results.csv", results_csv(cells));
  golden += digested("frames.csv", frames_csv(cells));
  golden += digested("timing.json", timing_json(cells));
  golden += digested("bd.json", bd_json(bd));
  for (const std::string& text : {results_csv({cells[0], cells[12]}), bd_json({bd.at(0)}),
                                  timing_json({cells[1]}), results_json({cells[12]})}) {
    golden += text;
  }
  for (size_t i : {size_t{0}, size_t{12}, size_t{15}}) {
    golden += file_name(i, cells[i].spec) + "\n";
  }
  CellSpec long_name = cells[0].spec;
  long_name.budget = "csv:/folder/" + std::string(200, 'z');
  golden += file_name(101, long_name) + "\n";
  golden += digested("page with curves", body_of(report_page(cells, true, bd)));
  golden += digested("page", body_of(report_page(cells, false, {})));
  golden += digested("page without budgets", body_of(report_page({cells[12]}, false, {})));
  golden += digested("long page", body_of(report_page({cells[15], cells[16]}, false, {})));
  Rng rng{2};
  golden += digested("page of means of two",
                     body_of(report_page({scripted_cell(rng, "cbr", "none", 900)}, false, {})));
  CellOutput empty = cells[0];
  empty.encode_times.clear();
  golden += timing_json({empty}) + results_table({empty});
  expect_golden("pages", golden);
}

TEST(EncoderGolden, FolderHoldsOnlyNewResults) {
  const fs::path folder = fs::path{testing::TempDir()} / "cress_encoder_golden";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::vector<std::string> names{"results.csv", "frames.csv", "timing.json", "bd_rate.json",
                                       "report.html"};
  for (const std::string& name : names) {
    save_text("old", folder / name);
  }
  const std::vector<CellOutput> cells = scripted_cells();
  const auto text = [&](const std::string& name) {
    return load_text(folder / name, DataSize{1 << 24});
  };
  {
    OutputFolder output{folder};
    EXPECT_EQ(output.path(), folder);
    EXPECT_EQ(text("results.json"), results_json({}));
    for (const std::string& name : names) {
      EXPECT_FALSE(fs::exists(folder / name)) << name;
    }
    output.add(cells[0]);
    output.add(cells[1]);
    const std::vector<CellOutput> both{cells[0], cells[1]};
    EXPECT_EQ(output.cells().size(), 2U);
    EXPECT_EQ(text("results.json"), results_json(both));
    EXPECT_EQ(text("results.csv"), results_csv(both));
    EXPECT_EQ(text("frames.csv"), frames_csv(both));
    EXPECT_EQ(text("timing.json"), timing_json(both));
  }
  fs::remove_all(folder);
}

std::string row_line(const FrameRow& row) {
  return fmt::format("{}/{}{}q{}a{}w{}p{:.2f} ", row.size_bytes,
                     row.budget_bytes ? std::to_string(*row.budget_bytes) : "-",
                     row.key_frame ? "K" : "", row.quantizer, row.attempts, row.width,
                     row.psnr_held_db);
}

TEST(EncoderGolden, EveryEncoderEncodesAsRecorded) {
  const std::string versions = media::codec_versions();
  std::string golden = versions + "\n";
  const fs::path folder = fs::path{testing::TempDir()} / "cress_encoder_golden_bench";
  fs::create_directories(folder);
  for (const EncoderInfo& info : encoders()) {
    for (const char* budget : {"walk:40,600", "window:link:3g", "none"}) {
      CellSpec spec;
      spec.video = "camera";
      spec.encoder = info.name;
      spec.budget = budget;
      spec.width = budget == std::string{"none"} ? 64 : 96;
      spec.height = budget == std::string{"none"} ? 48 : 64;
      spec.quantizer = 25;
      spec.frames = 40;
      spec.skip = 2;
      media::SyntheticCamera camera{{.width = 96, .height = 64}};
      CellContext context;
      context.budgets = make_budgets(budget, {.frames = spec.frames, .frame_rate = {}, .data = {}});
      Duration now{};
      context.stopwatch = [&now] { return now += 3ms; };
      std::vector<double> shares;
      context.progress = [&shares](double share) { shares.push_back(share); };
      context.ivf = folder / "cell.ivf";
      context.y4m = folder / "cell.y4m";
      const CellOutput output = run_cell(spec, camera, context);
      golden += fmt::format("{} {}\n", info.name, budget);
      std::string all;
      for (const FrameRow& row : output.frames) {
        all += row_line(row) +
               fmt::format("{:.3f} {:.6f} ", row.psnr_db.value_or(-1), row.ssim.value_or(-1));
        golden += row.frame % 8 == 0 ? row_line(row) : "";
      }
      golden +=
          fmt::format("\n  {} ivf {} y4m {} frames.csv {}, {} times, {:.3f} {:.3f}\n",
                      golden_digest(all), golden_digest(load_text(*context.ivf, DataSize{1 << 24})),
                      golden_digest(load_text(*context.y4m, DataSize{1 << 24})),
                      golden_digest(frames_csv({output})), output.encode_times.size(),
                      shares.front(), shares.back());
      for (const Duration time : output.encode_times) {
        EXPECT_EQ(time, 3ms);
      }
      if (info.name == "cbr") {
        IvfVideo video{*context.ivf};
        std::string pixels;
        for (uint64_t i = 0; i < video.clip_length() + 3; ++i) {
          const media::PicturePtr picture = video.picture(i);
          pixels.append(reinterpret_cast<const char*>(picture->data.data()), picture->data.size());
        }
        golden +=
            fmt::format("  again {} {}x{} {}/{} {} {}\n", video.clip_length(), video.width(),
                        video.height(), video.frame_rate().numerator,
                        video.frame_rate().denominator, video.description(), golden_digest(pixels));
      }
    }
  }
  fs::remove_all(folder);
  for (const EncoderInfo& info : encoders()) {
    golden += fmt::format("{}: {}\n", info.name, info.what);
  }
  if (!golden_begins("bench", versions)) {
    GTEST_SKIP() << "golden bench was recorded with other codecs than " << versions;
  }
  expect_golden("bench", golden);
}

}  // namespace
}  // namespace cress::encoder_bench
