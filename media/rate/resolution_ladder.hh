#pragma once

#include "transport/base/time.hh"

namespace cress::media {

/// Encoded sizes, finest first: full size, 3/4, 1/2 of its sides.
inline constexpr int kResolutionRungs = 3;

struct ResolutionLadderOptions {
  /// A frame counts as in need if it was skipped or is at least this coarse: from here on the next
  /// rung shows more detail for the same bytes.
  int need_quantizer = 56;
  /// A frame counts as at ease if it is at most this coarse: one rung up it would be at about 45.
  int ease_quantizer = 28;
  /// Need must have filled this much of the recent past; ease must have filled the time below.
  Duration need_time = 1s;
  Duration ease_time = 3s;
  /// The minimum time between two steps, in either direction.
  Duration dwell_min = 4s;
  /// A step up that is undone within this time doubles the dwell before the next step up, ...
  Duration relapse_time = 15s;
  /// ... up to this.
  Duration dwell_max = 64s;
};

/// Decides which encoded size the budgets of the last seconds can carry. A change costs a key
/// frame, so the result changes rarely, and a budget that varies around a limit does not make it
/// oscillate. Threads: none inside; one owner.
class ResolutionLadder {
 public:
  explicit ResolutionLadder(const ResolutionLadderOptions& options = {});

  /// The outcome of one picture: skipped because nothing fitted, or encoded at `quantizer`. If it
  /// is in need, its time counts `need_weight` (0..1) times. `now` never goes back.
  void handle_frame(TimePoint now, bool skipped, int quantizer, double need_weight = 1);
  /// The wanted rung, at most one from the current one.
  int wanted() const { return wanted_; }
  int rung() const { return rung_; }
  /// The wanted step would not help with this content: resets the need for it.
  void handle_refusal();
  /// A key frame of the wanted size was sent.
  void handle_step(TimePoint now);
  /// Since when the wanted rung has differed from the current one.
  TimePoint wanted_since() const { return wanted_since_; }

 private:
  ResolutionLadderOptions options_;
  int rung_ = 0;
  int wanted_ = 0;
  TimePoint wanted_since_{};
  // Exponentially weighted shares of time in need and at ease.
  double need_ = 0;
  double ease_ = 0;
  bool started_ = false;
  TimePoint last_frame_{};
  TimePoint last_step_{};
  bool last_step_up_ = false;
  Duration dwell_up_;
};

}  // namespace cress::media
