#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eval/compare/measures.hh"
#include "eval/report/interval.hh"
#include "eval/report/run_files.hh"

/// Compares two sets of results, before and after: what improved, what got worse, and what differs
/// only by noise. Threads: pure functions.
namespace cress::compare {

enum class Verdict { kSame, kBetter, kWorse };

/// One measure of one scheme over one link, direction and set of options, over all seeds.
struct Change {
  report::SeriesKey key;  ///< of the new results
  std::string options;    ///< the options that distinguish the rows, as text
  const Measure* measure = nullptr;
  size_t seeds_before = 0;
  size_t seeds_after = 0;
  report::Sample before{};  ///< over the seeds that have a value
  report::Sample after{};
  /// Confidence interval of the difference of the means; empty without enough seeds.
  std::optional<report::Interval> interval{};
  double tolerance = 0;  ///< a larger difference counts; -1: not compared by number
  Verdict verdict = Verdict::kSame;
};

struct Options {
  Noise noise{};
  /// The probability that all intervals of the comparison contain their true values: with m of them
  /// each gets 1 - (1 - confidence) / m (Bonferroni).
  double confidence = 0.95;
  bool allow_missing = false;
  /// Compares scheme `first` before with scheme `second` after, and nothing else; empty: each with
  /// itself.
  std::vector<std::pair<std::string, std::string>> pairs{};
};

struct Comparison {
  std::vector<Change> changes;       ///< in the order of the old results
  std::vector<std::string> missing;  ///< rows that only one side has, as text
};

/// Rows are matched by scheme, link, direction and options; if one side has no options (`run`
/// writes none), without them. A value that disappears is worse, one that appears is better. Throws
/// std::invalid_argument with one clear line: rows are missing and that is not allowed, a seed
/// occurs twice, nothing is left to compare.
Comparison compare(std::span<const report::RunResult> before,
                   std::span<const report::RunResult> after, const Options& options);

size_t count(const Comparison& comparison, Verdict verdict);

/// For a terminal: first what is worse, then what is better; with `all`, also what is the same.
std::string comparison_table(const Comparison& comparison, bool all);
/// An object: "worse", "better", "same" (counts), "missing", and "changes" with all of them.
std::string comparison_json(const Comparison& comparison);

}  // namespace cress::compare
