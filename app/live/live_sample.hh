#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "media/devices/sound_level.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/mapping/port_mapper.hh"

namespace cress::live {

struct LiveEvent {
  enum class Kind {
    kConnected,
    kUnreachable,  ///< nothing received for 3 s; the call goes on
    kReachable,
    kPathChanged,
    kEnded,       ///< the call is over; `words` give the reason. No event follows
    kDeviceLost,  ///< camera, microphone or speaker; it is tried again every 2 s
    kDeviceBack,
    kDeviceRefused,  ///< permission was denied or withdrawn; not tried again
    kNewcomerWaits,  ///< in a call of two: LiveCall::newcomer
    kNewcomerGone,
    kNotice,
  };
  Kind kind = Kind::kNotice;
  TimePoint at{};
  std::string words;  ///< for display
};
/// "connected", "unreachable", ...: for statistics.
const char* describe(LiveEvent::Kind kind);

/// The current state of a call, for a panel and for statistics. Counters are since the start of the
/// call.
struct LiveSample {
  TimePoint at{};
  bool connected = false;
  /// In a call of two: secure::Connection::code.
  std::string code{};
  /// In a call of two: datagrams pass through a relay.
  bool is_relayed = false;
  bool is_ipv6 = false;
  /// How our router lets others reach us past it; nullopt: it does not, or was not asked.
  std::optional<mapping::MappingProtocol> mapped_by{};
  DataRate forecast;       ///< of the link from here
  DataRate peer_forecast;  ///< of the link to here, as reported by the other end
  DataRate sent;           ///< over the last second, records as sent, without UDP and IP
  DataRate received;
  DataSize window;
  std::optional<Duration> rtt{};
  double loss_up = 0;
  double loss_down = 0;
  Duration unheard{};          ///< since the last authentic datagram
  Duration picture_skipped{};  ///< for this long the link had no room for any of our frames
  /// Over the last second, from their camera to here. The clocks differ: variations are exact, the
  /// minimum is assumed to be half the least round trip.
  std::optional<Duration> frame_delay_p50{};
  std::optional<Duration> frame_delay_p95{};
  uint64_t frames_captured = 0;
  uint64_t frames_coded = 0;
  uint64_t frames_late = 0;  ///< pictures replaced by newer ones before they could be encoded
  uint64_t frames_shown = 0;
  uint64_t key_frames = 0;
  uint64_t sound_played = 0;  ///< frames of 20 ms while the other end talked
  uint64_t sound_concealed = 0;
  std::optional<Duration> sound_delay{};  ///< like frame_delay: capture to loudspeaker
  double microphone_dbfs = media::kSilenceDbfs;
  double speaker_dbfs = media::kSilenceDbfs;
};

}  // namespace cress::live
