#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "eval/report/page_parts.hh"

namespace cress::report {
namespace {

RunResult result(const std::string& scheme, const std::string& link,
                 std::map<std::string, double, std::less<>> numbers) {
  RunResult made;
  made.key = {.scheme = scheme, .link = link, .direction = "forward"};
  made.window_to_s = 60;
  made.numbers = std::move(numbers);
  return made;
}

TEST(Headline, ComparesPictureAgeAndListsTheOtherAxes) {
  const std::vector<RunResult> results{result("old-style", "lte",
                                              {{"frame_delay_p95_ms", 2310},
                                               {"throughput_kbps", 2400},
                                               {"utilization", 0.9},
                                               {"ssim_db", 14.04},
                                               {"frozen_s", 12.3}}),
                                       result("cress", "lte",
                                              {{"frame_delay_p95_ms", 143.2},
                                               {"throughput_kbps", 980},
                                               {"utilization", 0.42},
                                               {"ssim_db", 15.25},
                                               {"frozen_s", 0}})};
  const Headline words = headline(results);
  EXPECT_EQ(
      words.lead,
      "Cress's picture is 16 times fresher than old-style's (143 ms old or less for 95 % of the "
      "time, against 2.31 s), with 1.2 dB more SSIM.");
  EXPECT_EQ(
      words.lines,
      (std::vector<std::string>{
          "Cress carried 980 kbit/s, 42 % of what the link offered; old-style 2.40 Mbit/s, 90 %.",
          "The picture itself: 15.2 dB of SSIM with Cress, 14.0 dB with old-style. It stood "
          "still for 0.0 s and 12.3 s."}));
}

TEST(Headline, ReportsAFresherCompetitor) {
  const std::vector<RunResult> results{result("cress", "lte", {{"delay95_ms", 150}}),
                                       result("b", "lte", {{"delay95_ms", 100}})};
  EXPECT_EQ(headline(results).lead,
            "Cress's newest data is 1.5 times as old as b's (150 ms old or less for 95 % of the "
            "time, against 100 ms).");
}

TEST(Headline, ReportsACompetitorWithBetterQuality) {
  const auto lead = [](double cress_ms, double cress_db) {
    return headline(std::vector<RunResult>{
                        result("cress", "lte",
                               {{"frame_delay_p95_ms", cress_ms}, {"ssim_db", cress_db}}),
                        result("b", "lte", {{"frame_delay_p95_ms", 200}, {"ssim_db", 12}})})
        .lead;
  };
  EXPECT_EQ(lead(100, 11.2),
            "Cress's picture is 2.0 times fresher than b's (100 ms old or less for 95 % of the "
            "time, against 200 ms), with 0.8 dB less SSIM.");
  EXPECT_EQ(lead(500, 11.2),
            "Cress's picture is 2.5 times as old as b's (500 ms old or less for 95 % of the time, "
            "against 200 ms), with 0.8 dB less SSIM.");
  EXPECT_EQ(lead(205, 12.04),
            "Cress's picture is about as old as b's (205 ms old or less for 95 % of the time, "
            "against 200 ms), with as much SSIM (12.0 dB).");
}

TEST(Headline, SchemesThatKnowTheLinkAreComparedLast) {
  const std::vector<RunResult> results{result("omniscient", "lte", {{"delay95_ms", 40}}),
                                       result("far", "lte", {{"delay95_ms", 900}}),
                                       result("cress", "lte", {{"delay95_ms", 100}})};
  const Headline words = headline(results);
  EXPECT_NE(words.lead.find("fresher than far's"), std::string::npos) << words.lead;
  EXPECT_EQ(words.lines.back().find("omniscient: 40 ms"), 0U) << words.lines.back();
}

TEST(Headline, PutsTheClosestRivalFirstAndTheOthersBelow) {
  const std::vector<RunResult> results{
      result("slow", "lte", {{"delay95_ms", 5000}}), result("near", "lte", {{"delay95_ms", 102}}),
      result("cress", "lte", {{"delay95_ms", 100}}), result("mid", "lte", {{"delay95_ms", 300}})};
  const Headline words = headline(results);
  EXPECT_NE(words.lead.find("about as old as near's"), std::string::npos) << words.lead;
  EXPECT_EQ(words.lines, (std::vector<std::string>{"mid: 300 ms, 3.0 times as old.",
                                                   "slow: 5.00 s, 50 times as old."}));
}

TEST(Headline, TakesMediansOverTheRunsThatBothHave) {
  const std::vector<RunResult> results{
      result("cress", "a", {{"delay95_ms", 100}}), result("cress", "b", {{"delay95_ms", 200}}),
      result("cress", "c", {{"delay95_ms", 300}}), result("cress", "d", {{"delay95_ms", 9000}}),
      result("b", "a", {{"delay95_ms", 1000}}),    result("b", "b", {{"delay95_ms", 400}}),
      result("b", "c", {{"delay95_ms", 300}})};
  EXPECT_EQ(
      headline(results).lead,
      "Cress's newest data is 2.0 times fresher than b's (200 ms old or less for 95 % of the time, "
      "against 400 ms) (median of 3 runs).");
}

TEST(Headline, OfOneSchemeComparesNothing) {
  const std::vector<RunResult> results{
      result("sprout", "a", {{"delay95_ms", 100}, {"utilization", 0.5}})};
  EXPECT_EQ(hero_scheme(results), "sprout");
  EXPECT_EQ(headline(results).lead,
            "With sprout the newest data to arrive was at most 100 ms old for 95 % of the time.");
  EXPECT_EQ(headline(results).lines,
            (std::vector<std::string>{"It used 50 % of what the link offered."}));
  EXPECT_EQ(headline(std::vector<RunResult>{result("x", "a", {})}).lead,
            "x: nothing arrived in the scored time.");
}

TEST(InWords, KeepsThreeDigits) {
  EXPECT_EQ(in_words_ms(0), "0 ms");
  EXPECT_EQ(in_words_ms(999.4), "999 ms");
  EXPECT_EQ(in_words_ms(999.6), "1.00 s");
  EXPECT_EQ(in_words_ms(42'380), "42.4 s");
  EXPECT_EQ(in_words_ms(310'000), "310 s");
  EXPECT_EQ(in_words_kbps(612.4), "612 kbit/s");
  EXPECT_EQ(in_words_kbps(1812), "1.81 Mbit/s");
  EXPECT_EQ(in_words_kbps(12'000), "12.0 Mbit/s");
}

}  // namespace
}  // namespace cress::report
