// The results of models, statistics and plots for traces of many kinds, as recorded.

#include <gtest/gtest.h>

#include <array>
#include <iomanip>
#include <sstream>
#include <string>

#include "traces/links.hh"
#include "traces/model_json.hh"
#include "traces/trace_formats.hh"
#include "traces/trace_plot.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::traces {
namespace {

std::string line_of(const TraceStatistics& s) {
  std::ostringstream text;
  text << std::setprecision(6) << s.opportunities << ' ' << to_seconds(s.length) << ' '
       << s.mean_rate.bits_per_second() << ' ' << s.spread_1s << ' ' << s.spread_200ms << ' '
       << to_seconds(s.correlation_time) << ' ' << s.rate_max.bits_per_second() << ' ' << s.outages
       << ' ' << s.outage_share << ' ' << to_milliseconds(s.outage_mean) << ' '
       << to_milliseconds(s.outage_longest) << ' ' << s.outage_repeat_share << ' ' << s.slipped_mean
       << ' ' << s.stall_share << ' ' << s.tail_exponent << ' ' << s.dispersion_20ms << ' '
       << s.same_millisecond_share << '\n';
  return text.str();
}

/// Parameters from all of their ranges.
LinkModelParameters drawn(Rng& rng) {
  LinkModelParameters p;
  p.mean_rate = DataRate::kilobits_per_second(static_cast<int64_t>(50 + rng.below(8'000)));
  p.rate_max = p.mean_rate * rng.uniform(1.0, 6.0);
  p.slow_spread = rng.chance(0.2) ? 0 : rng.uniform(0, 1.5);
  p.slow_time = from_seconds(rng.uniform(0.1, 20));
  p.fast_spread = rng.chance(0.2) ? 0 : rng.uniform(0, 1.0);
  p.fast_time = from_seconds(rng.uniform(0.05, 2));
  p.outage_share = rng.chance(0.2) ? 0 : rng.uniform(0, 0.4);
  p.outage_mean = from_seconds(rng.uniform(0.21, 2));
  p.outage_max = p.outage_mean + from_seconds(rng.uniform(0.1, 10));
  p.outage_repeat = rng.chance(0.2) ? 0 : rng.uniform(0, 0.9);
  p.slipped_mean = rng.uniform(1, 20);
  p.stall_share = rng.chance(0.2) ? 0 : rng.uniform(0, 0.3);
  p.stall_tail_exponent = rng.chance(0.2) ? 2 : rng.uniform(1.1, 5);
  p.gap_variation = rng.uniform(0, 3);
  p.burst_mean = rng.chance(0.3) ? 1 : rng.uniform(1, 8);
  return p;
}

TEST(GoldenTraces, GeneratedOnesAreAsRecorded) {
  std::string text;
  for (const EmbeddedLink& link : embedded_links()) {
    for (const Direction direction : {Direction::kDown, Direction::kUp}) {
      const sim::DeliveryTrace trace = embedded_trace(link.name, direction);
      text += std::string{link.name} + " " + golden_digest(sim::format_trace(trace)) + " " +
              line_of(statistics(trace));
    }
  }
  Rng rng{21};
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const LinkModelParameters p = drawn(rng);
    if (const auto problem = problem_with(p)) {
      text += *problem + "\n";
      continue;
    }
    const sim::DeliveryTrace trace = generate(p, 20s, seed);
    text += golden_digest(sim::format_trace(trace)) + " " + line_of(statistics(trace));
  }
  expect_golden("generated", text);
}

/// Gaps that are often at one of the limits that statistics draw between silences.
sim::DeliveryTrace with_gaps_at_limits(uint64_t seed) {
  Rng rng{seed};
  sim::DeliveryTrace trace;
  constexpr std::array kGapsMs{0,  0,  1,  1,  2,  5,   10,  19,  20,
                               20, 21, 59, 60, 61, 199, 200, 201, 900};
  const size_t length = 2 + rng.below(seed % 3 == 0 ? 600 : 60);
  Duration at{};
  for (size_t i = 0; i < length; ++i) {
    at += kGapsMs[rng.below(kGapsMs.size())] * 1ms;
    trace.opportunities.push_back({at});
  }
  trace.opportunities.push_back({at + 1ms});
  return trace;
}

TEST(GoldenTraces, StatisticsPlotsAndTablesAreAsRecorded) {
  std::string text;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const sim::DeliveryTrace trace = with_gaps_at_limits(seed);
    text += golden_digest(plot_svg(trace, "a \"link\" & <more>")) + " " +
            golden_digest(format_csv(trace)) + " " + golden_digest(format_steps(trace, 150ms)) +
            " " + line_of(statistics(trace));
  }
  for (const std::string_view name : {"lte-fast", "outages"}) {
    text += golden_digest(plot_svg(embedded_trace(name, Direction::kDown), name)) + "\n";
  }
  // The longest possible trace, a single opportunity, and a title beyond its 80 characters.
  text += golden_digest(plot_svg({{{0ms}, {sim::kTraceLengthMax}}}, std::string(81, 'x'))) + "\n";
  text += golden_digest(plot_svg({{{1ms}}}, "\x7f ~")) + "\n";
  expect_golden("statistics", text);
}

}  // namespace
}  // namespace cress::traces
