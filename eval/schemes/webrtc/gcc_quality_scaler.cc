#include "eval/schemes/webrtc/gcc_quality_scaler.hh"

#include <algorithm>
#include <array>
#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

struct Share {
  int part;
  int whole;
};
// libwebrtc: by 3/4 and 2/3 alternately.
constexpr std::array kSteps = {Share{1, 1}, Share{3, 4}, Share{1, 2}, Share{3, 8}, Share{1, 4}};

}  // namespace

int gcc_quantizer_index(int quantizer) {
  // libvpx's table in three linear pieces.
  constexpr int kSecond = 27;
  constexpr int kThird = 42;
  if (quantizer < kSecond) {
    return quantizer + 5;
  }
  return quantizer < kThird ? 33 + 2 * (quantizer - kSecond) : 64 + 3 * (quantizer - kThird);
}

GccQualityScaler::GccQualityScaler(TimePoint start, GccPictureSize full,
                                   const GccQualityScalerOptions& options)
    : full_(full), options_(options), next_look_(start + options.period) {
  check(full.width > 0 && full.height > 0 && options.period > Duration{} &&
            options.later_period > Duration{} && options.low < options.high &&
            options.frames_min > 0 && std::cmp_less_equal(options.frames_min, options.frames_max),
        "GccQualityScaler: out of range");
}

GccPictureSize GccQualityScaler::size_at(int step) const {
  const Share share = kSteps[static_cast<size_t>(step)];
  if (share.part == share.whole) {
    return full_;
  }
  const auto side = [share](int full) {
    return std::max(2, full * share.part / share.whole / 2 * 2);
  };
  return {side(full_.width), side(full_.height)};
}

GccPictureSize GccQualityScaler::size() const { return size_at(step_); }

void GccQualityScaler::handle_coded(TimePoint now, int quantizer) {
  add(now, {.index = gcc_quantizer_index(quantizer), .dropped = false});
}

void GccQualityScaler::handle_dropped(TimePoint now) { add(now, {.index = 0, .dropped = true}); }

void GccQualityScaler::add(TimePoint now, Seen seen) {
  seen_.push_back(seen);
  if (seen_.size() > options_.frames_max) {
    seen_.pop_front();
  }
  if (now >= next_look_) {
    look(now);
    next_look_ = now + (went_down_ ? options_.later_period : options_.period);
  }
}

void GccQualityScaler::go_to(int step) {
  const GccPictureSize size = size_at(step);
  if (static_cast<int64_t>(size.width) * size.height < options_.pixels_min) {
    return;
  }
  went_down_ = went_down_ || step > step_;
  step_ = step;
  seen_.clear();
}

void GccQualityScaler::look(TimePoint /*now*/) {
  if (std::cmp_less(seen_.size(), options_.frames_min)) {
    return;
  }
  int64_t dropped = 0;
  int64_t sum = 0;
  for (const Seen& seen : seen_) {
    dropped += seen.dropped ? 1 : 0;
    sum += seen.index;
  }
  const int64_t coded = std::ssize(seen_) - dropped;
  const double mean = coded > 0 ? static_cast<double>(sum) / static_cast<double>(coded) : 0;
  const double dropped_percent =
      100.0 * static_cast<double>(dropped) / static_cast<double>(seen_.size());
  if (dropped_percent >= options_.dropped_percent || mean > options_.high) {
    if (step_ + 1 < std::ssize(kSteps)) {
      go_to(step_ + 1);
    }
  } else if (mean <= options_.low && step_ > 0) {
    go_to(step_ - 1);
  }
}

}  // namespace cress::schemes
