#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "eval/metrics/window.hh"
#include "transport/base/time.hh"

/// What the viewer saw (docs/method.md): how old the picture was, how often it froze, how good it
/// was while displayed. Threads: pure functions.
namespace cress::metrics {

/// One displayed frame, compared with its original (picture_quality.hh). Frames that were never
/// displayed are not listed. Any order. Always list the whole run's, not only the window's: the
/// picture on screen at the window's start was displayed before it.
struct ShownFrame {
  TimePoint captured{};
  TimePoint displayed{};
  double ssim = 0.0;  ///< -1..1, 1 for equal pictures; linear, not dB
  double psnr_db = 0.0;
};

/// delay_quantile (delay_over_time.hh) with capture times for sent and display times for arrived.
std::optional<Duration> frame_delay_quantile(std::span<const ShownFrame> frames, Window window,
                                             double q);

/// Gaps between displayed frames that are long for their rate, and the sum of their lengths: W3C
/// webrtc-stats, `freezeCount` and `totalFreezesDuration`. Differs from W3C: gaps cut by the
/// window's ends count too. The rule is in docs/method.md, "Freezes".
struct Freezes {
  int64_t count = 0;
  Duration frozen{};
  friend bool operator==(const Freezes&, const Freezes&) = default;
};
Freezes freezes(std::span<const ShownFrame> frames, Window window);

/// Means over the frames, weighted by the time each was displayed inside the window: from its
/// display to the next one's. SSIM is averaged linearly, then converted to dB; PSNR is averaged in
/// dB.
struct MeanQuality {
  double ssim = 0.0;
  double ssim_db = 0.0;
  double psnr_db = 0.0;
  /// The part of the window in which anything was on screen.
  Duration on_screen{};
};
/// nullopt if no frame was on screen in the window.
std::optional<MeanQuality> mean_quality(std::span<const ShownFrame> frames, Window window);

}  // namespace cress::metrics
