// Goal: no measure is left out of a comparison, and each has its direction and its tolerance.
#include "eval/compare/measures.hh"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "eval/compare/compare.hh"

namespace cress::compare {
namespace {

/// A measure at a usual value, and its tolerance there with one or two seeds.
struct Expected {
  const char* key;
  const char* unit;
  Better better;
  double usual;
  double tolerance;
  double small;            ///< another value, near which the absolute tolerance applies
  double small_tolerance;  ///< there
};
constexpr std::array<Expected, 19> kExpected{{
    {"throughput_kbps", "kbit/s", Better::kHigher, 2000, 60, 100, 20},
    {"goodput_kbps", "kbit/s", Better::kHigher, 2000, 60, 100, 20},
    {"utilization", "", Better::kHigher, 0.9, 0.02, 0.1, 0.02},
    {"delay95_ms", "ms", Better::kLower, 1000, 50, 60, 10},
    {"self_inflicted_ms", "ms", Better::kLower, 1000, 50, 60, 10},
    {"bitrate_kbps", "kbit/s", Better::kHigher, 2000, 60, 100, 20},
    {"frame_delay_p50_ms", "ms", Better::kLower, 1000, 50, 60, 10},
    {"frame_delay_p95_ms", "ms", Better::kLower, 1000, 50, 60, 10},
    {"frame_delay_p99_ms", "ms", Better::kLower, 1000, 100, 60, 20},
    {"ssim_db", "dB", Better::kHigher, 15, 0.2, 5, 0.2},
    {"psnr_db", "dB", Better::kHigher, 36, 0.3, 20, 0.3},
    {"frames_displayed", "frames", Better::kHigher, 3000, 60, 100, 5},
    {"freezes", "", Better::kLower, 50, 5, 10, 2},
    {"frozen_s", "s", Better::kLower, 20, 2, 2, 0.5},
    {"frozen_w3c_s", "s", Better::kLower, 20, 2, 2, 0.5},
    {"harmonic_fps", "frames/s", Better::kHigher, 24, 1.2, 4, 0.5},
    {"live_ssim_db", "dB", Better::kHigher, 15, 0.2, 5, 0.2},
    {"mouth_to_ear_p95_ms", "ms", Better::kLower, 1000, 50, 60, 10},
    {"audio_concealed", "", Better::kLower, 0.2, 0.02, 0.01, 0.005},
}};

report::RunResult one(const char* key, double value, int seed = 1) {
  report::RunResult result;
  result.key = {"a", "3g", "forward"};
  result.seed = std::to_string(seed);
  result.numbers[key] = value;
  return result;
}

Verdict verdict(const char* key, double before, double after, const Options& options = {}) {
  const std::vector<report::RunResult> old_results{one(key, before)};
  const std::vector<report::RunResult> new_results{one(key, after)};
  const Comparison comparison = compare(old_results, new_results, options);
  EXPECT_EQ(comparison.changes.size(), 1U) << key;
  return comparison.changes.front().verdict;
}

TEST(Measures, AllMeasuresAreKnownAndPresent) {
  ASSERT_EQ(measures().size(), kExpected.size());
  for (size_t i = 0; i < kExpected.size(); ++i) {
    EXPECT_EQ(measures()[i].key, kExpected[i].key);
    EXPECT_EQ(measures()[i].unit, kExpected[i].unit) << kExpected[i].key;
  }
}

TEST(Measures, EachMeasureHasItsDirection) {
  for (const Expected& e : kExpected) {
    const bool higher = e.better == Better::kHigher;
    EXPECT_EQ(verdict(e.key, e.usual, e.usual * 1.5), higher ? Verdict::kBetter : Verdict::kWorse)
        << e.key;
    EXPECT_EQ(verdict(e.key, e.usual, e.usual * 0.5), higher ? Verdict::kWorse : Verdict::kBetter)
        << e.key;
  }
}

TEST(Measures, EachMayMoveByItsToleranceAndNoFurther) {
  for (const Expected& e : kExpected) {
    for (const auto& [value, tolerance] :
         {std::pair{e.usual, e.tolerance}, std::pair{e.small, e.small_tolerance}}) {
      for (const double sign : {1.0, -1.0}) {
        EXPECT_EQ(verdict(e.key, value, value + sign * tolerance * 0.99), Verdict::kSame)
            << e.key << " near " << value;
        EXPECT_NE(verdict(e.key, value, value + sign * tolerance * 1.01), Verdict::kSame)
            << e.key << " near " << value;
      }
    }
  }
}

TEST(Measures, EachIsFoundOverSeedsToo) {
  for (const Expected& e : kExpected) {
    std::vector<report::RunResult> before;
    std::vector<report::RunResult> after;
    const double worse = e.better == Better::kHigher ? -1 : 1;
    for (int seed = 1; seed <= 5; ++seed) {
      const double noise = 0.1 * e.tolerance * (seed - 3);
      before.push_back(one(e.key, e.usual + noise, seed));
      after.push_back(one(e.key, e.usual - noise + worse * e.tolerance, seed + 5));
    }
    const Comparison comparison = compare(before, after, {});
    ASSERT_EQ(comparison.changes.size(), 1U);
    EXPECT_EQ(comparison.changes.front().verdict, Verdict::kWorse) << e.key;
    EXPECT_TRUE(comparison.changes.front().interval.has_value()) << e.key;
  }
}

TEST(Measures, ToleranceIsTheLargerOfBothAlsoBelowZero) {
  const Tolerance tolerance{10, 0.05};
  EXPECT_EQ(tolerance.of(100), 10);
  EXPECT_EQ(tolerance.of(200), 10);
  EXPECT_EQ(tolerance.of(400), 20);
  EXPECT_EQ(tolerance.of(-400), 20);
}

TEST(Noise, TheLastRuleThatFitsWins) {
  const Noise noise = parse_noise("5%,delay95_ms=3,ssim_db=2%");
  EXPECT_TRUE(noise.use_seeds);
  EXPECT_EQ(noise.rule_of("delay95_ms"), (Tolerance{3, 0}));
  EXPECT_EQ(noise.rule_of("ssim_db"), (Tolerance{0, 0.02}));
  EXPECT_EQ(noise.rule_of("psnr_db"), (Tolerance{0, 0.05}));
  EXPECT_EQ(parse_noise("delay95_ms=3,none").rule_of("delay95_ms"), (Tolerance{0, 0}));
  EXPECT_EQ(parse_noise("delay95_ms=3").rule_of("psnr_db"), std::nullopt);
  EXPECT_EQ(parse_noise("delay95_ms=0").rule_of("delay95_ms"), (Tolerance{0, 0}));
  EXPECT_FALSE(parse_noise("default").use_seeds);
  EXPECT_FALSE(parse_noise("default,seeds,psnr_db=1").use_seeds);
}

TEST(Noise, SeedsDecideFromThreeOfThemOnBothSides) {
  const auto has_interval = [](int before, int after, const char* noise) {
    std::vector<report::RunResult> a;
    std::vector<report::RunResult> b;
    for (int seed = 0; seed < before; ++seed) {
      a.push_back(one("delay95_ms", 100 + seed, seed));
    }
    for (int seed = 0; seed < after; ++seed) {
      b.push_back(one("delay95_ms", 100 + seed, seed));
    }
    return compare(a, b, {.noise = parse_noise(noise)}).changes.front().interval.has_value();
  };
  EXPECT_TRUE(has_interval(3, 3, "seeds"));
  EXPECT_FALSE(has_interval(2, 3, "seeds"));
  EXPECT_FALSE(has_interval(3, 2, "seeds"));
  EXPECT_FALSE(has_interval(3, 3, "default"));
  EXPECT_FALSE(has_interval(3, 3, "delay95_ms=1"));
  EXPECT_TRUE(has_interval(3, 3, "psnr_db=1"));
}

TEST(Measures, WithSeedsAQuarterOfTheToleranceIsNegligible) {
  const auto verdict_after = [](double moved) {
    std::vector<report::RunResult> before;
    std::vector<report::RunResult> after;
    for (int seed = 1; seed <= 20; ++seed) {
      before.push_back(one("delay95_ms", 100, seed));
      after.push_back(one("delay95_ms", 100 + moved, seed));
    }
    return compare(before, after, {}).changes.front().verdict;
  };
  EXPECT_EQ(verdict_after(2.4), Verdict::kSame);
  EXPECT_EQ(verdict_after(2.6), Verdict::kWorse);
  EXPECT_EQ(verdict_after(-2.6), Verdict::kBetter);
}

}  // namespace
}  // namespace cress::compare
