#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "eval/metrics/window.hh"
#include "media/source/video_source.hh"

namespace cress::harness {

/// How close the screen is to what a viewer could expect to see (docs/method.md, "Live quality"):
/// the SSIM of what is on the screen at t with the camera's picture of t - kLiveDelay, or with the
/// frame's own original while the frame was captured after that; averaged over time. Blur,
/// staleness and stillness all lower it. While nothing was displayed yet it is 0.
/// Bounds: frames that wait for their time on the screen, a few. Threads: none inside; one owner.
class LiveQuality {
 public:
  /// ITU-T G.114: a conversation does not notice one-way delays up to this.
  static constexpr Duration kLiveDelay = 150ms;

  /// `camera` is borrowed and outlives this.
  LiveQuality(metrics::Window window, media::VideoSource& camera)
      : window_(window), camera_(camera), scored_to_(window.from) {}

  struct Frame {
    uint64_t number = 0;  ///< of the camera's picture
    TimePoint captured{};
    TimePoint displayed{};
    double ssim = 0;  ///< with its own original
    media::PicturePtr picture;
  };
  /// In the order of display.
  void note(Frame frame);
  /// All frames displayed before `now` were noted.
  void advance(TimePoint now);
  /// Over the window, linear, not dB. After advance(window.to).
  double mean_ssim() const;

 private:
  void score(const Frame& frame, TimePoint until);

  metrics::Window window_;
  media::VideoSource& camera_;
  std::optional<Frame> on_screen_;
  std::deque<Frame> coming_;
  TimePoint scored_to_;
  double ssim_seconds_ = 0;
};

}  // namespace cress::harness
