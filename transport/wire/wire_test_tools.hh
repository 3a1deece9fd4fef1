#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "transport/wire/datagram.hh"

namespace cress::wire {

/// The first rule of docs/protocol/wire.md, "Forecast", that a parsed forecast breaks; empty if it
/// keeps all. Code that uses a forecast relies on these rules without a check.
inline std::string_view broken_rule(const ForecastFrame& forecast) {
  if (forecast.counts.size() > kForecastCountsMax) {
    return "too many counts";
  }
  if (!std::is_sorted(forecast.counts.begin(), forecast.counts.end())) {
    return "counts fall";
  }
  if (!forecast.counts.empty() && forecast.counts.back() > kForecastCountMax) {
    return "a count is too large";
  }
  if (forecast.decided_before > forecast.received_or_lost ||
      forecast.lost_complete_from > forecast.decided_before) {
    return "points out of order";
  }
  if (forecast.lost.size() > kLostRangesMax) {
    return "too many lost ranges";
  }
  uint64_t above = forecast.lost_complete_from;
  for (const LostRange& range : forecast.lost) {
    if (range.from < above || range.to <= range.from || range.to > forecast.decided_before) {
      return "lost ranges overlap, are empty or lie outside";
    }
    above = range.to;
  }
  if (forecast.arrivals.size() > kArrivalsMax) {
    return "too many arrivals";
  }
  for (size_t i = 0; i < forecast.arrivals.size(); ++i) {
    if (i > 0 && forecast.arrivals[i].sequence <= forecast.arrivals[i - 1].sequence) {
      return "arrivals do not ascend";
    }
    if (forecast.arrivals[i].time_100us > forecast.time_100us) {
      return "an arrival after the report";
    }
  }
  return {};
}

}  // namespace cress::wire
