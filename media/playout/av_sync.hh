#pragma once

#include "transport/base/time.hh"

namespace cress::media {

/// ITU-R BT.1359-1: what viewers begin to notice. Sound may be ahead of the picture by less than it
/// may be behind, as light is faster than sound in nature too.
inline constexpr Duration kSoundAheadMax = 45ms;
inline constexpr Duration kSoundBehindMax = 125ms;

struct AvSyncOptions {
  /// Speech waits for the picture no longer than this: people talk by sound, and every millisecond
  /// of it makes them interrupt each other more.
  Duration sound_hold_max = 40ms;
  /// The picture may wait longer for the sound.
  Duration picture_hold_max = 200ms;
};

/// How much longer than by itself each should be held before it is played or shown. At most one of
/// the two is not zero.
struct AvHold {
  Duration sound{};
  Duration picture{};
  friend bool operator==(const AvHold&, const AvHold&) = default;
};

/// `sound`, `picture`: from capture to ear and to screen without any hold, by the same two clocks.
/// Within the tolerance nothing is held; beyond it the earlier one is held just so long that the
/// tolerance is met, or to its bound. A hold changes by no more than the delays do: no jumps.
AvHold av_hold(Duration sound, Duration picture, const AvSyncOptions& options = {});

/// The same over time, from delays that jump from frame to frame: both are averaged over about a
/// second before they are compared. Threads: none inside; one owner.
class AvSync {
 public:
  explicit AvSync(const AvSyncOptions& options = {}) : options_(options) {}

  /// A frame of sound was played `delay` after its capture, of which it was held for `held`.
  void handle_sound(Duration delay, Duration held) { sound_.add(delay - held); }
  /// The same for a picture.
  void handle_picture(Duration delay, Duration held) { picture_.add(delay - held); }
  /// Nothing is held before both have been seen.
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
