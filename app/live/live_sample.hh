#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "media/devices/sound_level.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::live {

struct LiveEvent {
  enum class Kind {
    kConnected,
    kUnreachable,  ///< nothing heard for 3 s; the call goes on
    kReachable,
    kPathChanged,
    kEnded,       ///< the call is over; `words` say why. Nothing comes after it
    kDeviceLost,  ///< camera, microphone or speaker; it is tried again every 2 s
    kDeviceBack,
    kDeviceRefused,  ///< what somebody must allow, and did not or does no longer; not tried again
    kNotice,
  };
  Kind kind = Kind::kNotice;
  TimePoint at{};
  std::string words;  ///< for people
};
/// "connected", "unreachable", ...: for statistics.
const char* describe(LiveEvent::Kind kind);

/// What a call is like now, for a panel and for statistics. Counters are since the call's begin.
struct LiveSample {
  TimePoint at{};
  bool connected = false;
  DataRate forecast;       ///< of the link from here
  DataRate peer_forecast;  ///< of the link to here, as the other end says
  DataRate sent;           ///< over the last second, records as they leave, without UDP and IP
  DataRate received;
  DataSize window;
  std::optional<Duration> rtt{};
  double loss_up = 0;
  double loss_down = 0;
  Duration unheard{};          ///< since the last authentic datagram
  Duration picture_skipped{};  ///< for so long the link had no room for any picture of ours
  /// Of the last second, from their camera to here. Two clocks: what varies is exact, the least is
  /// taken to be half the least round trip.
  std::optional<Duration> frame_delay_p50{};
  std::optional<Duration> frame_delay_p95{};
  uint64_t frames_captured = 0;
  uint64_t frames_coded = 0;
  uint64_t frames_late = 0;  ///< replaced by newer ones before there was time to code them
  uint64_t frames_shown = 0;
  uint64_t key_frames = 0;
  uint64_t sound_played = 0;  ///< frames of 20 ms while the other end talked
  uint64_t sound_concealed = 0;
  std::optional<Duration> sound_delay{};  ///< as frame_delay: capture to loudspeaker
  double microphone_dbfs = media::kSilenceDbfs;
  double speaker_dbfs = media::kSilenceDbfs;
};

}  // namespace cress::live
