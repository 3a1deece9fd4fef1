#pragma once

#include <span>
#include <string>
#include <vector>

#include "eval/report/run_files.hh"

/// The run in plain words, every number from the results alone.
/// Threads: pure functions.
namespace cress::report {

struct Headline {
  /// One sentence: who is ahead, how late the two are, and what picture that is. Behind is said.
  std::string lead;
  std::vector<std::string> lines;  ///< what else belongs to it: the other axis, the other schemes
};

/// The scheme that the page speaks of: `cress` where it ran, else the first in the file.
std::string hero_scheme(std::span<const RunResult> results);

/// Compares the hero with every other scheme over the links, directions and seeds that both ran;
/// over several, medians are compared and the words say so. Frame delay where there is video, else
/// packet delay. Schemes are ordered by delay, the closest first. `results` is not empty.
Headline headline(std::span<const RunResult> results);

/// "143 ms", "2.31 s", "42.4 s", "310 s".
std::string in_words_ms(double milliseconds);
/// "612 kbit/s", "1.81 Mbit/s".
std::string in_words_kbps(double kilobits_per_second);

}  // namespace cress::report
