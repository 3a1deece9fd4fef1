#include "app/desktop/preview.hh"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cress::desktop {
namespace {

constexpr Duration kRetry = 2s;

}  // namespace

Preview::Preview(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                 PreviewOptions options, PreviewOutputs outputs)
    : clock_(clock),
      loop_(loop),
      outputs_(std::move(outputs)),
      retries_(loop, [this] { retry(); }) {
  set_camera(std::move(options.camera));
  set_microphone(std::move(options.microphone));
}

Preview::~Preview() {
  set_camera(std::nullopt);
  set_microphone(std::nullopt);
}

void Preview::set_camera(std::optional<media::LiveCameraOptions> options) {
  if (camera_) {
    loop_.forget(camera_->ready_fd());
    camera_.reset();  // before the next is opened: it may be the same
  }
  camera_watch_ = {};
  if (!options) {
    return;
  }
  try {
    camera_ =
        std::make_unique<media::LiveCamera>(*options, [&clock = clock_] { return clock.now(); });
  } catch (const std::runtime_error& error) {
    outputs_.lost(error.what());
    return;
  }
  loop_.on_readable(camera_->ready_fd(), [this] {
    while (const auto picture = camera_->poll_picture()) {
      outputs_.picture(*picture);
    }
    take_events(*camera_, camera_watch_);
  });
}

void Preview::set_microphone(std::optional<media::LiveMicrophoneOptions> options) {
  if (microphone_) {
    loop_.forget(microphone_->ready_fd());
    microphone_.reset();
  }
  microphone_watch_ = {};
  if (!options) {
    return;
  }
  // No audio is played yet whose echo could return.
  options->processing.echo_cancellation = false;
  options->echo_probe = nullptr;
  try {
    microphone_ = std::make_unique<media::LiveMicrophone>(
        *options, [&clock = clock_] { return clock.now(); });
  } catch (const std::runtime_error& error) {
    outputs_.lost(error.what());
    return;
  }
  loop_.on_readable(microphone_->ready_fd(), [this] {
    while (const auto sound = microphone_->poll_frame()) {
      outputs_.level(sound->level.rms_dbfs);
    }
    take_events(*microphone_, microphone_watch_);
  });
}

template <class Device>
void Preview::take_events(Device& device, Watched& watched) {
  while (const auto event = device.poll_event()) {
    switch (event->kind) {
      case media::DeviceEvent::Kind::kStarted:
        watched = {};
        break;
      case media::DeviceEvent::Kind::kLost:
      case media::DeviceEvent::Kind::kEnded:
        if (!std::exchange(watched.lost, true)) {
          outputs_.lost(event->words);
        }
        watched.retry_at = clock_.now() + kRetry;
        retries_.arm(std::min(camera_watch_.retry_at, microphone_watch_.retry_at));
        break;
      case media::DeviceEvent::Kind::kRefused:
        outputs_.lost(event->words);
        break;
      case media::DeviceEvent::Kind::kNotice:
        break;  // about audio processing: no other end hears it yet
    }
  }
}

void Preview::retry() {
  const TimePoint now = clock_.now();
  const auto again = [now](auto& device, Watched& watched) {
    if (device && now >= watched.retry_at) {
      watched.retry_at = kNever;  // until its answer comes
      device->retry();
    }
  };
  again(camera_, camera_watch_);
  again(microphone_, microphone_watch_);
  retries_.arm(std::min(camera_watch_.retry_at, microphone_watch_.retry_at));
}

}  // namespace cress::desktop
