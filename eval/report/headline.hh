#pragma once

#include <span>
#include <string>
#include <vector>

#include "eval/report/run_files.hh"

/// A summary of the run as text, every number from the results. Threads: pure functions.
namespace cress::report {

struct Headline {
  /// One sentence: which scheme is ahead, both delays, and the picture quality. Says so if Cress is
  /// behind.
  std::string lead;
  std::vector<std::string> lines;  ///< further sentences: the other axis, the other schemes
};

/// The scheme in the centre of the page: `cress` if it ran, otherwise the first in the file.
std::string hero_scheme(std::span<const RunResult> results);

/// Compares the hero with every other scheme over the links, directions and seeds that both ran;
/// over several, medians are compared and the text says so. Frame delay if there is video,
/// otherwise packet delay. Schemes are ordered by delay, the closest first. `results` is not empty.
Headline headline(std::span<const RunResult> results);

/// "143 ms", "2.31 s", "42.4 s", "310 s".
std::string in_words_ms(double milliseconds);
/// "612 kbit/s", "1.81 Mbit/s".
std::string in_words_kbps(double kilobits_per_second);

}  // namespace cress::report
