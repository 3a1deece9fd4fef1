// Goal: figures stay as they were. Method: figures, verdicts and calibrations of seeded numbers and
// links.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eval/reproduce/calibration.hh"
#include "eval/reproduce/figure.hh"
#include "eval/reproduce/recipe_tools.hh"
#include "eval/reproduce/reproduce_test_tools.hh"
#include "eval/reproduce/runs.hh"
#include "eval/schemes/registry.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::reproduce {
namespace {

Figure scripted_figure(Rng& rng, int panels, int keys, int rows) {
  Figure figure{.name = fmt::format("figure{}", panels),
                .title = "delay & <throughput>",
                .source = "\"a source\", 2013",
                .verdict = "It holds.",
                .table = {.columns = {"scheme", "kbit/s", "delay, ms", "größte"}, .rows = {}}};
  for (int i = 0; i < panels; ++i) {
    std::vector<Mark> marks;
    for (uint64_t n = rng.below(9); n > 0; --n) {
      marks.push_back({fmt::format("mark {}", n), rng.exponential(300), rng.uniform(0, 9000),
                       static_cast<size_t>(rng.below(10))});
    }
    figure.panels.push_back(scatter(fmt::format("panel {}", i), "ms", "kbit/s", marks));
  }
  for (int i = 0; i < keys; ++i) {
    figure.keys.push_back({std::string(rng.below(40), 'k'), rng.below(12)});
  }
  for (int i = 0; i < rows; ++i) {
    const double value = rng.uniform(-3, 4000);
    figure.table.rows.push_back(
        {words(i % 5 == 0 ? "a, \"b\"" : "plain – é"),
         number(value, static_cast<int>(rng.below(4))),
         number(rng.chance(0.2) ? std::nullopt : std::optional{rng.exponential(50)}, 1),
         number(rng.uniform(-0.06, 0.06), 1)});
  }
  if (rows > 3) {
    figure.notes = {"one note & more", "another"};
  }
  return figure;
}

TEST(ReproduceGolden, FiguresAreWrittenAsRecorded) {
  Rng rng{3};
  std::string golden;
  std::vector<Figure> figures;
  for (const auto& [panels, keys, rows] : std::vector<std::array<int, 3>>{
           {0, 0, 1}, {1, 1, 3}, {2, 5, 24}, {3, 20, 25}, {8, 11, 40}}) {
    figures.push_back(scripted_figure(rng, panels, keys, rows));
    golden += rows < 20 ? figure_text(figures.back()) + figure_csv(figures.back()) +
                              figure_json(figures.back())
                        : "";
    golden += digests_of(figures.back()) + "\n";
  }
  expect_golden("figures", golden + golden_digest(body_of(index_page(figures))) + "\n");
}

TEST(ReproduceGolden, VerdictsAreInTheWordsRecorded) {
  Rng rng{9};
  std::string golden;
  for (int round = 0; round < 30; ++round) {
    std::vector<Ranked> ranked;
    for (uint64_t n = 1 + rng.below(6); n > 0; --n) {
      const auto published = static_cast<double>(rng.below(5));
      ranked.push_back(
          {fmt::format("s{}", n), published, published * 10 + static_cast<double>(rng.below(25))});
    }
    golden += order_verdict("delay", ranked, static_cast<int>(rng.below(3))) + "\n";
  }
  for (const std::string& scheme : compared_schemes()) {
    golden += fmt::format("{} {}\n", scheme, colour_of(scheme));
  }
  golden += fmt::format("{}\n", colour_of("no such"));
  expect_golden("verdicts", golden);
}

sim::DeliveryTrace varied_trace(uint64_t seed) {
  Rng rng{seed};
  sim::DeliveryTrace trace;
  Duration at{};
  double mean_ms = 4;
  while (at < 16s) {
    mean_ms = std::clamp(mean_ms * rng.uniform(0.95, 1.05), 1.0, 30.0);
    at += rng.chance(0.001) ? 800ms : from_seconds(rng.exponential(mean_ms) / 1000);
    trace.opportunities.push_back({at});
  }
  return trace;
}

std::string calibration_lines(const Calibration& calibration) {
  std::string text = fmt::format("{} forecasts\n", calibration.forecasts);
  for (size_t i = 0; i < calibration.shortfalls.size(); ++i) {
    text += fmt::format("  {} short, {:.3f} of {:.3f}\n", calibration.shortfalls[i],
                        calibration.delivered[i], calibration.forecast[i]);
  }
  return text;
}

TEST(ReproduceGolden, CalibrationsAreAsRecorded) {
  const schemes::SchemeContext context;
  std::string golden;
  for (const uint64_t seed : {1U, 2U}) {
    const sim::DeliveryTrace trace = varied_trace(seed);
    // Within the trace, and over its end, where it restarts.
    for (const Duration duration : {Duration{9'013ms}, Duration{20s}}) {
      golden += calibration_lines(
          calibrate_sprout(trace, duration, 2'005ms, context.dynamics(), context.table()));
      golden += calibration_lines(calibrate_cress(trace, duration, 2'005ms));
    }
  }
  expect_golden("calibration", golden);
}

TEST(ReproduceGolden, LabsAreThoseRecorded) {
  std::string golden;
  for (const std::optional<Duration> duration :
       {std::optional<Duration>{}, std::optional<Duration>{8s}, std::optional<Duration>{100s}}) {
    const Lab lab = make_lab("/nonexistent", duration, 4);
    for (const LabLink& link : lab.links) {
      const auto trace_line = [](const sim::DeliveryTrace& trace) {
        std::string all;
        for (const auto& opportunity : trace.opportunities) {
          all += std::to_string(opportunity.at.count()) + " ";
        }
        return golden_digest(all);
      };
      golden += fmt::format("{}: {} s, {} s, {} ms, loss {}, {} {}\n", link.name,
                            to_seconds(link.duration), to_seconds(link.skip),
                            to_milliseconds(link.link.delay), link.link.loss,
                            trace_line(*link.link.down), trace_line(*link.link.up));
      if (duration == Duration{8s}) {
        for (int fifths = 0; fifths < 5; ++fifths) {
          golden += trace_line(begun_later(*link.link.down, fifths)) + " ";
        }
        golden += "\n";
      }
    }
    for (const std::string& note : lab.notes) {
      golden += note + "\n";
    }
  }
  expect_golden("labs", golden);
}

}  // namespace
}  // namespace cress::reproduce
