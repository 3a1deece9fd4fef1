#include "eval/encoder/budget.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "transport/base/rng.hh"

namespace cress::encoder_bench {
namespace {

BudgetContext context(uint64_t frames, int64_t rate = 25, uint64_t seed = 1) {
  BudgetContext made;
  made.frames = frames;
  made.frame_rate = {.numerator = rate, .denominator = 1};
  made.seed = seed;
  return made;
}

int64_t sum(const FrameBudgets& budgets) {
  return std::accumulate(budgets.begin(), budgets.end(), DataSize{}).bytes();
}

TEST(Budget, AConstantRateGivesEachFrameItsShareOfTime) {
  EXPECT_EQ(make_budgets("constant:600", context(4)), FrameBudgets(4, DataSize{3000}));
  // 30 per second: 33 333 333 or …334 ns per frame.
  const FrameBudgets thirty = make_budgets("constant:600", context(300, 30));
  EXPECT_NEAR(static_cast<double>(sum(thirty)), 10 * 75'000, 300);
  EXPECT_TRUE(make_budgets("none", context(4)).empty());
}

TEST(Budget, StepsHoldForTheirTimeAndBeginAgain) {
  const FrameBudgets budgets = make_budgets("step:200,800,2s", context(125));
  for (size_t i = 0; i < budgets.size(); ++i) {
    EXPECT_EQ(budgets[i].bytes(), i / 50 % 2 == 0 ? 1000 : 4000) << i;
  }
  const FrameBudgets usual = make_budgets("step:200,800", context(126));
  EXPECT_EQ(usual[124].bytes(), 1000);
  EXPECT_EQ(usual[125].bytes(), 4000);
}

TEST(Budget, AWalkStaysWithinItsBoundsReachesBothAndFollowsItsSeed) {
  const FrameBudgets walk = make_budgets("walk:150,2500", context(10'000));
  const auto [low, high] = std::ranges::minmax(walk);
  EXPECT_GE(low.bytes(), 749);
  EXPECT_LE(low.bytes(), 800);
  EXPECT_GE(high.bytes(), 12'000);
  EXPECT_LE(high.bytes(), 12'500);
  EXPECT_NEAR(static_cast<double>(walk[0].bytes()), 5000 * 0.61237, 2);  // the geometric mean
  EXPECT_EQ(make_budgets("walk:150,2500", context(10'000)), walk);
  EXPECT_NE(make_budgets("walk:150,2500", context(10'000, 25, 2)), walk);
  // A walk of no spread does not move.
  const FrameBudgets still = make_budgets("walk:150,2500,0", context(100));
  EXPECT_EQ(std::set<DataSize>(still.begin(), still.end()).size(), 1U);
}

TEST(Budget, AWalkOfAnySpreadStaysWithinItsBounds) {
  for (const char* text : {"walk:400,500,3", "walk:400,500,40"}) {
    const FrameBudgets walk = make_budgets(text, context(2000));
    const auto [low, high] = std::ranges::minmax(walk);
    EXPECT_NEAR(static_cast<double>(low.bytes()), 2000, 3) << text;
    EXPECT_NEAR(static_cast<double>(high.bytes()), 2500, 3) << text;
  }
}

TEST(Budget, ATracesBudgetsAddUpToWhatItDelivers) {
  Rng rng{3};
  sim::DeliveryTrace trace;
  for (int64_t ms = 1; ms < 20'000; ms += 1 + static_cast<int64_t>(rng.below(15))) {
    trace.opportunities.push_back({std::chrono::milliseconds{ms}});
  }
  const FrameBudgets budgets = trace_budgets(trace, context(uint64_t{25} * 60));
  const auto delivered = trace.capacity(kTimeZero, kTimeZero + 60s).bytes();
  // Only the ends, where 100 ms look over the edge, and whole bytes differ.
  EXPECT_NEAR(static_cast<double>(sum(budgets)), static_cast<double>(delivered),
              static_cast<double>(delivered) * 0.003);
}

TEST(Budget, ASilentLinkGivesNoBudgetUntilItsWindowOpens) {
  const sim::DeliveryTrace trace{{{990ms}, {991ms}, {1000ms}}};
  const FrameBudgets budgets = trace_budgets(trace, context(25));
  // Frame i is captured at 40 i ms and gets what leaves before 40 i + 100 ms.
  for (size_t i = 0; i < 25; ++i) {
    const int64_t seen = i < 23 ? 0 : 3;
    EXPECT_EQ(budgets[i].bytes(), seen * 1500 * 40 / 100) << i;
  }
}

TEST(Budget, TextThatIsNoBudgetIsRefusedByName) {
  for (const char* text : {"",
                           "600",
                           "constant",
                           "constant:",
                           "constant:0",
                           "constant:-1",
                           "constant:1e3",
                           "constant:1000001",
                           "constant:600x",
                           "constnat:600",
                           "step:",
                           "step:5s",
                           "step:300,x",
                           "step:300,-5s",
                           "step:300,0s",
                           "step:300,nans",
                           "walk:150",
                           "walk:2500,150",
                           "walk:150,150",
                           "walk:1,2,3,4",
                           "walk:150,2500,x",
                           "walk:150,2500,-1",
                           "walk:150,2500,nan",
                           "walk:,"}) {
    try {
      static_cast<void>(make_budgets(text, context(10)));
      ADD_FAILURE() << text << " was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string{error.what()}.find(std::string{"--budget "} + text), std::string::npos);
    }
  }
  EXPECT_THROW(static_cast<void>(make_budgets("trace:/no/such", context(1))), std::runtime_error);
  EXPECT_THROW(static_cast<void>(make_budgets("csv:/no/such", context(1))), std::runtime_error);
  EXPECT_THROW(static_cast<void>(make_budgets("link:no-such", context(1))), std::runtime_error);
}

TEST(Budget, EmbeddedLinksHaveTwoDirections) {
  const FrameBudgets down = make_budgets("link:lte-slow", context(200));
  EXPECT_EQ(down, make_budgets("link:lte-slow.down", context(200)));
  EXPECT_NE(down, make_budgets("link:lte-slow.up", context(200)));
}

TEST(BudgetTable, RowsHeadingsAndColumnsAreRead) {
  const FrameBudgets expected{DataSize{1200}, DataSize{0}, DataSize{9}};
  for (const char* text : {"1200\n0\n9\n", "1200\r\n0\r\n9", "bytes\n1200\n0\n9\n",
                           "frame,budget_bytes\n0,1200\n1,\n2,9\n", " 1200 \n\n0\n 9"}) {
    const auto budgets = parse_budget_csv(text);
    ASSERT_TRUE(budgets) << text << ": " << budgets.error().what;
    EXPECT_EQ(*budgets, expected) << text;
  }
}

TEST(BudgetTable, BrokenRowsAreNamedWithTheirLine) {
  const struct {
    const char* text;
    size_t line;
  } cases[] = {{"", 0},
               {"bytes\n", 0},
               {"1\n2\nx\n", 3},
               {"1\n-1\n", 2},
               {"1\n2.5\n", 2},
               {"1\n1073741825\n", 2},
               {"x\ny\n", 2},
               {"a,budget_bytes\n1\n", 2},
               {"99999999999999999999999\n", 0}};
  for (const auto& c : cases) {
    const auto budgets = parse_budget_csv(c.text);
    ASSERT_FALSE(budgets) << c.text;
    EXPECT_EQ(budgets.error().line, c.line) << c.text;
  }
}

}  // namespace
}  // namespace cress::encoder_bench
