#include "eval/harness/live_quality.hh"

#include <algorithm>
#include <utility>

#include "eval/metrics/picture_quality.hh"
#include "transport/base/check.hh"

namespace cress::harness {

void LiveQuality::note(Frame frame) { coming_.push_back(std::move(frame)); }

void LiveQuality::advance(TimePoint now) {
  const TimePoint end = std::min(now, window_.to);
  while (scored_to_ < end) {
    while (!coming_.empty() && coming_.front().displayed <= scored_to_) {
      on_screen_ = std::move(coming_.front());
      coming_.pop_front();
    }
    const TimePoint until = coming_.empty() ? end : std::min(end, coming_.front().displayed);
    if (on_screen_) {
      score(*on_screen_, until);
    }
    scored_to_ = until;
  }
}

/// From scored_to_ to `until`, in which `frame` is on the screen.
void LiveQuality::score(const Frame& frame, TimePoint until) {
  // The camera's picture k is of start + time_of(k).
  const media::FrameRate rate = camera_.frame_rate();
  const TimePoint start = frame.captured - rate.time_of(frame.number);
  // The newest picture that the viewer could expect at scored_to_, or later where the frame on the
  // screen is newer.
  const Duration age = scored_to_ - kLiveDelay - start;
  uint64_t expected = frame.number;
  if (age > Duration{}) {
    const auto guess = static_cast<uint64_t>(static_cast<__int128>(age.count()) * rate.numerator /
                                             rate.denominator / 1'000'000'000);
    expected = std::max(expected, guess);
  }
  for (TimePoint at = scored_to_; at < until; ++expected) {
    const TimePoint next = std::max(at, start + rate.time_of(expected + 1) + kLiveDelay);
    const TimePoint to = std::min(until, next);
    if (to > at) {
      const double ssim = expected == frame.number
                              ? frame.ssim
                              : metrics::ssim(*frame.picture, *camera_.picture(expected));
      ssim_seconds_ += ssim * to_seconds(to - at);
      at = to;
    }
  }
}

double LiveQuality::mean_ssim() const {
  check(scored_to_ >= window_.to, "LiveQuality: advance to the window's end");
  return ssim_seconds_ / to_seconds(window_.length());
}

}  // namespace cress::harness
