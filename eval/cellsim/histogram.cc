#include "eval/cellsim/histogram.hh"

#include <algorithm>
#include <cmath>

namespace cress::cellsim {

int64_t& Histogram::bin_of(Duration value) {
  const Duration bounded =
      std::clamp(value, Duration{}, std::max(options_.value_max - Duration{1}, Duration{}));
  const auto index = static_cast<size_t>(bounded / options_.bin);
  if (index >= bins_.size()) {
    bins_.resize(index + 1);
  }
  return bins_[index];
}

void Histogram::add(Duration value, int64_t weight) {
  bin_of(value) += weight;
  total_ += weight;
  max_ = std::max(max_, std::min(value, options_.value_max));
}

void Histogram::add_rise(Duration low, Duration high) {
  low = std::max(low, Duration{});
  while (low < high) {
    const Duration bin_end = (low / options_.bin + 1) * options_.bin;
    const bool is_last = low >= options_.value_max - options_.bin;
    const Duration end = is_last ? high : std::min(high, bin_end);
    add(low, (end - low).count());
    max_ = std::max(max_, std::min(end, options_.value_max));
    low = end;
  }
}

std::optional<Duration> Histogram::quantile(double q) const {
  if (total_ == 0) {
    return std::nullopt;
  }
  const double wanted = q * static_cast<double>(total_);
  double below = 0;
  for (size_t i = 0; i < bins_.size(); ++i) {
    const auto weight = static_cast<double>(bins_[i]);
    if (weight > 0 && below + weight >= wanted) {
      const double share = (wanted - below) / weight;
      const Duration start = static_cast<int64_t>(i) * options_.bin;
      const auto into =
          static_cast<int64_t>(std::llround(share * static_cast<double>(options_.bin.count())));
      return std::min(start + Duration{into}, max_);
    }
    below += weight;
  }
  return max_;
}

}  // namespace cress::cellsim
