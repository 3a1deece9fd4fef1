#pragma once

#include <optional>
#include <string>

#include "app/ui/model/link_health.hh"
#include "transport/base/time.hh"

namespace cress::ui {

/// What is wrong, mildest first: the order is the order of importance, so a later one is said
/// instead of an earlier one. What a person can mend at once (a plug, a key) goes before what only
/// the link can, and silence goes before everything.
enum class Trouble {
  kNone,
  kComputerSlow,
  kLossUp,
  kLossDown,
  kHighDelay,
  kDownlinkSlow,
  kUplinkSlow,
  kUplinkSoundOnly,  ///< too slow for any picture of ours
  kCameraLost,
  kTalkingWhileMuted,
  kSpeakerLost,
  kMicrophoneLost,
  kOutage,        ///< nothing heard for a moment
  kReconnecting,  ///< nothing heard for so long that the network is likely gone
};

enum class Tone { kGood, kNote, kWarning, kTrouble };

/// The most important trouble of these numbers. `shown` is what is said now: leaving a trouble
/// takes clearly better numbers than entering it, so that a number on the edge does not flap. Pure.
Trouble most_important(const LinkHealth& health, Trouble shown);

/// One sentence of plain words, with the number that matters. Pure.
std::string say(Trouble trouble, const LinkHealth& health);
Tone tone_of(Trouble trouble);

struct StatusLine {
  std::string text;
  Tone tone = Tone::kGood;
  friend bool operator==(const StatusLine&, const StatusLine&) = default;
};

/// Says the most important thing and sticks to it long enough to be read: a worse trouble must last
/// a moment before it is said (a second for links, 0.3 s of silence, nothing for what a person
/// does), a milder one waits until the last has stood for 3 s and been over for 1.5 s; a sentence's
/// number is renewed every 2 s, or every second where it counts seconds. Threads: none inside; one
/// owner. `now` never goes back.
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
