#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/base/time.hh"

namespace cress::media {

struct PlayoutDelayOptions {
  /// The cost of lost audio in terms of delay: with 2 s, a later playout must save one frame in a
  /// hundred for every 20 ms of delay. With exponential jitter of mean m this is the quantile 1 - m
  /// / loss_price: 99 % for 20 ms, 95 % for 100 ms. Unlike a fixed quantile it does not follow an
  /// outage, whose audio no acceptable delay could save.
  Duration loss_price = 2s;
  /// The minimum above the fastest frame.
  Duration margin_min = 10ms;
  /// The maximum above the fastest frame, unless rise_frames asks for more.
  Duration margin_max = 400ms;
  /// The least margin of the first half second, before there is a history.
  Duration margin_first = 30ms;
  /// Weight of the past after one more frame; .998: the weight halves in 7 s.
  double memory = 0.998;
  /// The target is also at least margin_min above the least delay in the last group of this many
  /// frames, plus twice its rise since the group before: a queue that others fill grows before the
  /// history follows. A jump, as at an outage, is not followed. 0: off.
  uint64_t rise_frames = 0;
};

/// How long after its capture a frame of audio or video should be played, learned from its arrival
/// delays: the delay with the least total cost of delay and late frames, by a histogram with
/// exponential forgetting. Delays are differences of the receiver's and the sender's clock, so any
/// offset between the two is included and harmless; drift of the clocks is slower than the
/// forgetting. Shape: kBins bins of kBinWidth from the fastest delay remembered; frames beyond that
/// count as late in any case. Threads: none inside; one owner.
class PlayoutDelay {
 public:
  static constexpr Duration kBinWidth = 5ms;
  static constexpr size_t kBins = 128;

  explicit PlayoutDelay(const PlayoutDelayOptions& options = {});

  /// A frame could be played from `delay` after its capture on: its packet arrived then, or a later
  /// packet with a copy of it.
  void observe(Duration delay);
  /// Resets all state: another path, another sender.
  void reset();

  /// nullopt before the first frame.
  std::optional<Duration> target() const;
  /// The smallest delay remembered (except for a few outliers), to a bin's width.
  std::optional<Duration> fastest() const;

 private:
  void move_origin_down(int64_t bins);
  void drop_faded();
  Duration best_margin() const;
  void follow_rise(Duration delay);
  std::optional<Duration> risen() const;
  /// By the whole history. Not before the first frame.
  Duration usual() const;

  PlayoutDelayOptions options_;
  std::array<double, kBins> weights_{};
  double beyond_ = 0;
  double total_ = 0;
  int64_t origin_ = 0;  // of bin 0, in bins
  uint64_t observed_ = 0;
  // The least delay in a group of rise_frames: the group so far, the last complete one, and the one
  // before that. A group that jumps is left out.
  std::optional<Duration> running_;
  std::optional<Duration> followed_;
  Duration before_{};
  uint64_t lately_ = 0;
};

}  // namespace cress::media
