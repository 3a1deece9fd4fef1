#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "transport/base/time.hh"

namespace cress::sweep {

/// What a person who waits is told: on a terminal one line, redrawn, from the second second on;
/// elsewhere (a log file) a line every ten seconds. Reads no clock: times are since the start.
/// Threads: none inside.
class ProgressLine {
 public:
  struct Options {
    size_t runs = 0;
    size_t done_before = 0;  ///< by an earlier command: they say nothing about the time left
    bool is_terminal = false;
  };
  explicit ProgressLine(const Options& options) : options_(options) {}

  /// What to print now, if anything. `running`: the sum of the shares of what is running.
  std::optional<std::string> poll(Duration elapsed, size_t done, double running);
  /// What takes the line away at the end.
  std::string clear() const { return visible_ ? "\r\033[K" : ""; }

 private:
  std::string time_left(Duration elapsed, size_t done, double running) const;

  Options options_;
  Duration told_{};
  bool visible_ = false;
};

/// "40 s", "12 min", "3.5 h".
std::string time_in_words(Duration time);

}  // namespace cress::sweep
