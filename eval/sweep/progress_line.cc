#include "eval/sweep/progress_line.hh"

#include <fmt/format.h>

#include <algorithm>

namespace cress::sweep {
namespace {

constexpr Duration kQuietFor = 2s;
constexpr Duration kRedrawEvery = 200ms;
constexpr Duration kLineEvery = 10s;
constexpr size_t kWidth = 30;

}  // namespace

std::string time_in_words(Duration time) {
  const double seconds = to_seconds(time);
  constexpr double kMinutesFrom = 99.5;
  constexpr double kHoursFrom = 99.5 * 60;
  if (seconds < kMinutesFrom) {
    return fmt::format("{:.0f} s", seconds);
  }
  return seconds < kHoursFrom ? fmt::format("{:.0f} min", seconds / 60)
                              : fmt::format("{:.1f} h", seconds / 3600);
}

std::string ProgressLine::time_left(Duration elapsed, size_t done, double running) const {
  // A run counts by its share done: the first estimate need not wait for the first long run.
  const double made = static_cast<double>(done - options_.done_before) + running;
  const double left = static_cast<double>(options_.runs - done) - running;
  constexpr double kMadeMin = 0.05;
  if (made < kMadeMin) {
    return "";
  }
  constexpr double kSecondsMax = 1e8;
  const double seconds = std::min(to_seconds(elapsed) * left / made, kSecondsMax);
  return fmt::format(", {} left", time_in_words(from_seconds(seconds)));
}

std::optional<std::string> ProgressLine::poll(Duration elapsed, size_t done, double running) {
  const Duration every = !options_.is_terminal ? kLineEvery : visible_ ? kRedrawEvery : kQuietFor;
  if (elapsed - told_ < every || options_.runs == 0) {
    return std::nullopt;
  }
  told_ = elapsed;
  const std::string words =
      fmt::format("{} of {} runs done{}", done, options_.runs, time_left(elapsed, done, running));
  if (!options_.is_terminal) {
    return words + "\n";
  }
  visible_ = true;
  const double share =
      std::min((static_cast<double>(done) + running) / static_cast<double>(options_.runs), 1.0);
  std::string bar(static_cast<size_t>(share * kWidth), '#');
  bar.resize(kWidth, '.');
  return fmt::format("\r\033[K[{}] {}", bar, words);
}

}  // namespace cress::sweep
