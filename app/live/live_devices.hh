#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/call/audio_receiver.hh"
#include "app/call/video_sender.hh"
#include "app/live/live_sample.hh"
#include "media/devices/camera.hh"
#include "media/devices/devices.hh"
#include "media/devices/microphone.hh"
#include "media/devices/sound_level.hh"
#include "media/devices/speaker.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::live {

struct LiveDevicesOptions {
  /// Empty: no video is sent. Its size, with even sides, is that of the video sent.
  std::optional<media::LiveCameraOptions> camera{};
  /// Empty: no audio is sent. Its echo probe is the speaker's.
  std::optional<media::LiveMicrophoneOptions> microphone{};
  media::LiveSpeakerOptions speaker{.id = media::kNoSpeaker};
};

/// The options for the video of these devices; nullopt without a camera.
std::optional<app::VideoSenderOptions> video_of(const LiveDevicesOptions& devices);

/// An event of a device, with a message for display.
struct DeviceNews {
  enum class Kind { kLost, kBack, kNotice, kRefused };
  Kind kind = Kind::kNotice;
  std::string words;
};

/// The kind under which it is reported with the other events of a session.
LiveEvent::Kind event_kind(DeviceNews::Kind kind);

/// The destinations of the devices' outputs. Called in the loop's thread; all but own_picture and
/// news are required.
struct LiveDevicesOutputs {
  /// Every picture of the camera, also while it is off;
  std::function<void(const media::PicturePtr&)> own_picture{};
  /// the pictures to be sent;
  std::function<void(const media::PicturePtr&)> capture{};
  /// 20 ms to be sent: silence while muted, so that the other end's audio keeps its timing.
  std::function<void(const media::AudioFrame&)> capture_sound{};
  /// Returns the next 20 ms for the loudspeaker;
  std::function<app::PlayedAudio()> play{};
  /// the audio that the loudspeaker took.
  std::function<void(const app::PlayedAudio&)> played{};
  std::function<void(const DeviceNews&)> news{};
};

/// Camera, microphone and loudspeaker of one end of a call: open from the constructor on,
/// changeable during the call, tried again every 2 s when lost. Errors: the constructor and
/// choose_* throw std::runtime_error for settings that can never work (no such file). Threads: the
/// loop's, in addition to those of the devices.
class LiveDevices {
 public:
  /// Clock and loop are borrowed and must outlive it. Needs a media::GstRuntime.
  LiveDevices(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
              LiveDevicesOptions options, LiveDevicesOutputs outputs);
  ~LiveDevices();

  /// Opens the devices; no output is called before.
  void begin();
  void set_muted(bool muted) { muted_ = muted; }
  void set_camera_off(bool off) { camera_off_ = off; }
  /// True: it is a different one than before.
  bool choose_camera(const std::string& id);
  void choose_microphone(const std::string& id);
  void choose_speaker(const std::string& id) { speaker_->choose(id); }
  /// Call about ten times a second: retries lost devices.
  void tick();
  /// Completes the file of a speaker "file:PATH"; see LiveSpeaker::finish.
  void finish() { speaker_->finish(); }

  const LiveDevicesOptions& options() const { return options_; }
  uint64_t pictures_late() const { return camera_ ? camera_->dropped() : 0; }
  double microphone_dbfs() const { return microphone_dbfs_; }
  double speaker_dbfs() const { return speaker_dbfs_; }

 private:
  /// A device that may be lost and come back.
  struct Watched {
    bool lost = false;
    TimePoint retry_at = kNever;
  };

  media::DeviceClock device_clock() const;
  void open_camera();
  void open_microphone();
  void take_pictures();
  void take_sound();
  void feed_speaker();
  template <class Device>
  void take_events(Device& device, Watched& watched);
  template <class Device>
  void retry(Device& device, Watched& watched);
  void notify(DeviceNews::Kind kind, const std::string& words);

  const runtime::MonotonicClock& clock_;
  runtime::EventLoop& loop_;
  LiveDevicesOptions options_;
  LiveDevicesOutputs outputs_;
  std::unique_ptr<media::LiveSpeaker> speaker_;
  std::unique_ptr<media::LiveCamera> camera_;
  std::unique_ptr<media::LiveMicrophone> microphone_;
  Watched camera_watch_;
  Watched microphone_watch_;
  Watched speaker_watch_;
  bool muted_ = false;
  bool camera_off_ = false;
  double microphone_dbfs_ = media::kSilenceDbfs;
  double speaker_dbfs_ = media::kSilenceDbfs;
};

}  // namespace cress::live
