#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "relay/forward/frame_kind.hh"
#include "transport/base/time.hh"

namespace cress::relay {

struct SpeakerDetectorOptions {
  /// A level louder than this counts as audible: -dBov. A quiet room's noise is at 60 to 80.
  int floor_level = 60;
  /// A member speaks if it is this many dB above that, smoothed.
  double speaking = 8;
  /// The speaker changes to a member that is this much louder for the time below, smoothed,
  double louder = 6;
  Duration louder_for = 600ms;
  /// or to any member that speaks once the speaker has been silent for this long.
  Duration silent_for = 400ms;
  /// The number of members heard at the same time: the loudest.
  size_t heard_max = 6;
};

/// Finds the active speaker from the audio levels that members send (RFC 6464), with hysteresis: a
/// cough changes nothing. Members are identified by their slots. Levels are untrusted: a member
/// that lies can become the speaker, and nothing else. Deterministic. Threads: none inside; one
/// owner. `now` never goes back.
class SpeakerDetector {
 public:
  explicit SpeakerDetector(SpeakerDetectorOptions options = {});

  /// `level`: 0 loudest .. 127.
  void handle_level(TimePoint now, size_t slot, int level);
  void forget(size_t slot);
  /// Recomputes the result; call every kStep.
  void advance(TimePoint now);
  static constexpr Duration kStep = 100ms;

  std::optional<size_t> speaker() const { return speaker_; }
  /// kTimeZero - 1h: never.
  TimePoint last_spoke(size_t slot) const { return voices_.at(slot).spoke_at; }
  /// Among the heard_max loudest members.
  bool is_heard(size_t slot) const { return (heard_ >> slot & 1U) != 0; }
  double loudness(size_t slot) const { return voices_.at(slot).loudness; }

 private:
  struct Voice {
    double loudness = 0;  // dB above the floor, smoothed over about 300 ms
    TimePoint heard_at = kTimeZero - 1h;
    TimePoint spoke_at = kTimeZero - 1h;
  };
  void choose_heard();

  SpeakerDetectorOptions options_;
  std::array<Voice, kLegsMax> voices_{};
  std::optional<size_t> speaker_;
  // The member about to replace the speaker, and since when without interruption.
  std::optional<size_t> challenger_;
  TimePoint challenges_since_ = kTimeZero;
  uint64_t heard_ = ~uint64_t{0};
};

}  // namespace cress::relay
