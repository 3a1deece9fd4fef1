#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "traces/links.hh"

/// Links of known rates: constant, with steps at given times, and a few that resemble connections
/// at home. None is a recording. Threads: none inside.
namespace cress::traces {

/// From `from` on the link has `rate` (> 0).
struct RateStep {
  Duration from{};
  DataRate rate;
  friend bool operator==(const RateStep&, const RateStep&) = default;
};

/// An opportunity whenever the steps' rates add up to kOpportunitySize, up to `length`. The first
/// step is at 0, the others follow in ascending order, all before `length`.
sim::DeliveryTrace stepped_trace(std::span<const RateStep> steps, Duration length);

/// "12Mbit/s", "500kbit/s", "0.3Mbit/s"; nullopt for anything else or a rate outside
/// kRateMin..kRateMax.
std::optional<DataRate> parse_rate(std::string_view text);
inline constexpr DataRate kRateMin = DataRate::kilobits_per_second(10);
inline constexpr DataRate kRateMax = DataRate::kilobits_per_second(1'000'000);

inline constexpr std::string_view kConstantPrefix = "constant:";

/// "constant:12Mbit/s" or, with steps, "constant:12Mbit/s,3Mbit/s@20s,12Mbit/s@30s": both
/// directions have that rate. The trace repeats after kEmbeddedLength, or a minute after the last
/// step if that is later. Throws std::runtime_error with one clear line.
NamedLink constant_link(std::string_view name);

/// Links that resemble connections at home: a rate model with its queue, jitter and losses.
struct EverydayLink {
  std::string_view name;
  std::string_view description;  ///< one line
  LinkPath path;
};

std::span<const EverydayLink> everyday_links();
bool is_everyday(std::string_view name);
/// `name` is one of everyday_links().
NamedLink everyday_link(std::string_view name);

}  // namespace cress::traces
