// Goal: a comparison reports a regression if there is one, and only then. Method: results with
// known true values, drawn from a seed.
#include "eval/compare/compare.hh"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "transport/base/rng.hh"

namespace cress::compare {
namespace {

using Results = std::vector<report::RunResult>;

report::RunResult result(const std::string& scheme, uint64_t seed, double delay, double rate,
                         const std::string& options = "") {
  report::RunResult r;
  r.key = {scheme, "3g", "forward"};
  r.seed = std::to_string(seed);
  r.numbers = {{"delay95_ms", delay}, {"throughput_kbps", rate}};
  if (!options.empty()) {
    r.others = {{"options", options}};
  }
  return r;
}

/// `seeds` runs of each of `schemes`, delay around `delay`, rate around 1000.
Results drawn(Rng& rng, int seeds, double delay, double spread = 5, int schemes = 1) {
  Results all;
  for (int scheme = 0; scheme < schemes; ++scheme) {
    for (int seed = 1; seed <= seeds; ++seed) {
      all.push_back(result(std::string{"s"}.append(std::to_string(scheme)),
                           static_cast<uint64_t>(seed), delay + spread * rng.normal(),
                           1000 + 10 * spread * rng.normal()));
    }
  }
  return all;
}

size_t worse(const Results& before, const Results& after, const Options& options = {}) {
  return count(compare(before, after, options), Verdict::kWorse);
}

TEST(Compare, EqualResultsCompareEqual) {
  Rng rng{1};
  const Results results = drawn(rng, 5, 100, 5, 10);
  const Comparison comparison = compare(results, results, {});
  EXPECT_EQ(comparison.changes.size(), 20U);
  EXPECT_EQ(count(comparison, Verdict::kSame), 20U);
}

TEST(Compare, SignificantIncreaseIsWorseForDelayAndBetterForRate) {
  Rng rng{2};
  const Results before = drawn(rng, 8, 100);
  Results after = drawn(rng, 8, 130);
  for (report::RunResult& r : after) {
    r.numbers["throughput_kbps"] += 400;
  }
  const Comparison comparison = compare(before, after, {});
  ASSERT_EQ(comparison.changes.size(), 2U);
  EXPECT_EQ(comparison.changes[0].measure->key, "throughput_kbps");
  EXPECT_EQ(comparison.changes[0].verdict, Verdict::kBetter);
  EXPECT_EQ(comparison.changes[1].verdict, Verdict::kWorse);
  ASSERT_TRUE(comparison.changes[1].interval.has_value());
  EXPECT_LT(comparison.changes[1].interval->low, 30);
  EXPECT_GT(comparison.changes[1].interval->high, 30);
  // And the reverse is better.
  EXPECT_EQ(compare(after, before, {}).changes[1].verdict, Verdict::kBetter);
}

// Goal: over many rows, chance alone counts as worse in at most 5 % of comparisons.
TEST(Compare, NoiseAloneIsHardlyEverWorseHoweverManyRowsThereAre) {
  Rng rng{3};
  int cried = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const Results before = drawn(rng, 4, 200, 30, 20);
    const Results after = drawn(rng, 4, 200, 30, 20);
    cried += worse(before, after) > 0 ? 1 : 0;
  }
  EXPECT_LE(cried, kRounds / 20 + 6);
}

TEST(Compare, WithFewSeedsNamedTolerancesDecide) {
  const Results before{result("a", 1, 100, 1000)};
  EXPECT_EQ(worse(before, {result("a", 1, 109, 1000)}), 0U);
  EXPECT_EQ(worse(before, {result("a", 1, 111, 1000)}), 1U);
  EXPECT_EQ(worse(before, {result("a", 1, 100, 975)}), 0U);
  EXPECT_EQ(worse(before, {result("a", 1, 100, 965)}), 1U);
  EXPECT_EQ(worse(before, {result("a", 2, 109, 1000)}), 0U) << "other seeds are the same row";
  // A large delay varies by more: 5 %.
  EXPECT_EQ(worse({result("a", 1, 1000, 1000)}, {result("a", 1, 1045, 1000)}), 0U);
  EXPECT_EQ(worse({result("a", 1, 1000, 1000)}, {result("a", 1, 1055, 1000)}), 1U);
}

TEST(Compare, NoiseCanBeSetByHand) {
  const Results before{result("a", 1, 100, 1000)};
  const Results after{result("a", 1, 104, 990)};
  EXPECT_EQ(worse(before, after), 0U);
  EXPECT_EQ(worse(before, after, {.noise = parse_noise("none")}), 2U);
  EXPECT_EQ(worse(before, after, {.noise = parse_noise("delay95_ms=3")}), 1U);
  EXPECT_EQ(worse(before, after, {.noise = parse_noise("delay95_ms=5")}), 0U);
  EXPECT_EQ(worse(before, after, {.noise = parse_noise("none,delay95_ms=5%")}), 1U);
  EXPECT_EQ(worse(before, after, {.noise = parse_noise("2%")}), 1U);
  for (const char* text : {"", "5", "delay95=3", "delay95_ms=", "delay95_ms=-1", "delay95_ms=x",
                           "none,,", "seeds=3", "delay95_ms=nan"}) {
    EXPECT_THROW(parse_noise(text), std::invalid_argument) << text;
  }
}

TEST(Compare, MissingRowOrValueIsReported) {
  const Results two{result("a", 1, 100, 1000), result("b", 1, 100, 1000)};
  const Results one{result("a", 1, 100, 1000)};
  EXPECT_THROW(compare(two, one, {}), std::invalid_argument);
  EXPECT_THROW(compare(one, two, {}), std::invalid_argument);
  const Comparison allowed = compare(two, one, {.noise = {}, .allow_missing = true, .pairs = {}});
  EXPECT_EQ(allowed.missing.size(), 1U);
  Results silent = one;
  silent.front().numbers.erase("delay95_ms");
  EXPECT_EQ(worse(one, silent), 1U) << "nothing arrived any more";
  EXPECT_EQ(count(compare(silent, one, {}), Verdict::kBetter), 1U);
  EXPECT_THROW(worse({}, {}), std::invalid_argument);
}

TEST(Compare, ValuesMissingInSomeSeedsAreWorse) {
  Rng rng{4};
  const Results before = drawn(rng, 5, 100);
  Results after = before;
  after[0].numbers.erase("delay95_ms");
  after[1].numbers.erase("delay95_ms");
  EXPECT_EQ(worse(before, after), 1U);
  const std::string table = comparison_table(compare(before, after, {}), false);
  EXPECT_NE(table.find("no value any more in 2 of 5 seeds"), std::string::npos) << table;
}

TEST(Compare, RowsAreMatchedByOptionsIfBothSidesHaveThem) {
  const std::string calm = R"({"loss":0.0})";
  const std::string lossy = R"({"loss":0.05})";
  const Results before{result("a", 1, 100, 1000, calm), result("a", 1, 300, 500, lossy)};
  const Results after{result("a", 1, 300, 500, lossy), result("a", 1, 150, 1000, calm)};
  const Comparison comparison = compare(before, after, {});
  ASSERT_EQ(count(comparison, Verdict::kWorse), 1U);
  EXPECT_EQ(comparison.changes[1].options, "loss 0.0");
  EXPECT_EQ(comparison.changes[1].verdict, Verdict::kWorse);
  // `run` writes no options: one row without them is allowed, two are not.
  EXPECT_EQ(worse({result("a", 1, 100, 1000)}, {result("a", 1, 150, 1000, calm)}), 1U);
  EXPECT_THROW(worse({result("a", 1, 100, 1000)}, after), std::invalid_argument);
}

TEST(Compare, OptionsAreTheSameHoweverTheirNumbersAreWritten) {
  const Results before{result("a", 1, 100, 1000, R"({"loss":0,"duration_s":60})")};
  const Results after{result("a", 1, 150, 1000, R"({"duration_s":6e1,"loss":0.0})")};
  EXPECT_EQ(worse(before, after), 1U);
}

TEST(Compare, TheSameSeedTwiceIsRefused) {
  const Results twice{result("a", 1, 100, 1000), result("a", 1, 100, 1000)};
  EXPECT_THROW(compare(twice, twice, {}), std::invalid_argument);
}

TEST(Compare, TwoSchemesCanBeComparedAsOne) {
  const Results results{result("calm", 1, 100, 1000), result("bold", 1, 200, 1500),
                        result("other", 1, 1, 1)};
  const Comparison comparison =
      compare(results, results, {.noise = {}, .pairs = {{"calm", "bold"}}});
  ASSERT_EQ(comparison.changes.size(), 2U);
  EXPECT_EQ(comparison.changes[0].verdict, Verdict::kBetter);
  EXPECT_EQ(comparison.changes[1].verdict, Verdict::kWorse);
  EXPECT_EQ(comparison.changes[1].key.scheme, "bold");
}

TEST(Compare, ImperceptibleDifferenceIsEqualHoweverCertain) {
  Results before;
  Results after;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    before.push_back(result("a", seed, 100, 1000));
    after.push_back(result("a", seed, 100.5, 1000));
  }
  EXPECT_EQ(worse(before, after), 0U);
  for (report::RunResult& r : after) {
    r.numbers["delay95_ms"] = 103;
  }
  EXPECT_EQ(worse(before, after), 1U);
}

TEST(Compare, TableListsTheWorstFirstAndJsonListsAll) {
  const Results before{result("a", 1, 100, 1000), result("b", 1, 100, 1000)};
  const Results after{result("a", 1, 50, 1000), result("b", 1, 200, 1000)};
  const Comparison comparison = compare(before, after, {});
  const std::string table = comparison_table(comparison, false);
  EXPECT_LT(table.find("worse  b"), table.find("better a")) << table;
  EXPECT_NE(table.find("1 worse, 1 better, 2 the same"), std::string::npos) << table;
  EXPECT_NE(table.find("+100.0 = +100.0 % (tolerance 10.0)"), std::string::npos) << table;
  EXPECT_NE(comparison_table(comparison, true).find("same   a"), std::string::npos);
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  EXPECT_EQ(json["worse"], 1);
  EXPECT_EQ(json["changes"].size(), 4U);
  EXPECT_EQ(json["changes"][3]["verdict"], "worse");
}

}  // namespace
}  // namespace cress::compare
