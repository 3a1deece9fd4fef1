#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "media/devices/camera.hh"
#include "media/devices/microphone.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::desktop {

struct PreviewOptions {
  /// Empty: none is opened (and its lamp is dark).
  std::optional<media::LiveCameraOptions> camera{};
  std::optional<media::LiveMicrophoneOptions> microphone{};
};

/// Called in the loop's thread; `lost` with words for people, once until it is back.
struct PreviewOutputs {
  std::function<void(const media::CapturedPicture&)> picture;
  std::function<void(double rms_dbfs)> level;
  std::function<void(const std::string& words)> lost;
};

/// Oneself before a call: the camera's pictures and the microphone's loudness. Closed by its
/// destructor, so that a call can open the same devices. A lost device is tried again every 2 s.
/// Errors: none thrown; a device that cannot be opened is told as lost.
/// Threads: the loop's. Clock and loop are borrowed and must outlive it. Needs a media::GstRuntime.
class Preview {
 public:
  Preview(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, PreviewOptions options,
          PreviewOutputs outputs);
  ~Preview();

  /// Closes one that is open and opens another, if any.
  void set_camera(std::optional<media::LiveCameraOptions> options);
  void set_microphone(std::optional<media::LiveMicrophoneOptions> options);
  /// Also while it is lost.
  bool has_camera() const { return camera_ != nullptr; }
  bool has_microphone() const { return microphone_ != nullptr; }

 private:
  struct Watched {
    bool lost = false;
    TimePoint retry_at = kNever;
  };

  template <class Device>
  void take_events(Device& device, Watched& watched);
  void retry();

  const runtime::MonotonicClock& clock_;
  runtime::EventLoop& loop_;
  PreviewOutputs outputs_;
  std::unique_ptr<media::LiveCamera> camera_;
  std::unique_ptr<media::LiveMicrophone> microphone_;
  Watched camera_watch_;
  Watched microphone_watch_;
  runtime::EventLoop::Timer retries_;
};

}  // namespace cress::desktop
