#include "app/ui/model/plain_words.hh"

#include <fmt/format.h>

#include <array>

#include "app/ui/model/format.hh"

namespace cress::ui {
namespace {

constexpr DataRate kbps(int64_t n) { return DataRate::kilobits_per_second(n); }

// A video of 320 x 240 at a few frames per second is useful from about 300 kbit/s with audio; below
// 80 there is room for audio and an occasional still. Leaving takes half as much again.
constexpr DataRate kSlowEnter = kbps(300);
constexpr DataRate kSlowLeave = kbps(450);
constexpr DataRate kSoundOnlyEnter = kbps(80);
constexpr DataRate kSoundOnlyLeave = kbps(120);
constexpr Duration kSkippedEnter = 2s;
constexpr Duration kSkippedLeave = 500ms;
// ITU-T G.114: conversation suffers from 400 ms one way.
constexpr Duration kDelayEnter = 400ms;
constexpr Duration kDelayLeave = 300ms;
// Below 5 % parity and Opus's copies conceal the losses.
constexpr double kLossEnter = 0.05;
constexpr double kLossLeave = 0.03;
constexpr double kLateEnter = 0.20;
constexpr double kLateLeave = 0.10;
// A working link delivers at least every 200 ms, also in silence.
constexpr Duration kOutageEnter = 600ms;
constexpr Duration kOutageLeave = 300ms;
constexpr Duration kReconnectingEnter = 3s;

constexpr Duration kStands = 3s;
constexpr Duration kOver = 1500ms;
constexpr Duration kRenew = 2s;

bool holds(Trouble trouble, const LinkHealth& h, bool shown) {
  switch (trouble) {
    case Trouble::kNone:
      return true;
    case Trouble::kComputerSlow:
      return h.late_pictures >= (shown ? kLateLeave : kLateEnter);
    case Trouble::kLossUp:
      return h.loss_up >= (shown ? kLossLeave : kLossEnter);
    case Trouble::kLossDown:
      return h.loss_down >= (shown ? kLossLeave : kLossEnter);
    case Trouble::kHighDelay:
      return h.one_way_delay >= (shown ? kDelayLeave : kDelayEnter);
    case Trouble::kDownlinkSlow:
      return h.downlink_forecast < (shown ? kSlowLeave : kSlowEnter);
    case Trouble::kUplinkSlow:
      return h.uplink_forecast < (shown ? kSlowLeave : kSlowEnter);
    case Trouble::kUplinkSoundOnly:
      return h.uplink_forecast < (shown ? kSoundOnlyLeave : kSoundOnlyEnter) ||
             h.picture_skipped >= (shown ? kSkippedLeave : kSkippedEnter);
    case Trouble::kCameraLost:
      return h.camera_lost;
    case Trouble::kTalkingWhileMuted:
      return h.muted && h.speaking;
    case Trouble::kSpeakerLost:
      return h.speaker_lost;
    case Trouble::kMicrophoneLost:
      return h.microphone_lost;
    case Trouble::kOutage:
      return h.outage >= (shown ? kOutageLeave : kOutageEnter);
    case Trouble::kReconnecting:
      return h.outage >= (shown ? kOutageLeave : kReconnectingEnter);
  }
  return false;
}

// How long a problem must last before it is displayed.
Duration patience(Trouble trouble) {
  switch (trouble) {
    case Trouble::kCameraLost:
    case Trouble::kSpeakerLost:
    case Trouble::kMicrophoneLost:
    case Trouble::kTalkingWhileMuted:
    case Trouble::kReconnecting:
      return 0ms;
    case Trouble::kOutage:
      return 300ms;
    default:
      return 1s;
  }
}

std::string from_peer(const LinkHealth& h) {
  return h.peer_name.empty() ? "them" : short_name(h.peer_name);
}

// Whole seconds, rounded down: a count that goes up.
int64_t seconds(Duration d) { return std::chrono::floor<std::chrono::seconds>(d).count(); }

}  // namespace

Trouble most_important(const LinkHealth& health, Trouble shown) {
  for (int i = static_cast<int>(Trouble::kReconnecting); i > 0; --i) {
    const auto trouble = static_cast<Trouble>(i);
    if (holds(trouble, health, trouble == shown)) {
      return trouble;
    }
  }
  return Trouble::kNone;
}

std::string say(Trouble trouble, const LinkHealth& h) {
  switch (trouble) {
    case Trouble::kNone:
      return "The link is good.";
    case Trouble::kComputerSlow:
      return "This computer is too busy for the picture; closing other programs helps.";
    case Trouble::kLossUp:
      return fmt::format("{} of what you send is lost on the way; Cress repairs what it can.",
                         format_share(h.loss_up));
    case Trouble::kLossDown:
      return fmt::format("{} of what {} sends is lost on the way; Cress repairs what it can.",
                         format_share(h.loss_down),
                         h.peer_name.empty() ? "the other side" : short_name(h.peer_name));
    case Trouble::kHighDelay:
      return fmt::format("What you hear is {} old: leave pauses when you talk.",
                         format_delay(h.one_way_delay));
    case Trouble::kDownlinkSlow:
      return fmt::format("The link from {} is down to {}; sound first.", from_peer(h),
                         format_rate(h.downlink_forecast));
    case Trouble::kUplinkSlow:
      return fmt::format("Your uplink is down to {}; sound first.", format_rate(h.uplink_forecast));
    case Trouble::kUplinkSoundOnly:
      return fmt::format("Your uplink is down to {}; only sound goes.",
                         format_rate(h.uplink_forecast));
    case Trouble::kCameraLost:
      return "The camera is gone; plug it in or choose another.";
    case Trouble::kTalkingWhileMuted:
      return "You are muted. Press M, or hold Space while you talk.";
    case Trouble::kSpeakerLost:
      return "No speaker: you hear nothing. Plug one in or choose another.";
    case Trouble::kMicrophoneLost:
      return "No microphone: you are not heard. Plug one in or choose another.";
    case Trouble::kOutage:
      return fmt::format("Nothing comes from {}; waiting for the link.", from_peer(h));
    case Trouble::kReconnecting:
      return fmt::format("Reconnecting for {} s. The call goes on when the network is back.",
                         seconds(h.outage));
  }
  return {};
}

Tone tone_of(Trouble trouble) {
  switch (trouble) {
    case Trouble::kNone:
      return Tone::kGood;
    case Trouble::kTalkingWhileMuted:
      return Tone::kNote;
    case Trouble::kSpeakerLost:
    case Trouble::kMicrophoneLost:
    case Trouble::kOutage:
    case Trouble::kReconnecting:
      return Tone::kTrouble;
    default:
      return Tone::kWarning;
  }
}

void PlainWords::show(TimePoint now, Trouble trouble, const LinkHealth& health) {
  if (trouble != trouble_) {
    shown_since_ = now;
    worse_since_.reset();
    milder_since_.reset();
  }
  trouble_ = trouble;
  said_at_ = now;
  line_ = {say(trouble, health), tone_of(trouble)};
}

void PlainWords::update(TimePoint now, const LinkHealth& health) {
  if (!started_) {
    started_ = true;
    show(now, Trouble::kNone, health);
  }
  const Trouble next = most_important(health, trouble_);
  if (next > trouble_) {
    milder_since_.reset();
    worse_since_ = worse_since_.value_or(now);
    if (now - *worse_since_ >= patience(next)) {
      show(now, next, health);
      return;
    }
  } else if (next < trouble_) {
    worse_since_.reset();
    milder_since_ = milder_since_.value_or(now);
    // A problem that the user has just fixed disappears at once; a link's cannot.
    const bool mended = trouble_ >= Trouble::kCameraLost && trouble_ <= Trouble::kMicrophoneLost &&
                        trouble_ != Trouble::kTalkingWhileMuted;
    if (mended || trouble_ == Trouble::kReconnecting ||
        (trouble_ == Trouble::kTalkingWhileMuted && !health.muted) ||
        (now - *milder_since_ >= kOver && now - shown_since_ >= kStands)) {
      show(now, next, health);
    }
    return;
  } else {
    worse_since_.reset();
    milder_since_.reset();
  }
  const bool counts = trouble_ == Trouble::kReconnecting;
  if (next == trouble_ && (counts || now - said_at_ >= kRenew)) {
    show(now, trouble_, health);
  }
}

}  // namespace cress::ui
