#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/call/call.hh"
#include "app/live/live_sample.hh"
#include "media/gst/camera.hh"
#include "media/gst/devices.hh"
#include "media/gst/microphone.hh"
#include "media/gst/speaker.hh"
#include "transport/base/address.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/secure/connection.hh"

namespace cress::live {

struct LiveCallOptions {
  secure::Role role = secure::Role::kListener;
  std::vector<std::byte> secret{};
  /// Own address; all zero: any. A listener's port is in its link.
  Address bind{};
  /// Where the listener is; for a joiner.
  Address listener{};
  /// Where else it may be: see secure::ConnectionOptions.
  std::vector<Address> other_listeners{};
  /// How long a joiner tries.
  Duration connect_max = 30s;
  /// Empty: this end only watches. Its size is that of the pictures sent.
  std::optional<media::LiveCameraOptions> camera{};
  /// Empty: this end says nothing. Its echo probe is the speaker's.
  std::optional<media::LiveMicrophoneOptions> microphone{};
  media::LiveSpeakerOptions speaker{.id = media::kNoSpeaker};
  app::PersonState person{};
};

/// Where a call's outputs go; each may be empty. Called in the loop's thread.
struct LiveOutputs {
  std::function<void(const LiveEvent&)> event{};
  /// `shown`: when it is handed over here, decoded.
  std::function<void(const app::ShownFrame&)> shown{};
  std::function<void(const app::PlayedAudio&)> played{};
  std::function<void(const media::PicturePtr&)> own_picture{};
  std::function<void(const app::CodedVideo&)> coded{};
};

/// One call, live: socket, security, devices and the Call, stepped by an event loop. Begins with
/// the constructor, ends with LiveEvent::kEnded. Errors: the constructor throws std::runtime_error
/// (port in use, no such file); afterwards all is told by events. Threads: the loop's, besides
/// those of the devices.
class LiveCall {
 public:
  /// Clock and loop are borrowed and must outlive it. Needs a media::GstRuntime.
  LiveCall(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
           const LiveCallOptions& options, LiveOutputs outputs);
  ~LiveCall();
  LiveCall(const LiveCall&) = delete;
  LiveCall& operator=(const LiveCall&) = delete;

  /// With the port that was given.
  Address local_address() const;
  void set_muted(bool muted);
  void set_camera_off(bool off);
  void set_name(std::string name);
  /// Another camera; "screen" shares the screen.
  void choose_camera(const std::string& id);
  void choose_microphone(const std::string& id);
  void choose_speaker(const std::string& id);
  void hang_up();

  /// What the other end says of its person; nothing while nobody is there.
  std::optional<app::PersonState> peer() const;
  const app::PersonState& person() const;
  LiveSample sample() const;
  const secure::ConnectionStats& connection_stats() const;
  /// Writes what a speaker "file:PATH" holds; see LiveSpeaker::finish. After kEnded.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::live
