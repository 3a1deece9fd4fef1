#include "traces/everyday_links.hh"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "transport/base/check.hh"
#include "transport/base/rng.hh"

namespace cress::traces {
namespace {

constexpr size_t kStepsMax = 1000;
constexpr Duration kStepTimeMax = 1h;
constexpr Duration kAfterLastStep = 60s;

// 6 Mbit/s is a common subscribed rate of DSL and of cable uplinks; 64 packets are 128 ms of it,
// 256 packets, half a second, the buffer of many home routers.
constexpr DataRate kHomeRate = DataRate::kilobits_per_second(6000);
// Starlink assigns satellites anew every 15 s, which changes the rate at once and stops the link
// for a moment (Garcia et al., "Multi-Timescale Evaluation of Starlink Throughput", LEO-NET 2023).
constexpr Duration kReassignment = 15s;
constexpr Duration kReassignmentSilence = 40ms;

constexpr std::array kEveryday{
    EverydayLink{
        "home", "a home line: 6 Mbit/s both ways, a queue of 64 packets", {.queue = "droptail:64"}},
    EverydayLink{"home-deep",
                 "the same line behind a router that holds 256 packets: half a second",
                 {.queue = "droptail:256"}},
    EverydayLink{"wifi-busy",
                 "Wi-Fi among busy neighbours: about 15 Mbit/s in bursts, stalls, 5 ms of jitter",
                 {.queue = "droptail:128",
                  .jitter = 5ms,
                  .burst_loss = {.enter = 0.002, .leave = 0.4, .loss = 1}}},
    EverydayLink{"lte-good",
                 "a good LTE cell at rest: about 20 Mbit/s down, 8 up, few silences",
                 {.queue = "droptail:256"}},
    EverydayLink{
        "starlink",
        "a satellite link: 5 to 60 Mbit/s down, 2 to 12 up, another rate every 15 s",
        {.queue = "droptail:256", .burst_loss = {.enter = 0.0002, .leave = 0.3, .loss = 1}}},
};

/// Chosen, not fitted: other stations' airtime appears as stalls of a few to some tens of
/// milliseconds, aggregation as bursts of opportunities.
LinkModelParameters busy_wifi() {
  return {.mean_rate = DataRate::kilobits_per_second(15'000),
          .rate_max = DataRate::kilobits_per_second(60'000),
          .slow_spread = 0.35,
          .slow_time = 5s,
          .fast_spread = 0.5,
          .fast_time = 100ms,
          .stall_share = 0.2,
          .stall_tail_exponent = 3,
          .gap_variation = 1.2,
          .burst_mean = 6};
}

LinkModelParameters good_lte(DataRate mean) {
  return {.mean_rate = mean,
          .rate_max = mean * 2.5,
          .slow_spread = 0.25,
          .slow_time = 10s,
          .fast_spread = 0.25,
          .fast_time = 500ms,
          .stall_share = 0.01,
          .stall_tail_exponent = 3.5,
          .gap_variation = 0.7,
          .burst_mean = 3};
}

sim::DeliveryTrace satellite_trace(DataRate low, DataRate high, uint64_t seed) {
  Rng rng{seed};
  std::vector<RateStep> steps;
  for (Duration from{}; from < kEmbeddedLength; from += kReassignment) {
    const double share = rng.uniform();
    const double factor = std::pow(
        static_cast<double>(high.bits_per_second()) / static_cast<double>(low.bits_per_second()),
        share);
    steps.push_back({from, low * factor});
  }
  sim::DeliveryTrace trace = stepped_trace(steps, kEmbeddedLength);
  std::erase_if(trace.opportunities, [](const sim::DeliveryOpportunity& opportunity) {
    return opportunity.at % kReassignment < kReassignmentSilence &&
           opportunity.at < kEmbeddedLength;
  });
  return trace;
}

sim::DeliveryTrace trace_of(std::string_view name, Direction direction) {
  const bool down = direction == Direction::kDown;
  // As of the embedded links: the two directions do not wander together, and each is the first from
  // 1 or 101 on whose two minutes have the rate that the description promises.
  const uint64_t seed = down ? 1 : name == "lte-good" ? 102 : 101;
  if (name == "wifi-busy") {
    return generate(busy_wifi(), kEmbeddedLength, seed);
  }
  if (name == "lte-good") {
    return generate(good_lte(DataRate::kilobits_per_second(down ? 20'000 : 8'000)), kEmbeddedLength,
                    seed);
  }
  if (name == "starlink") {
    return satellite_trace(DataRate::kilobits_per_second(down ? 5'000 : 2'000),
                           DataRate::kilobits_per_second(down ? 60'000 : 12'000), seed);
  }
  return stepped_trace(std::array{RateStep{{}, kHomeRate}}, kEmbeddedLength);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional{value} : std::nullopt;
}

[[noreturn]] void refuse(std::string_view name) {
  throw std::runtime_error("link \"" + std::string{name} +
                           "\": not constant:RATE[,RATE@TIME...], as in constant:12Mbit/s or "
                           "constant:12Mbit/s,3Mbit/s@20s (10 kbit/s to 1 Gbit/s, ascending "
                           "times of at most an hour)");
}

RateStep parse_step(std::string_view text, std::string_view name, bool first) {
  const size_t at = text.find('@');
  RateStep step;
  const auto rate = parse_rate(text.substr(0, at));
  if (!rate || (at == std::string_view::npos) != first) {
    refuse(name);
  }
  step.rate = *rate;
  if (!first) {
    std::string_view time = text.substr(at + 1);
    if (time.ends_with('s')) {
      time.remove_suffix(1);
    }
    const auto seconds = number(time);
    if (!seconds || *seconds <= 0 || *seconds > to_seconds(kStepTimeMax)) {
      refuse(name);
    }
    step.from = from_seconds(*seconds);
  }
  return step;
}

}  // namespace

sim::DeliveryTrace stepped_trace(std::span<const RateStep> steps, Duration length) {
  check(!steps.empty() && steps.front().from == Duration{}, "stepped_trace: a step at 0");
  sim::DeliveryTrace trace;
  const auto whole = static_cast<double>(sim::kOpportunitySize.bits());
  double missing = whole;  // bits until the next opportunity
  for (size_t i = 0; i < steps.size(); ++i) {
    const Duration until = i + 1 < steps.size() ? steps[i + 1].from : length;
    check(steps[i].from < until && steps[i].rate > DataRate{}, "stepped_trace: ascending steps");
    const auto rate = static_cast<double>(steps[i].rate.bits_per_second());
    // Counted from the step's start, so that rounding does not add up.
    const double bits = rate * to_seconds(until - steps[i].from);
    double due = missing;
    for (; due <= bits; due += whole) {
      trace.opportunities.push_back({steps[i].from + from_seconds(due / rate)});
    }
    missing = due - bits;
  }
  check(!trace.opportunities.empty(), "stepped_trace: too short for one opportunity");
  return trace;
}

std::optional<DataRate> parse_rate(std::string_view text) {
  for (const auto& [unit, bits] :
       {std::pair<std::string_view, double>{"Mbit/s", 1e6}, {"kbit/s", 1e3}}) {
    if (!text.ends_with(unit)) {
      continue;
    }
    const auto value = number(text.substr(0, text.size() - unit.size()));
    if (!value || *value * bits > static_cast<double>(kRateMax.bits_per_second())) {
      return std::nullopt;
    }
    const DataRate rate = DataRate::bits_per_second(std::llround(*value * bits));
    return rate >= kRateMin ? std::optional{rate} : std::nullopt;
  }
  return std::nullopt;
}

NamedLink constant_link(std::string_view name) {
  std::string_view rest = name;
  if (!rest.starts_with(kConstantPrefix)) {
    refuse(name);
  }
  rest.remove_prefix(kConstantPrefix.size());
  std::vector<RateStep> steps;
  while (true) {
    const size_t comma = rest.find(',');
    steps.push_back(parse_step(rest.substr(0, comma), name, steps.empty()));
    if (steps.size() > kStepsMax ||
        (steps.size() > 1 && steps.back().from <= steps[steps.size() - 2].from)) {
      refuse(name);
    }
    if (comma == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(comma + 1);
  }
  const Duration length = std::max<Duration>(kEmbeddedLength, steps.back().from + kAfterLastStep);
  const sim::DeliveryTrace trace = stepped_trace(steps, length);
  return {std::string{name}, "of a given rate, both directions", trace, trace, {}};
}

std::span<const EverydayLink> everyday_links() { return kEveryday; }

bool is_everyday(std::string_view name) {
  return std::ranges::find(kEveryday, name, &EverydayLink::name) != kEveryday.end();
}

NamedLink everyday_link(std::string_view name) {
  const auto* link = std::ranges::find(kEveryday, name, &EverydayLink::name);
  check(link != kEveryday.end(), "everyday_link: a name of the list");
  return {std::string{name}, std::string{link->description}, trace_of(name, Direction::kDown),
          trace_of(name, Direction::kUp), link->path};
}

}  // namespace cress::traces
