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
  /// Empty: no pictures are sent. Its size, with even sides, is that of the pictures sent.
  std::optional<media::LiveCameraOptions> camera{};
  /// Empty: no sound is sent. Its echo probe is the speaker's.
  std::optional<media::LiveMicrophoneOptions> microphone{};
  media::LiveSpeakerOptions speaker{.id = media::kNoSpeaker};
};

/// The pictures that these devices give; nothing without a camera.
std::optional<app::VideoSenderOptions> video_of(const LiveDevicesOptions& devices);

/// News of a device, for people.
struct DeviceNews {
  enum class Kind { kLost, kBack, kNotice, kRefused };
  Kind kind = Kind::kNotice;
  std::string words;
};

/// As it is told with the rest of a session.
LiveEvent::Kind event_kind(DeviceNews::Kind kind);

/// Whom the devices serve. Called in the loop's thread; all but own_picture and news are needed.
struct LiveDevicesOutputs {
  /// Every picture of the camera, also while it is off;
  std::function<void(const media::PicturePtr&)> own_picture{};
  /// those that are to be sent;
  std::function<void(const media::PicturePtr&)> capture{};
  /// 20 ms to be sent: silence while muted, so that the other end's sound keeps its time.
  std::function<void(const media::AudioFrame&)> capture_sound{};
  /// Gives the next 20 ms for the loudspeaker;
  std::function<app::PlayedAudio()> play{};
  /// those that the loudspeaker took.
  std::function<void(const app::PlayedAudio&)> played{};
  std::function<void(const DeviceNews&)> news{};
};

/// Camera, microphone and loudspeaker of somebody in a call: open from the constructor on, changed
/// while it goes on, tried again every 2 s when lost. Errors: the constructor and choose_* throw
/// std::runtime_error for what can never work (no such file). Threads: the loop's, besides those of
/// the devices.
class LiveDevices {
 public:
  /// Clock and loop are borrowed and must outlive it. Needs a media::GstRuntime.
  LiveDevices(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
              LiveDevicesOptions options, LiveDevicesOutputs outputs);
  ~LiveDevices();

  /// Opens them: nothing of the outputs is called before.
  void begin();
  void set_muted(bool muted) { muted_ = muted; }
  void set_camera_off(bool off) { camera_off_ = off; }
  /// True: it is another one than before.
  bool choose_camera(const std::string& id);
  void choose_microphone(const std::string& id);
  void choose_speaker(const std::string& id) { speaker_->choose(id); }
  /// Some ten times a second: lost devices are thought of.
  void tick();
  /// Writes what a speaker "file:PATH" holds; see LiveSpeaker::finish.
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
  void tell(DeviceNews::Kind kind, const std::string& words);

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
