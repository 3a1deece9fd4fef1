#pragma once

#include "transport/base/time.hh"

namespace cress::media {

/// ITU-R BT.1359-1: the offset that viewers begin to notice. The tolerance for early audio is
/// smaller than for late audio, as in nature light arrives before sound.
inline constexpr Duration kSoundAheadMax = 45ms;
inline constexpr Duration kSoundBehindMax = 125ms;

struct AvSyncOptions {
  /// Speech is delayed for the video by at most this: conversation depends on audio, and every
  /// millisecond of delay makes people interrupt each other more.
  Duration sound_hold_max = 40ms;
  /// Video may be delayed longer for the audio.
  Duration picture_hold_max = 200ms;
};

/// Additional delay before each is played or displayed. At most one of the two is not zero.
struct AvHold {
  Duration sound{};
  Duration picture{};
  friend bool operator==(const AvHold&, const AvHold&) = default;
};

/// `sound`, `picture`: delays from capture to ear and to screen without any hold, by the same two
/// clocks. Within the tolerance nothing is held; beyond it the earlier one is held just long enough
/// to meet the tolerance, or up to its bound. A hold changes by no more than the delays do: no
/// jumps.
AvHold av_hold(Duration sound, Duration picture, const AvSyncOptions& options = {});

/// The same over time, for delays that jump from frame to frame: both are averaged over about a
/// second before they are compared. Threads: none inside; one owner.
class AvSync {
 public:
  explicit AvSync(const AvSyncOptions& options = {}) : options_(options) {}

  /// An audio frame was played `delay` after its capture, including a hold of `held`.
  void handle_sound(Duration delay, Duration held) { sound_.add(delay - held); }
  /// The same for a video frame.
  void handle_picture(Duration delay, Duration held) { picture_.add(delay - held); }
  /// Nothing is held before both have been observed.
  AvHold hold() const;

 private:
  class Average {
   public:
    void add(Duration value);
    bool has_value() const { return count_ > 0; }
    Duration value() const { return value_; }

   private:
    static constexpr int64_t kFrames = 32;  // about a second of either
    Duration value_{};
    int64_t count_ = 0;
  };

  AvSyncOptions options_;
  Average sound_;
  Average picture_;
};

}  // namespace cress::media
