#include "eval/sweep/plan.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::sweep {
namespace {

/// "link/scheme/seed" of each run.
std::vector<std::string> runs_of(const Plan& plan) {
  std::vector<std::string> all;
  for (size_t i = 0; i < plan.size(); ++i) {
    std::string run = plan.value(i, Key::kLink)->text;
    run.append("/").append(plan.value(i, Key::kScheme)->text);
    run.append("/").append(plan.value(i, Key::kSeed)->text);
    all.push_back(run);
  }
  return all;
}

void expect_refused(const std::string& text, size_t line, const std::string& says) {
  const auto plan = parse_plan(text);
  ASSERT_FALSE(plan.has_value()) << text;
  EXPECT_EQ(plan.error().line, line) << plan.error().what;
  EXPECT_NE(plan.error().what.find(says), std::string::npos) << plan.error().what;
}

TEST(Plan, ListsMeanAProductWhoseSeedsChangeFastest) {
  const auto plan = parse_plan(R"(
scheme = ["cress", "cubic"]
link = ["3g", "wifi"]
seed = [7, 9])");
  ASSERT_TRUE(plan.has_value()) << plan.error().what;
  EXPECT_EQ(runs_of(*plan), (std::vector<std::string>{"3g/cress/7", "3g/cress/9", "3g/cubic/7",
                                                      "3g/cubic/9", "wifi/cress/7", "wifi/cress/9",
                                                      "wifi/cubic/7", "wifi/cubic/9"}));
}

TEST(Plan, TablesTakeTheTopsKeysAndMayReplaceThem) {
  const auto plan = parse_plan(R"(
link = "3g"
seed = "1..2"
[[run]]
scheme = "cress"
[[run]]
scheme = "sprout"
link = "wifi"
seed = 5)");
  ASSERT_TRUE(plan.has_value()) << plan.error().what;
  EXPECT_EQ(runs_of(*plan),
            (std::vector<std::string>{"3g/cress/1", "3g/cress/2", "wifi/sprout/5"}));
}

TEST(Plan, ValuesAreTextAsTheCommandLineHasIt) {
  const auto plan = parse_plan(R"(
scheme = "cress"
link = {down = "a.down", up = "b.up", name = "mine"}
delay = "35ms"
duration = 60
skip = 2.5
loss = 0.05
queue = "codel"
video = "synthetic"
one_way = true)");
  ASSERT_TRUE(plan.has_value()) << plan.error().what;
  ASSERT_EQ(plan->size(), 1U);
  const auto text = [&](Key key) { return plan->value(0, key)->text; };
  EXPECT_EQ(text(Key::kDelay), "35ms");
  EXPECT_EQ(text(Key::kDuration), "60");
  EXPECT_EQ(text(Key::kSkip), "2.5");
  EXPECT_EQ(text(Key::kLoss), "0.05");
  EXPECT_EQ(text(Key::kOneWay), "true");
  EXPECT_EQ(plan->value(0, Key::kLink)->down, "a.down");
  EXPECT_EQ(plan->value(0, Key::kLink)->up, "b.up");
  EXPECT_EQ(plan->value(0, Key::kSeed)->text, "1");
  EXPECT_EQ(plan->value(0, Key::kAudio), nullptr);
  EXPECT_EQ(plan->value(0, Key::kQueue)->line, 8U);
}

TEST(Plan, EveryErrorNamesItsLineAndSaysWhatToDo) {
  const std::string good = "scheme = \"cress\"\nlink = \"3g\"\n";
  expect_refused("link = \"3g\"", 0, "scheme = ");
  expect_refused("scheme = \"cress\"", 0, "link = ");
  expect_refused(good + "sede = 1", 3, "did you mean \"seed\"");
  expect_refused(good + "frobnicate = 1", 3, "a plan knows");
  expect_refused(good + "seed = -1", 3, "whole number");
  expect_refused(good + "seed = 1.5", 3, "whole number");
  expect_refused(good + "seed = \"5..1\"", 3, "no range");
  expect_refused(good + "seed = \"1..999999999\"", 3, "no range");
  expect_refused(good + "seed = []", 3, "empty list");
  expect_refused(good + "seed = [[1]]", 3, "whole number");
  expect_refused(good + "loss = \"5 %\"", 3, "0.05");
  expect_refused(good + "loss = nan", 3, "0.05");
  expect_refused(good + "one_way = 1", 3, "true or false");
  expect_refused(good + "delay = true", 3, "time");
  expect_refused(good + "queue = 3", 3, "text in quotes");
  expect_refused(good + "\nvideo = \"a\nb\"", 4, "TOML");
  expect_refused("scheme = \"cress\"\nlink = {down = \"a\"}", 2, "both traces");
  expect_refused("scheme = \"cress\"\nlink = {dwn = \"a\"}", 2, "dwn");
  expect_refused(good + "[run]\nseed = 1", 3, "two brackets");
  expect_refused(good + "[[run]]\nrun = 1", 4, "unknown key");
  expect_refused(good + "seed = 1\nseed = 2", 4, "TOML");
}

TEST(Plan, TooLargePlansAreRejectedBeforeExpansion) {
  const std::string good = "scheme = \"cress\"\nlink = \"3g\"\n";
  std::string many = good + "seed = \"1..10000\"\nqueue = [";
  for (int i = 0; i < 6; ++i) {
    many += "\"codel\", ";
  }
  expect_refused(many + "]", 0, "50000 runs");
  expect_refused(good + std::string(kPlanBytesMax, '#'), 0, "KiB");
  expect_refused(good + std::string(kPlanLineBytesMax + 1, '#'), 3, "too long");
  expect_refused(std::string(1000, '['), 1, "lists in lists");
  std::string nested = "a";
  for (int i = 0; i < 1000; ++i) {
    nested += ".a";
  }
  expect_refused(nested + " = 1", 1, "too long");
}

TEST(Plan, AnyBytesGiveAPlanOrAnError) {
  const std::string seed_text =
      "scheme = [\"cress\"]\nlink = {down = \"a\", up = 'b'}\nseed = \"1..3\"\n[[run]]\nloss = "
      "0.1\n";
  Rng rng{5};
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed_text;
    for (uint64_t edits = 1 + rng.below(6); edits > 0; --edits) {
      text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    }
    const auto plan = parse_plan(text);
    if (plan) {
      ASSERT_GE(plan->size(), 1U);
      ASSERT_NE(plan->value(plan->size() - 1, Key::kLink), nullptr);
    } else {
      ASSERT_FALSE(plan.error().what.empty());
      ASSERT_EQ(plan.error().what.find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace cress::sweep
