#include "media/playout/playout_delay.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

// The fastest delay is that of the fastest few: a single outlier does not count.
constexpr double kFadedShare = 0.005;
// Until this many frames were observed, the margin is at least margin_first.
constexpr uint64_t kFirstFrames = 25;

// At most this much of the rise of the least delay between two groups of rise_frames is
// extrapolated.
constexpr Duration kRiseMax = 20ms;
// If a group's least delay exceeds the previous group's by more than this, an outage held the
// frames up: the rise is not followed.
constexpr Duration kJumpMax = 100ms;

int64_t to_bin(Duration delay) {
  const int64_t width = PlayoutDelay::kBinWidth.count();
  return (delay.count() - (delay.count() < 0 ? width - 1 : 0)) / width;
}

}  // namespace

PlayoutDelay::PlayoutDelay(const PlayoutDelayOptions& options) : options_(options) {
  check(options.memory > 0.0 && options.memory < 1.0, "PlayoutDelay: memory out of range");
  check(options.loss_price > Duration{}, "PlayoutDelay: price out of range");
  check(Duration{} <= options.margin_min && options.margin_min <= options.margin_max,
        "PlayoutDelay: margins out of range");
}

void PlayoutDelay::reset() {
  weights_.fill(0.0);
  beyond_ = 0;
  total_ = 0;
  observed_ = 0;
  running_.reset();
  followed_.reset();
  lately_ = 0;
}

void PlayoutDelay::move_origin_down(int64_t bins) {
  const auto count = static_cast<int64_t>(kBins);
  for (int64_t i = count - 1; i >= 0; --i) {
    double& weight = weights_[static_cast<size_t>(i)];
    if (i + bins < count) {
      weights_[static_cast<size_t>(i + bins)] = weight;
    } else {
      beyond_ += weight;
    }
    weight = 0.0;
  }
  origin_ -= bins;
}

void PlayoutDelay::drop_faded() {
  size_t faded = 0;
  double share = 0.0;
  while (faded + 1 < kBins && share + weights_[faded] < kFadedShare * total_) {
    share += weights_[faded];
    ++faded;
  }
  if (faded == 0) {
    return;
  }
  std::rotate(weights_.begin(), weights_.begin() + static_cast<ptrdiff_t>(faded), weights_.end());
  std::fill(weights_.end() - static_cast<ptrdiff_t>(faded), weights_.end(), 0.0);
  total_ -= share;
  origin_ += static_cast<int64_t>(faded);
}

void PlayoutDelay::observe(Duration delay) {
  const int64_t bin = to_bin(delay);
  // A path of a different length: the old history is useless.
  const bool is_lost = observed_ > 0 && beyond_ > 0.5 * total_;
  if (is_lost) {
    reset();
  }
  if (observed_ == 0) {
    origin_ = bin;
  }
  for (double& weight : weights_) {
    weight *= options_.memory;
  }
  beyond_ = beyond_ * options_.memory;
  total_ = total_ * options_.memory + 1.0;
  ++observed_;
  if (bin < origin_) {
    move_origin_down(std::min(origin_ - bin, static_cast<int64_t>(kBins)));
    origin_ = bin;
  }
  if (bin - origin_ < static_cast<int64_t>(kBins)) {
    weights_[static_cast<size_t>(bin - origin_)] += 1.0;
  } else {
    beyond_ += 1.0;
  }
  drop_faded();
  if (options_.rise_frames > 0) {
    follow_rise(delay);
  }
}

void PlayoutDelay::follow_rise(Duration delay) {
  running_ = std::min(running_.value_or(delay), delay);
  if (++lately_ < options_.rise_frames) {
    return;
  }
  const bool is_stall = followed_ && *running_ > *followed_ + kJumpMax && *running_ > usual();
  if (!is_stall) {
    before_ = followed_.value_or(*running_);
    followed_ = running_;
  }
  running_.reset();
  lately_ = 0;
}

// What the fastest of the running frames is expected to need at their end, if that rises; what it
// needs so far, if it falls.
std::optional<Duration> PlayoutDelay::risen() const {
  if (!followed_) {
    return std::nullopt;
  }
  if (running_ && *running_ < *followed_) {
    return running_;
  }
  return *followed_ + 2 * std::clamp(*followed_ - before_, Duration{}, kRiseMax);
}

// The margin above the fastest with the least cost; of equals the smallest.
Duration PlayoutDelay::best_margin() const {
  const double price = static_cast<double>(options_.loss_price.count());
  double late = total_;
  double best_cost = 0.0;
  Duration best{};
  for (size_t i = 0; i < kBins; ++i) {
    late -= weights_[i];
    const Duration margin = static_cast<int64_t>(i + 1) * kBinWidth;
    const double cost = static_cast<double>(margin.count()) + price * std::max(0.0, late) / total_;
    if (i == 0 || cost < best_cost) {
      best_cost = cost;
      best = margin;
    }
  }
  return best;
}

Duration PlayoutDelay::usual() const {
  Duration margin = best_margin();
  if (observed_ < kFirstFrames) {
    margin = std::max(margin, options_.margin_first);
  }
  return *fastest() + std::clamp(margin, options_.margin_min, options_.margin_max);
}

std::optional<Duration> PlayoutDelay::target() const {
  if (!fastest()) {
    return std::nullopt;
  }
  const auto lately = risen();
  return lately ? std::max(usual(), *lately + options_.margin_min) : usual();
}

std::optional<Duration> PlayoutDelay::fastest() const {
  if (observed_ == 0) {
    return std::nullopt;
  }
  return origin_ * kBinWidth;
}

}  // namespace cress::media
