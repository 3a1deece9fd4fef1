#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "media/devices/echo_probe.hh"
#include "media/devices/live_device.hh"
#include "media/devices/sound_level.hh"
#include "media/source/audio_source.hh"
#include "transport/base/time.hh"

namespace cress::media {

/// WebRTC's audio processing of a voice; each step can be switched.
struct VoiceProcessing {
  /// Needs the LiveSpeaker that plays the other side.
  bool echo_cancellation = true;
  bool noise_suppression = true;
  bool gain_control = true;
  friend bool operator==(const VoiceProcessing&, const VoiceProcessing&) = default;
};

struct LiveMicrophoneOptions {
  /// Which microphone:
  /// - the id of a Device, or "default": a real one;
  /// - "test": a short tone every second;
  /// - "file:PATH": the audio of anything GStreamer decodes, at its own rate, in a loop;
  /// - "gst:DESCRIPTION": the output of any GStreamer pipeline.
  std::string id = "default";
  VoiceProcessing processing{};
  /// LiveSpeaker::echo_probe() of the speaker whose echo is to be removed.
  std::shared_ptr<EchoProbe> echo_probe{};
  /// Without audio (silence counts as audio) for this long it counts as lost.
  Duration patience = 6s;
};

/// 20 ms from the microphone.
struct CapturedSound {
  AudioFrame samples{};
  /// When the last sample was captured, on the call's clock.
  TimePoint ended{};
  /// After the processing.
  SoundLevel level{};
};

/// A microphone in a call: 48 kHz, one channel, frames of 20 ms. It is opened by a thread of its
/// own: the constructor returns at once, and a retry does not delay the call. If GStreamer's
/// webrtcdsp is missing, or there is no speaker to take the echo from, it continues without, and a
/// notice says so. Errors: as those of LiveCamera. Bounds: at most kFramesMax frames wait; the
/// oldest is dropped (counted). Threads: GStreamer's and one of its own inside; one owner. Needs a
/// GstRuntime.
class LiveMicrophone {
 public:
  static constexpr size_t kFramesMax = 10;

  LiveMicrophone(const LiveMicrophoneOptions& options, DeviceClock clock);
  ~LiveMicrophone();

  /// Readable while a frame or an event waits.
  int ready_fd() const;
  std::optional<CapturedSound> poll_frame();
  std::optional<DeviceEvent> poll_event();
  /// Reopens it, whatever its state. Returns at once.
  void retry();
  /// Applies from now on; reopens the device if that changes anything (a tenth of a second is
  /// lost).
  void set_processing(const VoiceProcessing& processing);

  uint64_t dropped() const;

 private:
  class Device;
  std::unique_ptr<Device> device_;
};

}  // namespace cress::media
