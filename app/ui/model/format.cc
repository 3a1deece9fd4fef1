#include "app/ui/model/format.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cress::ui {
namespace {

// 213 -> 210, 2437 -> 2400: digits beyond the second only flicker.
double two_digits(double value) {
  double step = 1;
  while (value >= 100 * step) {
    step *= 10;
  }
  return std::round(value / step) * step;
}

}  // namespace

std::string format_rate(DataRate rate) {
  const double kbps = two_digits(std::max(0.0, rate.kilobits_per_second()));
  if (kbps < 1000) {
    return fmt::format("{:.0f} kbit/s", kbps);
  }
  const double mbps = kbps / 1000;
  return mbps < 9.95 ? fmt::format("{:.1f} Mbit/s", mbps) : fmt::format("{:.0f} Mbit/s", mbps);
}

std::string format_delay(Duration delay) {
  const double ms = std::max(0.0, to_milliseconds(delay));
  if (ms < 999.5) {
    return fmt::format("{:.0f} ms", ms);
  }
  return ms < 9950 ? fmt::format("{:.1f} s", ms / 1000) : fmt::format("{:.0f} s", ms / 1000);
}

std::string format_size(DataSize size) {
  const auto bytes = static_cast<double>(std::max<int64_t>(0, size.bytes()));
  if (bytes < 1000) {
    return fmt::format("{:.0f} B", bytes);
  }
  if (bytes < 999'500) {
    return bytes < 9950 ? fmt::format("{:.1f} kB", bytes / 1e3)
                        : fmt::format("{:.0f} kB", bytes / 1e3);
  }
  return fmt::format("{:.1f} MB", bytes / 1e6);
}

std::string format_share(double share) {
  const double percent = 100 * std::clamp(share, 0.0, 1.0);
  if (percent > 0 && percent < 0.95) {
    return fmt::format("{:.1f} %", std::max(0.1, percent));
  }
  return fmt::format("{:.0f} %", percent);
}

std::string format_clock(Duration length) {
  const int64_t s = std::chrono::floor<std::chrono::seconds>(std::max(length, Duration{0})).count();
  if (s >= 3600) {
    return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  }
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string short_name(std::string_view name) {
  const auto begins_letter = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; };
  size_t letters = 0;
  size_t kept = 0;  // bytes of all letters but the last that fits
  for (size_t at = 0; at < name.size(); ++at) {
    if (!begins_letter(name[at])) {
      continue;
    }
    if (letters == kShortNameLetters) {
      return std::string{name.substr(0, kept)} + "…";
    }
    if (++letters == kShortNameLetters) {
      kept = at;
    }
  }
  return std::string{name};
}

}  // namespace cress::ui
