#include "media/rate/quantizer_search.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "media/rate/quantizer_model.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

// Frames that follow a law: log2(size) = level - slope · log2(step), plus a little noise per
// quantizer.
struct Law {
  double level = 0;
  double slope = 1.5;
  uint64_t seed = 0;
  double noise = 0.03;

  double log_size(int quantizer) const {
    Rng rng{seed * 64 + static_cast<uint64_t>(quantizer)};
    return level - slope * std::log2(static_cast<double>(quantizer_step(quantizer))) +
           noise * rng.normal();
  }
  DataSize size(int quantizer) const {
    return DataSize{std::max<int64_t>(1, std::llround(std::exp2(log_size(quantizer))))};
  }
};

QuantizerSearch::LogSizes expectation(const Law& law, double error, double slope) {
  QuantizerSearch::LogSizes expected{};
  for (int q = 0; q <= kQuantizerMax; ++q) {
    expected.at(static_cast<size_t>(q)) =
        law.level + error - law.slope * std::log2(static_cast<double>(quantizer_step(32))) -
        slope * std::log2(static_cast<double>(quantizer_step(q)) / quantizer_step(32));
  }
  return expected;
}

TEST(QuantizerSearch, NothingIsTriedTwiceAndTheBestFits) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng{seed};
    const DataSize budget{1 + static_cast<int64_t>(rng.below(50'000))};
    const QuantizerSearchOptions options{.quantizer_min = static_cast<int>(rng.below(30)),
                                         .attempts_max = 1 + static_cast<int>(rng.below(5))};
    QuantizerSearch search{options, budget,
                           expectation({.level = rng.uniform(8, 24)}, 0, rng.uniform(0.3, 3))};
    std::optional<int> finest;
    std::array<bool, kQuantizerMax + 1> tried{};
    while (const std::optional<int> quantizer = search.next()) {
      ASSERT_GE(*quantizer, options.quantizer_min);
      ASSERT_LE(*quantizer, kQuantizerMax);
      ASSERT_FALSE(tried.at(static_cast<size_t>(*quantizer)));
      tried.at(static_cast<size_t>(*quantizer)) = true;
      const DataSize size{1 + static_cast<int64_t>(rng.below(100'000))};
      search.handle_attempt(*quantizer, size);
      if (size <= budget && (!finest || *quantizer < *finest)) {
        finest = quantizer;
      }
    }
    ASSERT_GE(search.attempts().size(), 1U);
    ASSERT_LE(search.attempts().size(), static_cast<size_t>(options.attempts_max));
    ASSERT_EQ(search.best().has_value(), finest.has_value());
    if (finest) {
      const QuantizerSearch::Attempt& best = search.attempts()[*search.best()];
      EXPECT_EQ(best.quantizer, *finest);
      EXPECT_LE(best.size, budget);
    }
  }
}

TEST(QuantizerSearch, FindsAFitWhereThereIsOneHoweverWrongTheModel) {
  // The model is wrong by a factor of up to eight, and about the slope.
  int found = 0;
  int possible = 0;
  double attempts = 0;
  double use = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng{seed};
    const Law law{.level = rng.uniform(16, 20), .slope = rng.uniform(1.0, 2.4), .seed = seed};
    const DataSize budget{static_cast<int64_t>(std::exp2(rng.uniform(9, 14)))};
    QuantizerSearch search{{}, budget, expectation(law, rng.uniform(-3, 3), rng.uniform(1, 2))};
    while (const std::optional<int> quantizer = search.next()) {
      search.handle_attempt(*quantizer, law.size(*quantizer));
    }
    if (law.size(kQuantizerMax) <= budget * 9 && law.size(50) <= budget) {
      ++possible;
      attempts += static_cast<double>(search.attempts().size());
      if (search.best()) {
        ++found;
        use += static_cast<double>(search.attempts()[*search.best()].size.bytes()) /
               static_cast<double>(budget.bytes());
      }
    }
  }
  ASSERT_GT(possible, 500);
  EXPECT_GE(found, possible * 97 / 100);
  EXPECT_LE(attempts / possible, 3.0);
  EXPECT_GE(use / found, 0.75);
}

TEST(QuantizerSearch, AGoodModelNeedsOneAttempt) {
  const Law law{.level = 19, .noise = 0};
  for (int64_t budget = 1000; budget < 30'000; budget += 777) {
    QuantizerSearch search{{}, DataSize{budget}, expectation(law, 0, law.slope)};
    const std::optional<int> quantizer = search.next();
    ASSERT_TRUE(quantizer);
    search.handle_attempt(*quantizer, law.size(*quantizer));
    EXPECT_EQ(search.best(), 0U);
    EXPECT_EQ(search.next(), std::nullopt);
  }
}

TEST(QuantizerSearch, NothingFitsAtTheCoarsestIsKnownWithoutMoreAttempts) {
  QuantizerSearch search{{}, DataSize{100}, expectation({.level = 20}, 0, 1.5)};
  EXPECT_EQ(search.next(), kQuantizerMax);
  search.handle_attempt(kQuantizerMax, DataSize{101});
  EXPECT_EQ(search.next(), std::nullopt);
  EXPECT_EQ(search.best(), std::nullopt);
}

/// A search for 10 000 bytes where each step of the quantizer is expected to save a tenth.
QuantizerSearch search_by_tenths(int attempts_max = 3) {
  QuantizerSearch::LogSizes expected{};
  for (size_t q = 0; q < expected.size(); ++q) {
    expected.at(q) = std::log2(100'000.0) + static_cast<double>(q) * std::log2(0.9);
  }
  return {{.attempts_max = attempts_max}, DataSize{10'000}, expected};
}

TEST(QuantizerSearch, AimsAtNinetySevenPerCentOfTheBudget) {
  // 100 000 · 0.9^q <= 9700: q = 22.1.
  EXPECT_EQ(search_by_tenths().next(), 23);
}

TEST(QuantizerSearch, AGoodShareIsEnoughAndTheBarFalls) {
  for (const auto& [first, second, goes_on] : {std::tuple<int64_t, int64_t, int>{8'000, 0, 1},
                                               {7'999, 6'500, 2},
                                               {7'999, 6'499, 2},
                                               {20'000, 6'500, 2},
                                               {20'000, 6'499, 3}}) {
    SCOPED_TRACE(std::to_string(first) + ", " + std::to_string(second));
    QuantizerSearch search = search_by_tenths();
    search.handle_attempt(*search.next(), DataSize{first});
    int attempts = 1;
    if (const auto next = search.next()) {
      search.handle_attempt(*next, DataSize{second});
      attempts = 2 + (search.next() ? 1 : 0);
    }
    if (first == 20'000 || second == 0) {
      EXPECT_EQ(attempts, goes_on);
    } else {
      EXPECT_GE(attempts, goes_on);
    }
  }
}

TEST(QuantizerSearch, TheNextAttemptCountsFromTheLast) {
  QuantizerSearch search = search_by_tenths();
  search.handle_attempt(23, DataSize{20'000});
  // Twice too large: seven steps of a tenth halve it (0.478), and one more for the doubt.
  const std::optional<int> next = search.next();
  ASSERT_TRUE(next);
  EXPECT_GE(*next, 30);
  EXPECT_LE(*next, 31);
  search.handle_attempt(*next, DataSize{10'001});
  EXPECT_GT(search.next(), next) << "a byte too large is too large";
  QuantizerSearch fitting = search_by_tenths();
  fitting.handle_attempt(23, DataSize{10'000});
  EXPECT_EQ(fitting.best(), 0U) << "and the budget itself fits";
}

TEST(QuantizerSearch, AttemptsEndWhereTheyMust) {
  for (int most = 1; most <= 3; ++most) {
    QuantizerSearch search = search_by_tenths(most);
    int attempts = 0;
    for (; search.next(); ++attempts) {
      search.handle_attempt(*search.next(), DataSize{50'000 - 1'000 * attempts});
    }
    EXPECT_EQ(attempts, most);
    EXPECT_EQ(search.attempts_max(), most);
  }
}

}  // namespace
}  // namespace cress::media
