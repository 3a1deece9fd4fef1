#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "transport/base/time.hh"

namespace cress {

/// For messages about a text that `parse_duration` refuses.
inline constexpr std::string_view kDurationForm =
    "not a time with its unit, as in 20ms, 1.5s, 2m, 12h, 7d or 2w";

/// A time as all our programs take it on the command line: a number and its unit; only 0 needs
/// none. At most 10⁹ s. Pure.
inline std::optional<Duration> parse_duration(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit{rest, static_cast<size_t>(end - rest)};
  double scale = unit.empty() && value == 0 ? 1 : 0;
  for (const auto& [name, seconds] : {std::pair<std::string_view, double>{"ms", 1e-3},
                                      {"s", 1},
                                      {"m", 60},
                                      {"h", 3600},
                                      {"d", 86'400},
                                      {"w", 7.0 * 86'400}}) {
    scale = unit == name ? seconds : scale;
  }
  constexpr double kSecondsMax = 1e9;
  if (error != std::errc{} || scale == 0 || !std::isfinite(value) || value < 0 ||
      value * scale > kSecondsMax) {
    return std::nullopt;
  }
  return from_seconds(value * scale);
}

}  // namespace cress
