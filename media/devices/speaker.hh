#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "media/devices/echo_probe.hh"
#include "media/devices/live_device.hh"
#include "media/source/audio_source.hh"
#include "transport/base/time.hh"

namespace cress::media {

struct LiveSpeakerOptions {
  /// Which speaker:
  /// - the id of a Device, or "default": a real one;
  /// - "none": discards audio, at the right rate;
  /// - "file:PATH": the same, and the played audio is written to the .wav at PATH, with silence in
  ///   gaps; complete after `finish`;
  /// - "gst:DESCRIPTION": the input of any GStreamer pipeline ("gst:alsasink device=hw:1").
  std::string id = "default";
  /// The most audio handed over ahead of its playing: the call's thread may be busy for this long
  /// without a gap. 20..200 ms.
  Duration ahead = 40ms;
};

struct SpeakerStats {
  uint64_t played = 0;
  uint64_t refused = 0;    ///< frames handed over when none was wanted
  uint64_t underruns = 0;  ///< times when a frame arrived too late
  Duration missing{};      ///< silence played because no frame was there
  friend bool operator==(const SpeakerStats&, const SpeakerStats&) = default;
};

/// A loudspeaker in a call. It sets the pace: it signals when it needs 20 ms, and needs them within
/// `ahead`. When the device is lost, it reports an event; until `retry` it continues at the same
/// rate without output, so that the call's audio keeps its timing. It is opened by a thread of its
/// own: the constructor returns at once. Errors: as those of LiveCamera; a .wav that cannot be
/// created throws from the constructor. Threads: GStreamer's and one of its own inside; one owner.
/// Needs a GstRuntime.
class LiveSpeaker {
 public:
  LiveSpeaker(const LiveSpeakerOptions& options, DeviceClock clock);
  ~LiveSpeaker();

  /// Readable while a frame is wanted or an event waits.
  int ready_fd() const;
  bool wants_frame() const;
  /// The next 20 ms. False: none was wanted now, and the frame is refused.
  bool play(const AudioFrame& frame);
  std::optional<DeviceEvent> poll_event();
  /// Reopens it, whatever its state. Returns at once.
  void retry();
  /// Switches to another device; the microphone's echo probe stays connected. Returns at once.
  /// `id`: a Device's, "default" or "none".
  void choose(const std::string& id);

  /// The delay until audio handed over now is played (without the device's own delay).
  Duration delay() const;
  SpeakerStats stats() const;
  /// For the LiveMicrophone; null if GStreamer has no webrtcechoprobe.
  std::shared_ptr<EchoProbe> echo_probe() const;
  /// For "file:PATH": writes everything; throws std::runtime_error "PATH: what" if anything was
  /// lost. Otherwise does nothing. Call last.
  void finish();

 private:
  class Device;
  std::unique_ptr<Device> device_;
};

}  // namespace cress::media
