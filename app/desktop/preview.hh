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
  /// Empty: no camera is opened (and its lamp is off).
  std::optional<media::LiveCameraOptions> camera{};
  std::optional<media::LiveMicrophoneOptions> microphone{};
};

/// Called in the loop's thread; `lost` with a message for display, once until the device is back.
struct PreviewOutputs {
  std::function<void(const media::CapturedPicture&)> picture;
  std::function<void(double rms_dbfs)> level;
  std::function<void(const std::string& words)> lost;
};

/// The local preview before a call: the camera's pictures and the microphone's loudness. Its
/// destructor closes the devices, so that a call can open them. A lost device is tried again every
/// 2 s. Errors: none thrown; a device that cannot be opened is reported as lost. Threads: the
/// loop's. Clock and loop are borrowed and must outlive it. Needs a media::GstRuntime.
class Preview {
 public:
  Preview(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, PreviewOptions options,
          PreviewOutputs outputs);
  ~Preview();

  /// Closes the current camera and opens another, if any.
  void set_camera(std::optional<media::LiveCameraOptions> options);
  void set_microphone(std::optional<media::LiveMicrophoneOptions> options);
  /// Also true while it is lost.
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
