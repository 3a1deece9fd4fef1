#include "eval/report/run_files.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::report {
namespace {

constexpr std::string_view kResults = R"([
  {"scheme": "cress", "link": "lte", "direction": "forward", "seed": 7, "window_s": [10, 120.5],
   "delay95_ms": 103.5, "ssim_db": null, "mood": "good", "nested": {"a": [1, 2]}}
])";

constexpr std::string_view kTimeline =
    "scheme,link,direction,time_s,capacity_kbps,throughput_kbps,delay_ms,window_bytes,forecast_"
    "kbps\n"
    "a,lte,forward,0.1,800,400,55,1500,\n"
    "b,lte,forward,0,800,300,65,,\n"
    "a,lte,forward,0,900,500,45,,600\n";

constexpr std::string_view kFrames =
    "scheme,link,direction,frame,capture_s,display_s,delay_ms,size_bytes,budget_bytes,quantizer,"
    "key,"
    "ssim_db,psnr_db\n"
    "a,lte,forward,0,0,0.08,80,9000,10000,30,1,15.5,36\n"
    "a,lte,forward,1,0.033,,,,4000,,,,\n";

template <class T>
ParseError error_of(const Result<T, ParseError>& result) {
  return result ? ParseError{0, "no error"} : result.error();
}

TEST(Results, UnknownMembersAreKeptAsText) {
  const auto results = parse_results(kResults);
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 1U);
  const RunResult& result = results->front();
  EXPECT_EQ(result.key, (SeriesKey{"cress", "lte", "forward"}));
  EXPECT_EQ(result.seed, "7");
  EXPECT_EQ(result.window_to_s, 120.5);
  EXPECT_EQ(result.number("delay95_ms"), 103.5);
  EXPECT_EQ(result.number("ssim_db"), std::nullopt);
  EXPECT_EQ(result.number("psnr_db"), std::nullopt);
  EXPECT_EQ(result.others, (std::vector<std::pair<std::string, std::string>>{
                               {"mood", "good"}, {"nested", R"({"a":[1,2]})"}}));
}

TEST(Results, ErrorsNameTheResultAndTheKey) {
  EXPECT_EQ(error_of(parse_results("[\n{\n]")).line, 3U);
  EXPECT_EQ(error_of(parse_results("[]")).what, "must be a list of 1 to 100000 results");
  EXPECT_EQ(error_of(parse_results("{}")).what, "must be a list of 1 to 100000 results");
  EXPECT_EQ(error_of(parse_results("[5]")).what, "result 1 is not an object");
  EXPECT_EQ(error_of(parse_results(R"([{"scheme": "a", "link": "l", "direction": "d"}])")).what,
            R"(result 1 has no "window_s")");
  EXPECT_EQ(error_of(parse_results(
                         R"([{"scheme": 1, "link": "l", "direction": "d", "window_s": [0, 1]}])"))
                .what,
            R"(result 1 "scheme" must be a string)");
  EXPECT_EQ(error_of(parse_results(
                         R"([{"scheme": "a", "link": "l", "direction": "d", "window_s": [0, 1],
                     "psnr_db": "high"}])"))
                .what,
            R"(result 1 "psnr_db" must be a number or null)");
}

TEST(Results, DepthAndRangeAreBounded) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(error_of(parse_results(deep)).what, "is nested too deeply");
  EXPECT_EQ(error_of(parse_results("[1e999]")).what, "holds a number that is out of range");
}

TEST(TimelineFile, KeepsSeriesTogetherAndInOrderOfTime) {
  const auto all = parse_timeline(kTimeline);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  const Timeline& a = all->front();
  EXPECT_EQ(a.key.scheme, "a");
  ASSERT_EQ(a.points.size(), 2U);
  EXPECT_EQ(a.points[0].throughput_kbps, 500);
  EXPECT_EQ(a.points[0].window_bytes, std::nullopt);
  EXPECT_EQ(a.points[0].forecast_kbps, 600);
  EXPECT_EQ(a.points[1].window_bytes, 1500);
}

TEST(TimelineFile, AllowsQuotesOtherOrderFurtherColumnsAndCarriageReturns) {
  const auto all = parse_timeline(
      "extra,time_s,scheme,link,direction,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
      "forecast_kbps\r\n\r\nx,2.5,\"a \"\"b\"\", c\",l,d,1,2,3,4,5\r\n");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->front().key.scheme, R"(a "b", c)");
  EXPECT_EQ(all->front().points[0].time_s, 2.5);
  EXPECT_EQ(all->front().points[0].forecast_kbps, 5);
}

TEST(TimelineFile, ErrorsNameTheLine) {
  EXPECT_EQ(error_of(parse_timeline("")), (ParseError{0, "a header line is missing"}));
  EXPECT_EQ(error_of(parse_timeline("scheme,link\n")), (ParseError{1, "no column \"direction\""}));
  const std::string text(kTimeline);
  EXPECT_EQ(error_of(parse_timeline(text + "a,lte\n")).line, 5U);
  EXPECT_EQ(error_of(parse_timeline(text + "\na,lte,forward,1,8o0,1,2,3,4\n")),
            (ParseError{6, "capacity_kbps is not a number: \"8o0\""}));
  EXPECT_EQ(error_of(parse_timeline(text + "a,lte,forward,,800,1,2,3,4\n")),
            (ParseError{5, "time_s is empty"}));
  EXPECT_EQ(error_of(parse_timeline(text + "a,lte,forward,1,nan,1,2,3,4\n")).line, 5U);
  EXPECT_EQ(error_of(parse_timeline(text + "\"a,lte,forward,1,1,1,2,3,4\n")).line, 5U);
}

TEST(TimelineFile, HoldsTenThousandSeriesAndNoMore) {
  std::string text{kTimeline.substr(0, kTimeline.find('\n') + 1)};
  for (size_t i = 0; i < kSeriesMax; ++i) {
    text += "s" + std::to_string(i) + ",lte,forward,1,2,3,4,5,6\n";
  }
  const auto all = parse_timeline(text);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 10'000U);
  EXPECT_EQ(error_of(parse_timeline(text + "more,lte,forward,1,2,3,4,5,6\n")),
            (ParseError{kSeriesMax + 2, "too many rows or series"}));
}

TEST(FramesFile, NeverDisplayedFramesHaveNoTimes) {
  const auto all = parse_frames(kFrames);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1U);
  const std::vector<FramePoint>& points = all->front().points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].display_s, 0.08);
  EXPECT_EQ(points[0].key_frame, 1);
  EXPECT_EQ(points[1].display_s, std::nullopt);
  EXPECT_EQ(points[1].size_bytes, std::nullopt);
  EXPECT_EQ(points[1].budget_bytes, 4000);
}

TEST(RunFiles, AnyDamageGivesAValueOrAnErrorThatNamesALineOfTheFile) {
  Rng rng{1};
  int broken = 0;
  for (int round = 0; round < 3000; ++round) {
    for (const std::string_view original : {kResults, kTimeline, kFrames}) {
      std::string text(original);
      for (uint64_t damage = 1 + rng.below(4); damage > 0; --damage) {
        text[rng.below(text.size())] = static_cast<char>(rng.below(256));
      }
      if (rng.chance(0.3)) {
        text.resize(rng.below(text.size()) + 1);
      }
      const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
      for (const ParseError& error : {error_of(parse_results(text)), error_of(parse_timeline(text)),
                                      error_of(parse_frames(text))}) {
        EXPECT_LE(error.line, lines);
        EXPECT_FALSE(error.what.empty());
        broken += error.what == "no error" ? 0 : 1;
      }
    }
  }
  EXPECT_GT(broken, 3000);
}

}  // namespace
}  // namespace cress::report
