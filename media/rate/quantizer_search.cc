#include "media/rate/quantizer_search.hh"

#include <algorithm>
#include <cmath>

#include "media/rate/quantizer_model.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

// Whatever two attempts on one picture show, log2(size) falls by this much per doubling of the
// step.
constexpr double kSlopeMin = 0.5;
constexpr double kSlopeMax = 4.0;
// The uncertainty of the slope: an attempt far from the last one stays below the budget by this
// share of the distance.
constexpr double kSlopeDoubt = 0.06;

double log_step(int quantizer) { return std::log2(static_cast<double>(quantizer_step(quantizer))); }

double log_bytes(DataSize size) { return std::log2(static_cast<double>(size.bytes())); }

}  // namespace

QuantizerSearch::QuantizerSearch(const QuantizerSearchOptions& options, DataSize budget,
                                 const LogSizes& expected)
    : options_(options), budget_(budget), expected_(expected) {
  check(0 <= options.quantizer_min && options.quantizer_min <= options.quantizer_max &&
            options.quantizer_max <= kQuantizerMax && options.attempts_max > 0,
        "QuantizerSearch: options out of range");
  check(budget > DataSize{0}, "QuantizerSearch: no budget");
  log_budget_ = log_bytes(budget);
}

std::optional<int> QuantizerSearch::next() const {
  if (attempts_.empty()) {
    return finest_within(log_budget_ + std::log2(options_.first_aim));
  }
  if (attempts_.size() >= static_cast<size_t>(options_.attempts_max)) {
    return std::nullopt;
  }
  // Only quantizers between the coarsest that was too large and the finest that fitted remain.
  int low = options_.quantizer_min - 1;
  int high = options_.quantizer_max + 1;
  DataSize used{0};
  for (const Attempt& attempt : attempts_) {
    if (attempt.size > budget_) {
      low = std::max(low, attempt.quantizer);
    } else if (attempt.quantizer < high) {
      high = attempt.quantizer;
      used = attempt.size;
    }
  }
  const bool fits = used > DataSize{0};
  const double good =
      options_.good_share - options_.good_share_fall * static_cast<double>(attempts_.size() - 1);
  const double share = static_cast<double>(used.bytes()) / static_cast<double>(budget_.bytes());
  if (high - low < 2 || (fits && share >= good)) {
    return std::nullopt;
  }
  const double way = std::abs(log_budget_ - log_bytes(attempts_.back().size));
  const double limit = log_budget_ + std::log2(options_.next_aim) - kSlopeDoubt * way;
  const int wanted = finest_within(limit);
  if (fits && wanted >= high) {
    return std::nullopt;  // the next finer one is expected to be too large
  }
  return std::clamp(wanted, low + 1, high - 1);
}

void QuantizerSearch::handle_attempt(int quantizer, DataSize size) {
  check(size > DataSize{0} && quantizer >= 0 && quantizer <= kQuantizerMax,
        "QuantizerSearch: impossible attempt");
  attempts_.push_back({quantizer, size});
}

std::optional<size_t> QuantizerSearch::best() const {
  std::optional<size_t> best;
  for (size_t i = 0; i < attempts_.size(); ++i) {
    if (attempts_[i].size <= budget_ &&
        (!best || attempts_[i].quantizer < attempts_[*best].quantizer)) {
      best = i;
    }
  }
  return best;
}

// Through the last attempt, with the slope of the last two or otherwise the model's.
double QuantizerSearch::expected_at(int quantizer) const {
  const double prior = expected_.at(static_cast<size_t>(quantizer));
  if (attempts_.empty()) {
    return prior;
  }
  const Attempt& last = attempts_.back();
  const double seen = log_bytes(last.size);
  if (attempts_.size() == 1) {
    return seen + prior - expected_.at(static_cast<size_t>(last.quantizer));
  }
  const Attempt& before = attempts_[attempts_.size() - 2];
  const double slope = std::clamp(
      (log_bytes(before.size) - seen) / (log_step(last.quantizer) - log_step(before.quantizer)),
      kSlopeMin, kSlopeMax);
  return seen - slope * (log_step(quantizer) - log_step(last.quantizer));
}

int QuantizerSearch::finest_within(double log_limit) const {
  for (int quantizer = options_.quantizer_min; quantizer < options_.quantizer_max; ++quantizer) {
    if (expected_at(quantizer) <= log_limit) {
      return quantizer;
    }
  }
  return options_.quantizer_max;
}

}  // namespace cress::media
