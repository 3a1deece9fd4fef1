#include "eval/compare/compare.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "eval/compare/run_record.hh"
#include "eval/report/page_parts.hh"

namespace cress::compare {
namespace {

using report::SeedGroup;
using report::SeriesKey;

/// With enough seeds even an imperceptible difference is significant. It counts from this share of
/// the default tolerance on.
constexpr double kNegligibleShare = 0.25;

std::string words_of(const SeriesKey& key, const std::string& options) {
  return fmt::format("{} over {} {}{}", key.scheme, key.link, key.direction,
                     options.empty() ? "" : fmt::format(" ({})", options));
}

/// Numbers in options are compared as numbers, however they were written.
std::vector<report::RunResult> normal(std::span<const report::RunResult> results) {
  std::vector<report::RunResult> all{results.begin(), results.end()};
  for (report::RunResult& result : all) {
    for (auto& [name, text] : result.others) {
      text = name == "options" ? normal_options(text) : text;
    }
  }
  return all;
}

bool has_options(std::span<const report::RunResult> results) {
  return std::ranges::any_of(results,
                             [](const auto& result) { return !options_of(result).empty(); });
}

/// One side's groups, keyed by what they are matched by.
class Side {
 public:
  Side(std::span<const report::RunResult> results, bool with_options, const char* which)
      : groups_(report::seed_groups(results)) {
    for (const SeedGroup& group : groups_) {
      const std::string options = with_options ? group.options : "";
      if (!places_.try_emplace({group.key, options}, &group).second) {
        throw std::invalid_argument(fmt::format(
            "{}: {} is there with several options, and the other side does not say which it has",
            which, words_of(group.key, "")));
      }
      std::set<std::string> seeds;
      for (const report::RunResult* result : group.results) {
        if (!seeds.insert(result->seed).second) {
          throw std::invalid_argument(fmt::format("{}: {}, seed {} is there twice", which,
                                                  words_of(group.key, ""), result->seed));
        }
      }
    }
  }
  std::span<const SeedGroup> groups() const { return groups_; }
  const SeedGroup* find(const SeriesKey& key, const std::string& options) const {
    const auto found = places_.find({key, options});
    return found == places_.end() ? nullptr : found->second;
  }

 private:
  std::vector<SeedGroup> groups_;
  std::map<std::pair<SeriesKey, std::string>, const SeedGroup*> places_;
};

/// The scheme to compare `scheme` with; nullopt: none.
std::optional<std::string> partner(const Options& options, const std::string& scheme,
                                   bool of_before) {
  if (options.pairs.empty()) {
    return scheme;
  }
  for (const auto& [before, after] : options.pairs) {
    if ((of_before ? before : after) == scheme) {
      return of_before ? after : before;
    }
  }
  return std::nullopt;
}

/// Better or worse by `difference`, in the measure's direction.
Verdict verdict_of(const Measure& measure, double difference) {
  const bool up = difference > 0;
  return up == (measure.better == Better::kHigher) ? Verdict::kBetter : Verdict::kWorse;
}

bool uses_interval(const Change& change, const Noise& noise) {
  return noise.use_seeds && !noise.rule_of(change.measure->key) &&
         change.before.count >= kSeedsMin && change.after.count >= kSeedsMin;
}

void judge(Change& change, const Noise& noise, double confidence) {
  const report::Sample& before = change.before;
  const report::Sample& after = change.after;
  const auto share = [](const report::Sample& sample, size_t seeds) {
    return static_cast<double>(sample.count) / static_cast<double>(std::max<size_t>(seeds, 1));
  };
  const double share_before = share(before, change.seeds_before);
  const double share_after = share(after, change.seeds_after);
  const bool has_lost = share_before > share_after;
  if (before.count == 0 || after.count == 0 || has_lost) {
    // A run in which nothing arrived has no delay: without it, the mean would look better.
    change.verdict = has_lost ? Verdict::kWorse : Verdict::kBetter;
    change.tolerance = -1;
    return;
  }
  const Measure& measure = *change.measure;
  const double difference = after.mean - before.mean;
  const bool by_seeds = uses_interval(change, noise);
  const auto rule = noise.rule_of(measure.key);
  change.tolerance =
      (by_seeds ? kNegligibleShare : 1) * rule.value_or(measure.tolerance).of(before.mean);
  // Some tools write no more than twelve digits.
  constexpr double kRoundingShare = 1e-12;
  bool counts =
      std::abs(difference) > std::max(change.tolerance, kRoundingShare * std::abs(before.mean));
  if (by_seeds) {
    change.interval = welch_interval(before, after, confidence);
    counts = counts && (change.interval->low > 0 || change.interval->high < 0);
  }
  change.verdict = counts ? verdict_of(measure, difference) : Verdict::kSame;
}

/// All measures for which either side has a value.
void add_changes(const SeedGroup& before, const SeedGroup& after, const std::string& options,
                 std::vector<Change>& changes) {
  for (const Measure& measure : measures()) {
    Change change{.key = after.key, .options = options, .measure = &measure};
    change.seeds_before = before.results.size();
    change.seeds_after = after.results.size();
    change.before = report::sample_of(before.values(measure.key));
    change.after = report::sample_of(after.values(measure.key));
    if (change.before.count > 0 || change.after.count > 0) {
      changes.push_back(std::move(change));
    }
  }
}

void refuse_missing(const Comparison& comparison, const Options& options) {
  if (!comparison.missing.empty() && !options.allow_missing) {
    throw std::invalid_argument(
        fmt::format("{} rows are on one side only, the first: {}; run both over the same plan, or "
                    "leave them out with --allow-missing",
                    comparison.missing.size(), comparison.missing.front()));
  }
  if (comparison.changes.empty()) {
    throw std::invalid_argument("the two have no row in common: nothing to compare");
  }
}

std::string number(double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); }

std::string cell(const report::Sample& sample, int decimals) {
  return sample.count == 0 ? "-" : number(sample.mean, decimals);
}

/// "+3.1 (1.2 to 5.0)", "+12.0 (tolerance 10.0)".
std::string change_in_words(const Change& change) {
  if (change.before.count == 0) {
    return "a value now";
  }
  if (change.tolerance < 0) {
    return fmt::format("no value any more in {} of {} seeds",
                       change.seeds_after - change.after.count, change.seeds_after);
  }
  const int decimals = change.measure->decimals;
  const double difference = change.after.mean - change.before.mean;
  std::string text = fmt::format("{:+.{}f}", difference, decimals);
  if (change.before.mean != 0) {
    text += fmt::format(" = {:+.1f} %", difference / std::abs(change.before.mean) * 100);
  }
  return text + (change.interval
                     ? fmt::format(" ({:+.{}f} to {:+.{}f})", change.interval->low, decimals,
                                   change.interval->high, decimals)
                     : fmt::format(" (tolerance {})", number(change.tolerance, decimals)));
}

const char* word_of(Verdict verdict) {
  return verdict == Verdict::kWorse ? "worse" : verdict == Verdict::kBetter ? "better" : "same";
}

}  // namespace

Comparison compare(std::span<const report::RunResult> before,
                   std::span<const report::RunResult> after, const Options& options) {
  const bool with_options = has_options(before) && has_options(after);
  const std::vector<report::RunResult> old_results = normal(before);
  const std::vector<report::RunResult> new_results = normal(after);
  const Side old_side{old_results, with_options, "A"};
  const Side new_side{new_results, with_options, "B"};
  const std::vector<std::string> told = report::telling_options(old_side.groups());
  const std::vector<std::string> told_new = report::telling_options(new_side.groups());
  Comparison comparison;
  for (size_t i = 0; i < old_side.groups().size(); ++i) {
    const SeedGroup& group = old_side.groups()[i];
    SeriesKey key = group.key;
    const auto scheme = partner(options, key.scheme, true);
    if (!scheme) {
      continue;
    }
    key.scheme = *scheme;
    const SeedGroup* match = new_side.find(key, with_options ? group.options : "");
    if (match == nullptr) {
      comparison.missing.push_back(fmt::format("A: {}", words_of(group.key, told[i])));
      continue;
    }
    add_changes(group, *match, told[i], comparison.changes);
  }
  for (size_t i = 0; i < new_side.groups().size(); ++i) {
    const SeedGroup& group = new_side.groups()[i];
    SeriesKey key = group.key;
    if (const auto scheme = partner(options, key.scheme, false)) {
      key.scheme = *scheme;
      if (old_side.find(key, with_options ? group.options : "") == nullptr) {
        comparison.missing.push_back(fmt::format("B: {}", words_of(group.key, told_new[i])));
      }
    }
  }
  refuse_missing(comparison, options);
  const auto intervals = std::ranges::count_if(comparison.changes, [&](const Change& change) {
    return uses_interval(change, options.noise);
  });
  const double each =
      1 - (1 - options.confidence) / static_cast<double>(std::max<int64_t>(intervals, 1));
  for (Change& change : comparison.changes) {
    judge(change, options.noise, each);
  }
  return comparison;
}

size_t count(const Comparison& comparison, Verdict verdict) {
  return static_cast<size_t>(std::ranges::count(comparison.changes, verdict, &Change::verdict));
}

std::string comparison_table(const Comparison& comparison, bool all) {
  std::string text =
      fmt::format("{:<6} {:<15} {:<24} {:<8} {:<20} {:>10} {:>10} {:>5}  {}\n", "", "scheme",
                  "link", "way", "measure", "before", "after", "seeds", "change");
  for (const Verdict verdict : {Verdict::kWorse, Verdict::kBetter, Verdict::kSame}) {
    for (const Change& change : comparison.changes) {
      if (change.verdict != verdict || (verdict == Verdict::kSame && !all)) {
        continue;
      }
      const int decimals = change.measure->decimals;
      text += fmt::format("{:<6} {:<15} {:<24} {:<8} {:<20} {:>10} {:>10} {:>5}  {}{}\n",
                          word_of(verdict), change.key.scheme, change.key.link,
                          change.key.direction, change.measure->key, cell(change.before, decimals),
                          cell(change.after, decimals), change.after.count, change_in_words(change),
                          change.options.empty() ? "" : fmt::format("  {}", change.options));
    }
  }
  return text + fmt::format(
                    "{} worse, {} better, {} the same{}\n", count(comparison, Verdict::kWorse),
                    count(comparison, Verdict::kBetter), count(comparison, Verdict::kSame),
                    comparison.missing.empty()
                        ? ""
                        : fmt::format("; {} rows are on one side only", comparison.missing.size()));
}

std::string comparison_json(const Comparison& comparison) {
  using Json = nlohmann::ordered_json;
  const auto mean = [](const report::Sample& sample) {
    return sample.count == 0 ? Json(nullptr) : Json(sample.mean);
  };
  Json changes = Json::array();
  for (const Change& change : comparison.changes) {
    Json object{{"verdict", word_of(change.verdict)},
                {"scheme", change.key.scheme},
                {"link", change.key.link},
                {"direction", change.key.direction},
                {"options", change.options},
                {"measure", change.measure->key},
                {"before", mean(change.before)},
                {"after", mean(change.after)},
                {"seeds_before", change.seeds_before},
                {"seeds_after", change.seeds_after},
                {"values_before", change.before.count},
                {"values_after", change.after.count},
                {"tolerance", change.tolerance < 0 ? Json(nullptr) : Json(change.tolerance)}};
    object["interval"] = change.interval
                             ? Json::array({change.interval->low, change.interval->high})
                             : Json(nullptr);
    changes.push_back(std::move(object));
  }
  const Json all{{"worse", count(comparison, Verdict::kWorse)},
                 {"better", count(comparison, Verdict::kBetter)},
                 {"same", count(comparison, Verdict::kSame)},
                 {"missing", comparison.missing},
                 {"changes", std::move(changes)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cress::compare
