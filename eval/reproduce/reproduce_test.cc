// Goal: each name gives the numbers of its own runs, the same ones every time, and interprets them.
// Method: short windows over the recorded links if they exist, otherwise over their substitutes.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "eval/reproduce/calibration.hh"
#include "eval/reproduce/recipe_tools.hh"
#include "eval/reproduce/recipes.hh"
#include "eval/reproduce/reproduce_test_tools.hh"
#include "eval/schemes/registry.hh"
#include "transport/base/rng.hh"

namespace cress::reproduce {
namespace {

constexpr Duration kShort = 4s;

Lab short_lab() { return make_lab(CRESS_DATA, kShort, 1); }

std::string bytes_of(const Lab& lab, std::string_view name, unsigned jobs) {
  RunBook book{lab};
  const Recipe& recipe = find_recipe(name);
  recipe.want(lab, book);
  book.make(jobs, [](size_t, double) {});
  const Figure figure = recipe.make(lab, book);
  return figure_text(figure) + figure_csv(figure) + figure_json(figure) + figure_svg(figure) +
         index_page({&figure, 1});
}

TEST(Recipes, EveryNameMakesATableAVerdictAndAPictureOnAShortWindow) {
  // Over the links available everywhere, because the figures are compared with recorded ones.
  const Lab lab = make_lab("/nonexistent", kShort, 1);
  RunBook book{lab};
  for (const Recipe& recipe : recipes()) {
    recipe.want(lab, book);
  }
  book.make(2, [](size_t, double) {});
  std::string golden;
  for (const Recipe& recipe : recipes()) {
    const Figure figure = recipe.make(lab, book);
    golden += digests_of(figure) + "\n" + figure.verdict + "\n";
    EXPECT_EQ(figure.name, recipe.name);
    EXPECT_GE(figure.table.rows.size(), 3U) << figure.name;
    EXPECT_FALSE(figure.verdict.empty()) << figure.name;
    EXPECT_EQ(figure.verdict.find('\n'), std::string::npos) << figure.name;
    EXPECT_FALSE(figure.source.empty()) << figure.name;
    const auto json = nlohmann::json::parse(figure_json(figure));
    EXPECT_EQ(json.at("rows").size(), figure.table.rows.size()) << figure.name;
    const std::string csv = figure_csv(figure);
    EXPECT_EQ(std::ranges::count(csv, '\n'), static_cast<long>(figure.table.rows.size() + 1))
        << figure.name;
    EXPECT_NE(figure_svg(figure).find("class=\"chart\""), std::string::npos) << figure.name;
    for (const std::string number : {"nan", "inf"}) {
      EXPECT_EQ(csv.find(number + ","), std::string::npos) << figure.name;
    }
  }
  expect_golden("recipes", golden);
}

TEST(Recipes, GoodputIsListedWithThroughputAndIsLess) {
  const Lab lab = short_lab();
  RunBook book{lab};
  want_loss(lab, book);
  book.make(2, [](size_t, double) {});
  const Table table = figure_loss(lab, book).table;
  const auto at = [&](const std::string& column) {
    return static_cast<size_t>(std::ranges::find(table.columns, column) - table.columns.begin());
  };
  for (const auto& row : table.rows) {
    EXPECT_LT(*row[at("goodput kbit/s")].value, *row[at("throughput kbit/s")].value);
    EXPECT_GT(*row[at("goodput kbit/s")].value, 0);
  }
}

TEST(Recipes, ASecondRunWithOtherJobsGivesTheSameBytes) {
  for (const char* name : {"fig1", "loss", "distributions", "forecast"}) {
    EXPECT_EQ(bytes_of(short_lab(), name, 1), bytes_of(short_lab(), name, 3)) << name;
  }
}

TEST(Recipes, AnotherSeedGivesOtherNumbers) {
  EXPECT_NE(bytes_of(make_lab(CRESS_DATA, kShort, 1), "distributions", 2),
            bytes_of(make_lab(CRESS_DATA, kShort, 2), "distributions", 2));
}

TEST(Recipes, UnknownNameListsTheKnownOnes) {
  try {
    find_recipe("fig77");
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string{error.what()}.find("fig7, "), std::string::npos) << error.what();
  }
}

TEST(Lab, MissingRecordingsAreReplacedByEmbeddedLinks) {
  const Lab lab = make_lab("/nonexistent", kShort, 1);
  EXPECT_EQ(lab.notes.size(), 4U);
  EXPECT_NE(lab.notes.front().find("stands in"), std::string::npos);
  EXPECT_EQ(lab.links.at(kVerizonDown).name, "lte-fast down");
  EXPECT_EQ(lab.links.at(kVerizonDown).link.down, lab.links.at(kVerizonUp).link.up);
}

TEST(Lab, InventedLinksHaveOneMeanAndFourShapes) {
  const Lab lab = make_lab("/nonexistent", std::nullopt, 1);
  std::set<size_t> lengths;
  for (size_t i = 0; i < kDistributionLinks; ++i) {
    const auto& trace = *lab.links.at(kDistributions + i).link.down;
    EXPECT_NEAR(static_cast<double>(trace.opportunities.size()), 130'000, 3000);
    lengths.insert(trace.opportunities.size());
  }
  EXPECT_EQ(lengths.size(), kDistributionLinks);
}

TEST(RunBook, EachRunIsMadeOnce) {
  const Lab lab = short_lab();
  RunBook book{lab};
  want_fig7(lab, book);
  const size_t once = book.wanted();
  EXPECT_EQ(once, compared_schemes().size() * kPaperLinks);
  want_fig7(lab, book);
  EXPECT_EQ(book.wanted(), once);
  want_fig1(lab, book);
  EXPECT_EQ(book.wanted(), once);  // the same runs, with their course
}

TEST(BegunLater, KeepsTheLengthAndEveryGapBetweenOpportunities) {
  Rng rng{7};
  sim::DeliveryTrace trace;
  Duration at{};
  for (int i = 0; i < 1000; ++i) {
    at += std::chrono::milliseconds(rng.below(9));
    trace.opportunities.push_back({at});
  }
  const auto gaps = [](const sim::DeliveryTrace& of) {
    std::multiset<Duration> all;
    Duration last{};
    for (const auto& opportunity : of.opportunities) {
      all.insert(opportunity.at - last);
      last = opportunity.at;
    }
    return all;
  };
  for (int fifths = 0; fifths < 5; ++fifths) {
    const sim::DeliveryTrace later = begun_later(trace, fifths);
    EXPECT_EQ(later.period(), trace.period());
    EXPECT_EQ(gaps(later), gaps(trace)) << fifths;
    EXPECT_EQ(later == trace, fifths == 0);
  }
}

TEST(Calibration, ASteadyLinkNeverFallsShort) {
  sim::DeliveryTrace steady;
  for (int i = 1; i <= 10'000; ++i) {
    steady.opportunities.push_back({i * Duration{2ms}});
  }
  const schemes::SchemeContext context;
  const Calibration sprout = calibrate_sprout(steady, 20s, 2s, context.dynamics(), context.table());
  const Calibration cress = calibrate_cress(steady, 20s, 2s);
  for (const Calibration& calibration : {sprout, cress}) {
    EXPECT_NEAR(static_cast<double>(calibration.forecasts), 900, 1);
    for (size_t h = 0; h < calibration.shortfalls.size(); ++h) {
      EXPECT_EQ(calibration.shortfalls[h], 0) << h;
      EXPECT_GT(calibration.forecast[h], 0) << h;
      EXPECT_NEAR(calibration.delivered[h] / static_cast<double>(calibration.forecasts),
                  10.0 * static_cast<double>(h + 1), 0.1);
    }
  }
}

TEST(Calibration, ALinkThatDiesFallsShort) {
  sim::DeliveryTrace dying;
  for (int i = 1; i <= 2500; ++i) {
    dying.opportunities.push_back({i * Duration{2ms}});
  }
  dying.opportunities.push_back({100s});
  const schemes::SchemeContext context;
  const Calibration sprout = calibrate_sprout(dying, 20s, 1s, context.dynamics(), context.table());
  const Calibration cress = calibrate_cress(dying, 20s, 1s);
  EXPECT_GT(sprout.shortfalls.front(), 0);
  EXPECT_GT(cress.shortfalls.front(), 0);
  EXPECT_LT(cress.shortfalls.front(), 20);  // then it counts as down
}

TEST(OrderVerdict, NamesThePairsInTheOppositeOrder) {
  const std::vector<Ranked> as_published{{"a", 1, 10}, {"b", 2, 20}, {"c", 3, 30}};
  EXPECT_EQ(order_verdict("delay", as_published, 0),
            "The published order of delay holds for all 3 pairs.");
  const std::vector<Ranked> turned{{"a", 1, 10}, {"b", 2, 40}, {"c", 3, 30}};
  EXPECT_EQ(order_verdict("delay", turned, 0),
            "The published order of delay holds for 2 of 3 pairs; not for b before c (there 2 and "
            "3, here 40 and 30).");
}

TEST(FigureCsv, QuotesWhatWouldBreakALine) {
  const Figure figure{
      .name = "x",
      .title = "",
      .source = "",
      .verdict = "",
      .table = {.columns = {"a,b", "c"}, .rows = {{words("say \"d\""), number(1.25, 1)}}}};
  EXPECT_EQ(figure_csv(figure), "\"a,b\",c\n\"say \"\"d\"\"\",1.2\n");
}

}  // namespace
}  // namespace cress::reproduce
