#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eval/compare/measures.hh"
#include "eval/report/interval.hh"
#include "eval/report/run_files.hh"

/// Two sets of results, before and after: what got better, what got worse, and what only moved.
/// Threads: pure functions.
namespace cress::compare {

enum class Verdict { kSame, kBetter, kWorse };

/// One measure of one scheme over one link, direction and set of options, all seeds together.
struct Change {
  report::SeriesKey key;  ///< of the new results
  std::string options;    ///< those that tell the rows apart, in words
  const Measure* measure = nullptr;
  size_t seeds_before = 0;
  size_t seeds_after = 0;
  report::Sample before{};  ///< of those seeds that have a value
  report::Sample after{};
  /// Where the difference of the means lies; without enough seeds nothing.
  std::optional<report::Interval> interval{};
  double tolerance = 0;  ///< what a difference has to pass to count; -1: not compared by number
  Verdict verdict = Verdict::kSame;
};

struct Options {
  Noise noise{};
  /// That no interval of the whole comparison misses its truth: with m of them each gets
  /// 1 - (1 - confidence) / m (Bonferroni).
  double confidence = 0.95;
  bool allow_missing = false;
  /// Scheme `first` before is compared with scheme `second` after, and nothing else; empty: each
  /// with itself.
  std::vector<std::pair<std::string, std::string>> pairs{};
};

struct Comparison {
  std::vector<Change> changes;       ///< in the order of the old results
  std::vector<std::string> missing;  ///< rows that only one side has, in words
};

/// Rows are matched by scheme, link, direction and options; where one side says nothing of options
/// (`run` does not), without them. A value that vanishes is worse, one that appears is better.
/// Throws std::invalid_argument with one clear line: rows are missing and that is not allowed, a
/// seed is there twice, nothing is left to compare.
Comparison compare(std::span<const report::RunResult> before,
                   std::span<const report::RunResult> after, const Options& options);

size_t count(const Comparison& comparison, Verdict verdict);

/// For a terminal: what is worse, then what is better; with `all`, also what is the same.
std::string comparison_table(const Comparison& comparison, bool all);
/// An object: "worse", "better", "same" (how many), "missing", and "changes", all of them.
std::string comparison_json(const Comparison& comparison);

}  // namespace cress::compare
