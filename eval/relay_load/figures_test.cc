#include "eval/relay_load/figures.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eval/relay_load/quantile.hh"
#include "eval/relay_load/relay_process.hh"

namespace cress::relay_load {
namespace {

std::vector<Duration> from_1ms_to(int last) {
  std::vector<Duration> values;
  for (int i = last; i >= 1; --i) {
    values.push_back(i * 1ms);
  }
  return values;
}

TEST(Quantile, IsTheValueAtItsShareOfTheOrder) {
  std::vector<Duration> values = from_1ms_to(101);
  EXPECT_EQ(quantile(values, 0), 1ms);
  EXPECT_EQ(quantile(values, 0.5), 51ms);
  EXPECT_EQ(quantile(values, 0.99), 100ms);
  EXPECT_EQ(quantile(values, 1), 101ms);
  std::vector<Duration> none;
  EXPECT_EQ(quantile(none, 0.5), std::nullopt);
}

TEST(SoundDelays, AreTheirMedianAndTwoTails) {
  std::vector<Duration> values = from_1ms_to(1001);
  const SoundDelay delay = delay_of(values);
  EXPECT_EQ(delay.p50, 501ms);
  EXPECT_EQ(delay.p99, 991ms);
  EXPECT_EQ(delay.p999, 1000ms);
}

TEST(Metric, IsFoundByItsWholeNameAtTheLinesBegin) {
  const std::string text = "# HELP a b\nx_a 3\na_more 4\na{b=\"c\"} 5\na 6.5\n";
  EXPECT_EQ(metric(text, "a"), 6.5);
  EXPECT_EQ(metric(text, "a{b=\"c\"}"), 5);
  EXPECT_EQ(metric(text, "b"), 0);
}

/// As the relay writes them: each class counts what is below its bound.
std::string waits(int below_1ms, int below_100ms, int all) {
  std::string text;
  const auto add = [&text](const char* bound, int count) {
    text += "cress_relay_wait_seconds_bucket{le=\"" + std::string{bound} + "\"} " +
            std::to_string(count) + "\n";
  };
  for (const char* bound : {"0.0001", "0.00025", "0.0005"}) {
    add(bound, 0);
  }
  for (const char* bound : {"0.001", "0.002", "0.005", "0.01", "0.025", "0.05"}) {
    add(bound, below_1ms);
  }
  add("0.1", below_100ms);
  return text + "cress_relay_wait_seconds_count " + std::to_string(all) + "\n";
}

TEST(WaitQuantile, IsTheClassThatHoldsItsShareOfTheIncrease) {
  const std::string before = waits(1000, 1000, 1000);
  const std::string after = waits(1050, 1090, 1100);
  EXPECT_EQ(wait_quantile(before, after, 0.5), 1ms);
  EXPECT_EQ(wait_quantile(before, after, 0.51), 100ms);
  EXPECT_EQ(wait_quantile(before, after, 0.9), 100ms);
  EXPECT_EQ(wait_quantile(before, after, 0.95), std::nullopt) << "beyond all classes";
  EXPECT_EQ(wait_quantile(before, before, 0.5), std::nullopt) << "there were none";
}

TEST(Refusals, AreTheIncreasesByReason) {
  const std::string before =
      "cress_relay_refused_total{reason=\"a\"} 5\ncress_relay_refused_total{reason=\"b\"} 7\n";
  const std::string after =
      "cress_relay_refused_total{reason=\"a\"} 9\ncress_relay_refused_total{reason=\"b\"} 7\n"
      "cress_relay_member_refused_total{reason=\"a\"} 2\ncress_relay_other{reason=\"c\"} 3\n"
      "cress_relay_refused_total{reason=\"cut\n";
  EXPECT_EQ(refusals(before, after), (std::map<std::string, uint64_t>{{"a", 4}, {"member_a", 2}}));
}

TEST(Turns, AnAttackIsComparedWithTheTurnBeforeIt) {
  // Growths of 2, 8 and 4; the last turn has no attack after it, and one attack was not measured.
  std::vector<std::vector<Duration>> turns{{10ms}, {20ms}, {1ms}, {8ms}, {},
                                           {9ms},  {2ms},  {8ms}, {3ms}};
  Comparison result = compare_turns(turns, 0.99);
  EXPECT_EQ(result.pairs, 3);
  EXPECT_EQ(result.growth.median, 4);
  EXPECT_EQ(result.growth.low, 2);
  EXPECT_EQ(result.growth.high, 8);
  EXPECT_EQ(delay_of(result.calm).p50, 2ms) << "of 1, 2, 3 and 10";
  EXPECT_EQ(delay_of(result.attacked).p50, 8ms) << "of 8, 8, 9 and 20";
  std::vector<std::vector<Duration>> calm{{5ms}};
  result = compare_turns(calm, 0.99);
  EXPECT_EQ(result.pairs, 0);
  EXPECT_EQ(result.growth.median, 0);
}

TEST(Turns, GrowthHasTheRangeOfItsMiddleHalf) {
  std::vector<std::vector<Duration>> turns;
  for (int i = 9; i > 0; --i) {
    turns.push_back({1ms});
    turns.push_back({i * 1ms});
  }
  const Comparison result = compare_turns(turns, 0.5);
  EXPECT_EQ(result.growth.low, 3);
  EXPECT_EQ(result.growth.median, 5);
  EXPECT_EQ(result.growth.high, 7);
}

TEST(Turns, AreComparedByTheQuantileThatWasAskedFor) {
  std::vector<std::vector<Duration>> turns{{1ms, 2ms, 9ms}, {1ms, 6ms, 9ms}};
  EXPECT_EQ(compare_turns(turns, 0.5).growth.median, 3);
  EXPECT_EQ(compare_turns(turns, 1).growth.median, 1);
}

}  // namespace
}  // namespace cress::relay_load
