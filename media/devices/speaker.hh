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
  /// - "none": plays to nobody, at the right pace;
  /// - "file:PATH": the same, and what was played is in the .wav at PATH, with silence where
  ///   nothing was; it is there after `finish`;
  /// - "gst:DESCRIPTION": whatever a GStreamer pipeline does with it ("gst:alsasink device=hw:1").
  std::string id = "default";
  /// Sound that is given ahead of its playing, at most: the call's thread may be busy for so long
  /// without a gap. 20..200 ms.
  Duration ahead = 40ms;
};

struct SpeakerStats {
  uint64_t played = 0;
  uint64_t refused = 0;    ///< frames given when none was wanted
  uint64_t underruns = 0;  ///< times when a frame came too late
  Duration missing{};      ///< silence that was played for want of a frame
  friend bool operator==(const SpeakerStats&, const SpeakerStats&) = default;
};

/// A loudspeaker in a call. It sets the pace: when it wants 20 ms it says so, and wants them within
/// `ahead`. When the device is lost, an event tells; until `retry` it goes on at the same pace
/// without being heard, so that the call's sound keeps its time. It is opened by a thread of its
/// own: the constructor returns at once.
/// Errors: as those of LiveCamera; a .wav that cannot be created throws from the constructor.
/// Threads: GStreamer's and one of its own inside; one owner. Needs a GstRuntime.
class LiveSpeaker {
 public:
  LiveSpeaker(const LiveSpeakerOptions& options, DeviceClock clock);
  ~LiveSpeaker();

  /// Readable while a frame is wanted or an event waits.
  int ready_fd() const;
  bool wants_frame() const;
  /// The next 20 ms. False: it was not wanted now, and is refused.
  bool play(const AudioFrame& frame);
  std::optional<DeviceEvent> poll_event();
  /// Opens it anew, whatever its state. Returns at once.
  void retry();
  /// Goes on with another one, and the microphone still hears what is played. Returns at once.
  /// `id`: a Device's, "default" or "none".
  void choose(const std::string& id);

  /// What would be given now would be heard so much later (the device's own delay not counted).
  Duration delay() const;
  SpeakerStats stats() const;
  /// For the LiveMicrophone; null where GStreamer has no webrtcechoprobe.
  std::shared_ptr<EchoProbe> echo_probe() const;
  /// Of "file:PATH": writes everything; throws std::runtime_error "PATH: what" if anything was
  /// lost. Else nothing. Call last.
  void finish();

 private:
  class Device;
  std::unique_ptr<Device> device_;
};

}  // namespace cress::media
