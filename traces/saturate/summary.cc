#include "traces/saturate/summary.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

namespace cress::traces {
namespace {

using Json = nlohmann::ordered_json;

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// To the microsecond: smaller digits are noise of the conversion.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

Json json_of(const SaturateSummary::Direction& direction) {
  const DirectionMeasurement& m = direction.measured;
  Json json;
  json["direction"] = direction.name;
  json["file"] = direction.file.empty() ? Json{} : Json(direction.file);
  json["complete"] = direction.complete;
  json["length_s"] = rounded(to_seconds(m.length));
  json["opportunities"] = m.trace.opportunities.size();
  json["bytes"] = m.delivered.bytes();
  json["capacity_kbps"] = m.capacity().kilobits_per_second();
  json["longest_gap_ms"] = rounded(to_milliseconds(m.longest_gap));
  json["packets_arrived"] = m.arrived;
  json["packets_lost"] = m.lost;
  json["packets_reordered"] = m.reordered;
  json["always_saturated"] = m.length > Duration{} && m.unsaturated.empty();
  json["saturated_share"] = rounded(m.saturated_share);
  json["over_750ms_share"] = rounded(m.over_delay_share);
  json["queue_delay_ms_p50"] = rounded(to_milliseconds(m.delay_p50));
  json["queue_delay_ms_p95"] = rounded(to_milliseconds(m.delay_p95));
  json["not_saturated_count"] = m.unsaturated.size();
  Json stretches = Json::array();
  for (size_t i = 0; i < std::min(m.unsaturated.size(), kStretchesListed); ++i) {
    stretches.push_back({{"from_s", rounded(to_seconds(m.unsaturated[i].from))},
                         {"to_s", rounded(to_seconds(m.unsaturated[i].to))}});
  }
  json["not_saturated"] = std::move(stretches);
  return json;
}

}  // namespace

std::vector<SaturateSummary::Direction> measure_directions(const SaturateMeasurement& measurement) {
  std::vector<SaturateSummary::Direction> result;
  const auto add = [&](const char* name, const SaturateMeasurement::Direction& direction) {
    if (!direction.wanted) {
      return;
    }
    MeasuredWindow window{measurement.from, measurement.to, measurement.round_trip};
    if (!direction.complete) {
      const TimePoint last =
          direction.arrivals.empty() ? window.from : direction.arrivals.back().arrived;
      window.to = std::clamp(last, window.from, window.to);
    }
    result.push_back({.name = name,
                      .file = {},
                      .complete = direction.complete,
                      .measured = measure_direction(direction.arrivals, window)});
  };
  add("up", measurement.up);
  add("down", measurement.down);
  return result;
}

std::string format_json(const SaturateSummary& summary) {
  Json json;
  json["version"] = CRESS_VERSION;
  json["peer"] = summary.peer;
  json["feedback"] = summary.separate_feedback ? "second path" : "same path";
  json["round_trip_ms"] = rounded(to_milliseconds(summary.round_trip));
  json["packet_bytes"] =
      summary.packet_size == DataSize{} ? Json{} : Json(summary.packet_size.bytes());
  json["dropped_by_this_end"] = summary.dropped_by_receiver;
  json["not_sent_by_this_end"] = summary.unsent;
  json["directions"] = Json::array();
  for (const SaturateSummary::Direction& direction : summary.directions) {
    json["directions"].push_back(json_of(direction));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_summary(const SaturateSummary& summary, std::ostream& out) {
  for (const SaturateSummary::Direction& direction : summary.directions) {
    const DirectionMeasurement& m = direction.measured;
    out << direction.name << (direction.name.size() < 4 ? "    " : "  ")
        << (direction.file.empty() ? "(no trace)" : direction.file)
        << formatted(": %.0f kbit/s", m.capacity().kilobits_per_second())
        << formatted(" over %.1f s", to_seconds(m.length))
        << formatted(", longest gap %.0f ms", to_milliseconds(m.longest_gap)) << ", " << m.lost
        << " of " << m.lost + m.arrived << " packets lost"
        << (direction.complete ? "" : "; cut short: the other end's log is not complete") << '\n';
    if (m.length == Duration{}) {
      continue;
    }
    out << "      ";
    if (m.unsaturated.empty()) {
      out << "saturated all the time";
    } else {
      const auto longest = std::ranges::max_element(m.unsaturated, {},
                                                    [](const Stretch& s) { return s.to - s.from; });
      out << formatted("NOT saturated %.2f %% of the time: ", 100 * (1 - m.saturated_share))
          << m.unsaturated.size() << (m.unsaturated.size() == 1 ? " stretch" : " stretches")
          << formatted(", the longest %.2f s", to_seconds(longest->to - longest->from))
          << formatted(" from %.2f s on", to_seconds(longest->from));
    }
    out << formatted("; over 750 ms there and back %.1f %%", 100 * m.over_delay_share)
        << formatted("; queue %.0f ms at the median", to_milliseconds(m.delay_p50))
        << formatted(", %.0f ms at p95\n", to_milliseconds(m.delay_p95));
  }
}

}  // namespace cress::traces
