#pragma once

#include <optional>
#include <string>

#include "app/ui/model/link_health.hh"
#include "transport/base/time.hh"

namespace cress::ui {

/// Problems of a call, in ascending importance: a later one is displayed instead of an earlier one.
/// Problems that the user can fix at once (a plug, a key) rank above those of the link, and an
/// outage ranks above everything.
enum class Trouble {
  kNone,
  kComputerSlow,
  kLossUp,
  kLossDown,
  kHighDelay,
  kDownlinkSlow,
  kUplinkSlow,
  kUplinkSoundOnly,  ///< too slow for any of our video
  kCameraLost,
  kTalkingWhileMuted,
  kSpeakerLost,
  kMicrophoneLost,
  kOutage,        ///< nothing received for a moment
  kReconnecting,  ///< nothing received for so long that the network is probably down
};

enum class Tone { kGood, kNote, kWarning, kTrouble };

/// The most important problem in these numbers. `shown` is the one displayed now: leaving a problem
/// takes clearly better numbers than entering it, so that a value near the limit does not
/// oscillate. Pure.
Trouble most_important(const LinkHealth& health, Trouble shown);

/// One readable sentence, with the number that matters. Pure.
std::string say(Trouble trouble, const LinkHealth& health);
Tone tone_of(Trouble trouble);

struct StatusLine {
  std::string text;
  Tone tone = Tone::kGood;
  friend bool operator==(const StatusLine&, const StatusLine&) = default;
};

/// Selects the most important sentence and keeps it long enough to be read. A worse problem must
/// last 1 s before it is displayed: 0.3 s for an outage, 0 s for a device, for talking while muted
/// and for kReconnecting. A milder one waits until the current one was displayed for 3 s and has
/// been over for 1.5 s, except that a device that is back, unmuting and the end of kReconnecting
/// take effect at once. A sentence's number is updated every 2 s; kReconnecting's at each update.
/// Threads: none inside; one owner. `now` never goes back.
class PlainWords {
 public:
  /// Call a few times a second, or with every report.
  void update(TimePoint now, const LinkHealth& health);

  Trouble trouble() const { return trouble_; }
  const StatusLine& line() const { return line_; }

 private:
  void show(TimePoint now, Trouble trouble, const LinkHealth& health);

  Trouble trouble_ = Trouble::kNone;
  StatusLine line_;
  TimePoint shown_since_{};
  TimePoint said_at_{};
  std::optional<TimePoint> worse_since_;
  std::optional<TimePoint> milder_since_;
  bool started_ = false;
};

}  // namespace cress::ui
