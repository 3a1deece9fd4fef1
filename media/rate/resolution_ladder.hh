#pragma once

#include "transport/base/time.hh"

namespace cress::media {

/// Coded sizes, finest first: the whole picture, 3/4, 1/2 of its sides.
inline constexpr int kResolutionRungs = 3;

struct ResolutionLadderOptions {
  /// A frame is in need when it was skipped or is at least this coarse: from here on the next rung
  /// shows more for the same bytes.
  int need_quantizer = 56;
  /// A frame is at ease when it is at most this coarse: one rung up it would be at about 45.
  int ease_quantizer = 28;
  /// Need must have filled this much of the recent past, ease of the less recent.
  Duration need_time = 1s;
  Duration ease_time = 3s;
  /// No step sooner than this after the last one, whichever way.
  Duration dwell_min = 4s;
  /// A step up that need takes back within this time doubles the dwell before the next step up, ...
  Duration relapse_time = 15s;
  /// ... up to this.
  Duration dwell_max = 64s;
};

/// Which coded size the budgets of the last seconds can carry. A change costs a key frame, so the
/// answer changes seldom, and a budget that wanders about a limit does not make it flap.
/// Threads: none inside; one owner.
class ResolutionLadder {
 public:
  explicit ResolutionLadder(const ResolutionLadderOptions& options = {});

  /// One picture's fate: skipped because nothing fitted, or coded at `quantizer`. `now` never goes
  /// back.
  void handle_frame(TimePoint now, bool skipped, int quantizer);
  /// The rung that is wanted, one from the present one at most.
  int wanted() const { return wanted_; }
  int rung() const { return rung_; }
  /// The step that is wanted would not help with these pictures: forgets the need for it.
  void handle_refusal();
  /// A key frame of the wanted size was sent.
  void handle_step(TimePoint now);
  /// Since when the wanted rung is another than the present one.
  TimePoint wanted_since() const { return wanted_since_; }

 private:
  ResolutionLadderOptions options_;
  int rung_ = 0;
  int wanted_ = 0;
  TimePoint wanted_since_{};
  // Shares of time in need and at ease, forgotten exponentially.
  double need_ = 0;
  double ease_ = 0;
  bool started_ = false;
  TimePoint last_frame_{};
  TimePoint last_step_{};
  bool last_step_up_ = false;
  Duration dwell_up_;
};

}  // namespace cress::media
