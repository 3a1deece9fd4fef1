#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/base/time.hh"

namespace cress::media {

struct AudioDelayOptions {
  /// What a lost share of the sound is worth in delay: with 2 s, a later playout must save one
  /// frame in a hundred for every 20 ms that it costs. With exponential jitter of mean m this is
  /// the quantile 1 - m / loss_price: 99 % for 20 ms, 95 % for 100 ms. Unlike a fixed quantile it
  /// does not follow an outage, whose sound no bearable delay would save.
  Duration loss_price = 2s;
  /// Above the fastest frame, always.
  Duration margin_min = 20ms;
  /// Never more than this above the fastest frame.
  Duration margin_max = 400ms;
  /// Weight of the past after one more frame; .998: half is forgotten in 7 s.
  double memory = 0.998;
};

/// How long after its capture sound should be played, learnt from how long after its capture it
/// came: the delay that costs least in delay and in late frames together, by a histogram that
/// forgets. Delays are differences of the receiver's and the sender's clock, so any offset between
/// the two is part of them and does no harm; drift of the clocks is slower than the forgetting.
/// Shape: kBins bins of kBinWidth from the fastest delay remembered; what is beyond counts as late
/// whatever is done.
/// Threads: none inside; one owner.
class AudioDelay {
 public:
  static constexpr Duration kBinWidth = 5ms;
  static constexpr size_t kBins = 128;

  explicit AudioDelay(const AudioDelayOptions& options = {});

  /// A frame could be played from `delay` after its capture on: when its packet arrived, or a later
  /// one with a copy of it.
  void observe(Duration delay);
  /// Forgets everything: another path, another sender.
  void reset();

  /// nullopt before the first frame.
  std::optional<Duration> target() const;
  /// The fastest delay remembered (but for a few lucky frames), to a bin's width.
  std::optional<Duration> fastest() const;

 private:
  void move_origin_down(int64_t bins);
  void drop_faded();
  Duration best_margin() const;

  AudioDelayOptions options_;
  std::array<double, kBins> weights_{};
  double beyond_ = 0;
  double total_ = 0;
  int64_t origin_ = 0;  // of bin 0, in bins
  uint64_t observed_ = 0;
};

}  // namespace cress::media
