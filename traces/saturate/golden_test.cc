// Two saturating ends over links that vary, fall silent, lose and drop, as recorded.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "traces/saturate/saturate_test_tools.hh"
#include "traces/saturate/summary.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/sim/queue.hh"

namespace cress::traces {
namespace {

/// A Poisson process whose rate, in packets/s, changes every 500 ms; nothing for a second from
/// `silent_s` on.
std::shared_ptr<const sim::DeliveryTrace> wandering_link(uint64_t seed, double rate,
                                                         double silent_s) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  Rng rng{seed};
  double now_rate = rate;
  double next_change = 0;
  for (double at = 0; at < 20; at += rng.exponential(1 / now_rate)) {
    for (; next_change <= at; next_change += 0.5) {
      now_rate = std::clamp(now_rate * std::exp(0.3 * rng.normal()), rate / 4, rate * 3);
    }
    if (at < silent_s || at >= silent_s + 1) {
      trace->opportunities.push_back({from_seconds(at)});
    }
  }
  return trace;
}

struct Recorded {
  std::string name;
  bool feedback = false;
  bool up = true;
  bool down = true;
  double loss = 0;
  DataSize queue = sim::DropTailQueue::kUnlimited;
  Duration feedback_cut_at = Duration::max();
  Duration finished_at = Duration::max();
  Duration too_large_at = Duration::max();
  bool wrong_token = false;
};

std::string pace_text(const Saturator::Pace& pace) {
  std::ostringstream text;
  text << pace.wanted << '/' << pace.rate.bits_per_second() / 1000 << '/'
       << pace.delay / Duration{1ms};
  return text.str();
}

std::string records_digest(const sim::Link& link) {
  std::ostringstream text;
  text << link.lost() << ' ' << link.queue_stats().dropped << '\n';
  for (const sim::PacketRecord& record : link.records()) {
    text << (record.sent - kTimeZero) / 1us << ' ' << record.size.bytes() << '\n';
  }
  return golden_digest(text.str());
}

std::string summary_text(const Saturator& end) {
  const SaturateMeasurement m = end.measurement();
  const SaturateSummary summary{.peer = "peer",
                                .separate_feedback = end.has_feedback_path(),
                                .round_trip = m.round_trip,
                                .packet_size = m.up.packet_size,
                                .dropped_by_receiver = end.stats().repeated,
                                .unsent = end.stats().unauthenticated,
                                .directions = measure_directions(m)};
  std::ostringstream text;
  print_summary(summary, text);
  std::string json = format_json(summary);
  const size_t version = json.find("\"version\"");
  json.erase(version, json.find('\n', version) - version);
  text << golden_digest(json) << " offset " << m.clock_offset / 1us << " us, "
       << end.stats().malformed << " malformed, " << end.stats().unauthenticated << " refused, "
       << end.stats().repeated << " repeated\n";
  return text.str();
}

std::string recorded(const Recorded& plan) {
  FeedbackWire wire;
  SaturatorOptions left{.connects = true,
                        .token = key_of_token("secret"),
                        .entropy = entropy_of(1),
                        .peer = listener_address(),
                        .up = plan.up,
                        .down = plan.down,
                        .duration = 8s};
  if (plan.feedback) {
    left.feedback_peer = listener_address();
  }
  const SaturatorOptions right{.token = key_of_token(plan.wrong_token ? "other" : "secret"),
                               .entropy = entropy_of(2),
                               .duration = 3600s};
  SaturatorHost connector{left, plan.feedback ? &wire : nullptr};
  SaturatorHost listener{right, plan.feedback ? &wire : nullptr};
  sim::Link up{{.trace = wandering_link(1, 200, 7),
                .loss = plan.loss,
                .seed = 1,
                .queue = std::make_unique<sim::DropTailQueue>(plan.queue)}};
  sim::Link down{{.trace = wandering_link(2, 500, 9),
                  .propagation = 30ms,
                  .loss = plan.loss,
                  .seed = 2,
                  .queue = std::make_unique<sim::DropTailQueue>(plan.queue)}};
  sim::World world{{connector, listener, up, down}};
  std::string text = plan.name + "\n";
  std::string states;
  for (Duration at = 500ms; at <= 26s; at += 500ms) {
    const TimePoint now = kTimeZero + at;
    world.run_until(now);
    if (plan.feedback_cut_at <= at) {
      wire.cut = true;
    }
    if (plan.finished_at == at) {
      connector.saturator().finish(now);
    }
    if (plan.too_large_at == at) {
      connector.saturator().handle_too_large(now, SaturatePath::kLink, DataSize{1400});
    }
    const Saturator& one = connector.saturator();
    const Saturator& other = listener.saturator();
    states += std::to_string(static_cast<int>(one.state())) +
              std::to_string(static_cast<int>(other.state())) + " ";
    if (at % 4s == Duration{}) {
      text += pace_text(one.up()) + " " + pace_text(one.down()) + "  " + pace_text(other.up()) +
              " " + pace_text(other.down()) + "  " + std::to_string(one.measured(now) / 1ms) + "\n";
    }
  }
  return text + states + "\n" + records_digest(up) + " " + records_digest(down) + "\n" +
         summary_text(connector.saturator()) + summary_text(listener.saturator());
}

TEST(GoldenSaturate, RunsAreAsRecorded) {
  std::string text;
  text += recorded({.name = "both", .feedback = true});
  text += recorded({.name = "one path, loss", .loss = 0.03});
  text += recorded({.name = "up, short queue", .down = false, .queue = DataSize{60'000}});
  text += recorded({.name = "down, feedback lost",
                    .feedback = true,
                    .up = false,
                    .loss = 0.01,
                    .feedback_cut_at = 6s});
  text += recorded({.name = "finished early, small packets",
                    .feedback = true,
                    .finished_at = 9s,
                    .too_large_at = 500ms});
  text += recorded({.name = "another token", .wrong_token = true});
  expect_golden("runs", text);
}

/// A window under feedback of every kind: growing and falling delays, losses, silence.
TEST(GoldenSaturate, WindowsAreAsRecorded) {
  std::ostringstream text;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Rng rng{seed};
    SaturatingWindow window;
    TimePoint now = kTimeZero;
    uint64_t next = 0;
    uint64_t newest = 0;
    uint64_t arrived = 0;
    double delay_ms = 50;
    for (int i = 0; i < 400; ++i) {
      now += std::chrono::milliseconds{5 + rng.below(rng.chance(0.02) ? 2000 : 60)};
      next = std::max(next, window.allowed(now));
      const uint64_t step = rng.below(next - newest + 1);
      newest += step;
      arrived += step - (rng.chance(0.1 * static_cast<double>(seed)) ? step / 3 : 0);
      delay_ms = std::clamp(delay_ms * std::exp(0.4 * rng.normal()), 20.0, 6000.0);
      window.on_feedback(now,
                         {.known_at = now - 10ms,
                          .newest_arrived = now - 20ms,
                          .newest = newest,
                          .arrived = arrived,
                          .delay = from_seconds(delay_ms / 1e3)},
                         next);
      if (i % 20 == 0) {
        text << window.allowed(now) << ',' << window.packets() << ',' << window.has_filled() << ','
             << std::llround(window.packets_per_second()) << ' ';
      }
    }
    text << '\n';
  }
  expect_golden("windows", text.str());
}

/// Arrivals in and out of order, early, late and lost, and windows around them.
TEST(GoldenSaturate, MeasurementsAreAsRecorded) {
  std::ostringstream text;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    Rng rng{seed};
    std::vector<SaturateArrival> arrivals;
    TimePoint sent = kTimeZero;
    TimePoint arrives = kTimeZero;
    for (uint64_t sequence = 0; sequence < 20 + rng.below(200); ++sequence) {
      sent += std::chrono::milliseconds{rng.below(rng.chance(0.05) ? 300 : 12)};
      arrives = std::max(arrives, sent) + std::chrono::milliseconds{rng.below(20)};
      if (!rng.chance(0.05)) {
        const Duration early = rng.chance(0.05) ? Duration{15ms} : Duration{};
        arrivals.push_back({sequence, sent, arrives - early, DataSize{1500}});
      }
    }
    std::ranges::stable_sort(arrivals, {}, &SaturateArrival::arrived);
    if (seed % 2 == 0) {
      std::ranges::stable_sort(arrivals, {}, &SaturateArrival::sequence);
    }
    const TimePoint from = kTimeZero + 100ms * static_cast<int64_t>(rng.below(5));
    const DirectionMeasurement m =
        measure_direction(arrivals, {from, from + 100ms * static_cast<int64_t>(rng.below(30)),
                                     std::chrono::milliseconds{20 + rng.below(800)}});
    std::string stretches;
    for (const Stretch& stretch : m.unsaturated) {
      stretches +=
          std::to_string(stretch.from / 1us) + "-" + std::to_string(stretch.to / 1us) + " ";
    }
    std::string trace;
    for (const sim::DeliveryOpportunity& opportunity : m.trace.opportunities) {
      trace += std::to_string(opportunity.at / 1us) + " ";
    }
    text << m.length / 1ms << ' ' << m.delivered.bytes() << ' ' << m.longest_gap / 1us << ' '
         << m.arrived << ' ' << m.lost << ' ' << m.reordered << ' ' << m.saturated_share << ' '
         << m.over_delay_share << ' ' << m.delay_p50 / 1us << ' ' << m.delay_p95 / 1us << ' '
         << m.unsaturated.size() << ' ' << golden_digest(stretches) << ' ' << golden_digest(trace)
         << '\n';
  }
  expect_golden("measurements", text.str());
}

}  // namespace
}  // namespace cress::traces
