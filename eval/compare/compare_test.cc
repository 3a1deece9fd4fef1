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

std::string error_of(const Results& before, const Results& after, const Options& options = {}) {
  try {
    (void)compare(before, after, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Compare, APairNamesTheSchemeOfEachSide) {
  const Options pairs{.noise = {}, .pairs = {{"calm", "bold"}, {"dull", "keen"}}};
  const auto of = [](const char* scheme, double delay) { return result(scheme, 1, delay, 1000); };
  const Comparison comparison = compare(Results{of("dull", 100), of("calm", 200)},
                                        Results{of("bold", 300), of("keen", 50)}, pairs);
  ASSERT_EQ(comparison.changes.size(), 4U);
  EXPECT_EQ(comparison.changes[1].key.scheme, "keen");
  EXPECT_EQ(comparison.changes[1].verdict, Verdict::kBetter);
  EXPECT_EQ(comparison.changes[3].key.scheme, "bold");
  EXPECT_EQ(comparison.changes[3].verdict, Verdict::kWorse);
  const char* const advice =
      "; run both over the same plan, or leave them out with --allow-missing";
  EXPECT_EQ(
      error_of({of("calm", 1), of("dull", 1)}, {of("bold", 1)}, pairs),
      std::string{"1 rows are on one side only, the first: A: dull over 3g forward"} + advice);
  EXPECT_EQ(
      error_of({of("calm", 1)}, {of("bold", 1), of("keen", 1)}, pairs),
      std::string{"1 rows are on one side only, the first: B: keen over 3g forward"} + advice);
  EXPECT_EQ(error_of({of("other", 1)}, {of("other", 1)}, pairs),
            "the two have no row in common: nothing to compare");
}

TEST(Compare, ARefusalNamesTheRowAndItsSide) {
  const Results one{result("a", 1, 100, 1000)};
  const Results twice{result("a", 7, 100, 1000), result("a", 7, 100, 1000)};
  EXPECT_EQ(error_of(twice, one), "A: a over 3g forward, seed 7 is there twice");
  EXPECT_EQ(error_of(one, twice), "B: a over 3g forward, seed 7 is there twice");
  const Results several{result("a", 1, 100, 1000, R"({"loss":0})"),
                        result("a", 1, 100, 1000, R"({"loss":0.1})")};
  EXPECT_EQ(error_of(several, one),
            "A: a over 3g forward is there with several options, and the other side does not say "
            "which it has");
}

TEST(Compare, ADifferenceOfTheToleranceIsNone) {
  const Results before{result("a", 1, 100, 1000)};
  EXPECT_EQ(worse(before, {result("a", 1, 110, 970)}), 0U);
  EXPECT_EQ(worse(before, {result("a", 1, 110.01, 969.99)}), 2U);
  // Without noise, 1e-12 of a number is how it was written.
  const Options exact{.noise = parse_noise("none")};
  EXPECT_EQ(worse(before, {result("a", 1, 100 + 5e-11, 1000 - 5e-10)}, exact), 0U);
  EXPECT_EQ(worse(before, {result("a", 1, 100 + 2e-10, 1000 - 2e-9)}, exact), 2U);
}

TEST(Compare, AShareOfSeedsWithAValueCountsNotTheirNumber) {
  Results before;
  Results after;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    before.push_back(result("a", seed, 100, 1000));
    after.push_back(result("a", seed, 100, 1000));
  }
  before[0].numbers.erase("delay95_ms");
  before[1].numbers.erase("delay95_ms");
  after.resize(2);
  after[0].numbers.erase("delay95_ms");
  const Comparison comparison = compare(before, after, {});
  ASSERT_EQ(comparison.changes.size(), 2U);
  EXPECT_EQ(comparison.changes[1].seeds_before, 4U);
  EXPECT_EQ(comparison.changes[1].seeds_after, 2U);
  EXPECT_EQ(comparison.changes[1].verdict, Verdict::kSame) << "half before, half after";
  EXPECT_EQ(comparison.changes[1].tolerance, 10);
  before[0].numbers["delay95_ms"] = 100;
  const std::string table = comparison_table(compare(before, after, {}), false);
  EXPECT_NE(table.find("no value any more in 1 of 2 seeds"), std::string::npos) << table;
}

TEST(Compare, EachIntervalHasItsPartOfTheConfidence) {
  Rng rng{5};
  const Results before = drawn(rng, 4, 100);
  const Results after = drawn(rng, 3, 100);
  const Comparison comparison =
      compare(before, after, {.noise = {}, .confidence = 0.9, .pairs = {}});
  ASSERT_EQ(comparison.changes.size(), 2U);
  for (const Change& change : comparison.changes) {
    const report::Interval expected = report::welch_interval(change.before, change.after, 0.95);
    ASSERT_TRUE(change.interval.has_value());
    EXPECT_DOUBLE_EQ(change.interval->low, expected.low);
    EXPECT_DOUBLE_EQ(change.interval->high, expected.high);
    EXPECT_EQ(change.verdict, Verdict::kSame);
  }
}

TEST(Compare, TableAndJsonSayHowEachRowChanged) {
  Results before;
  Results after;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const double odd = static_cast<double>(seed) - 2;
    before.push_back(result("a", seed, 100 + odd, 1000));
    after.push_back(result("a", seed, 120 + odd, 1000));
  }
  before.push_back(result("b", 1, 0, 1000));
  after.push_back(result("b", 1, 20, 1000));
  before.push_back(result("c", 1, 80, 1000));
  after.push_back(result("c", 1, 80, 1000));
  before.back().numbers.erase("throughput_kbps");
  after.back().numbers.erase("delay95_ms");
  after.push_back(result("d", 1, 80, 1000));
  const Comparison comparison =
      compare(before, after, {.noise = {}, .allow_missing = true, .pairs = {}});
  EXPECT_EQ(
      comparison_table(comparison, false),
      "       scheme          link                     way      measure                  before"
      "      after seeds  change\n"
      "worse  a               3g                       forward  delay95_ms                100.0"
      "      120.0     3  +20.0 = +20.0 % (+17.1 to +22.9)\n"
      "worse  b               3g                       forward  delay95_ms                  0.0"
      "       20.0     1  +20.0 (tolerance 10.0)\n"
      "worse  c               3g                       forward  delay95_ms                 80.0"
      "          -     0  no value any more in 1 of 1 seeds\n"
      "better c               3g                       forward  throughput_kbps               -"
      "       1000     1  a value now\n"
      "3 worse, 1 better, 2 the same; 1 rows are on one side only\n");
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  EXPECT_EQ(json["missing"], nlohmann::json::array({"B: d over 3g forward"}));
  EXPECT_EQ(json["better"], 1);
  EXPECT_EQ(json["same"], 2);
  nlohmann::json a = json["changes"][1];
  // A difference of 20 with a standard error of 0.8165, times t of 4 degrees at 0.9875.
  EXPECT_NEAR(a["interval"][0], 17.146, 0.001);
  EXPECT_NEAR(a["interval"][1], 22.854, 0.001);
  a.erase("interval");
  EXPECT_EQ(a, nlohmann::json::parse(R"({"verdict": "worse", "scheme": "a", "link": "3g",
      "direction": "forward", "options": "", "measure": "delay95_ms", "before": 100.0,
      "after": 120.0, "seeds_before": 3, "seeds_after": 3, "values_before": 3, "values_after": 3,
      "tolerance": 2.5})"));
  EXPECT_EQ(json["changes"][4], nlohmann::json::parse(R"({"verdict": "better", "scheme": "c",
      "link": "3g", "direction": "forward", "options": "", "measure": "throughput_kbps",
      "before": null, "after": 1000.0, "seeds_before": 1, "seeds_after": 1, "values_before": 0,
      "values_after": 1, "tolerance": null, "interval": null})"));
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
