#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "transport/base/time.hh"

namespace cress::sweep {

/// Progress for the user: on a terminal one line, redrawn, after the first two seconds; elsewhere
/// (a log file) a line every ten seconds. Reads no clock: times are since the start. Threads: none
/// inside.
class ProgressLine {
 public:
  struct Options {
    size_t runs = 0;
    size_t done_before = 0;  ///< by an earlier command: they say nothing about the remaining time
    bool is_terminal = false;
  };
  explicit ProgressLine(const Options& options) : options_(options) {}

  /// The text to print now, if any. `running`: the sum of the shares of the running tasks.
  std::optional<std::string> poll(Duration elapsed, size_t done, double running);
  /// The text that clears the line at the end.
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
