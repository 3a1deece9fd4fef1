#include "app/live/live_devices.hh"

#include <utility>

namespace cress::live {
namespace {

constexpr Duration kDeviceRetry = 2s;

/// Even sides: what the camera will deliver and the encoder accepts.
LiveDevicesOptions normalized(LiveDevicesOptions options) {
  if (options.camera) {
    options.camera->size.width &= ~1;
    options.camera->size.height &= ~1;
  }
  return options;
}

}  // namespace

std::optional<app::VideoSenderOptions> video_of(const LiveDevicesOptions& devices) {
  const auto camera = normalized(devices).camera;
  if (!camera) {
    return std::nullopt;
  }
  return app::VideoSenderOptions{
      .width = camera->size.width, .height = camera->size.height, .frame_rate = camera->rate};
}

LiveEvent::Kind event_kind(DeviceNews::Kind kind) {
  switch (kind) {
    case DeviceNews::Kind::kLost:
      return LiveEvent::Kind::kDeviceLost;
    case DeviceNews::Kind::kBack:
      return LiveEvent::Kind::kDeviceBack;
    case DeviceNews::Kind::kRefused:
      return LiveEvent::Kind::kDeviceRefused;
    case DeviceNews::Kind::kNotice:
      break;
  }
  return LiveEvent::Kind::kNotice;
}

LiveDevices::LiveDevices(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
                         LiveDevicesOptions options, LiveDevicesOutputs outputs)
    : clock_(clock),
      loop_(loop),
      options_(normalized(std::move(options))),
      outputs_(std::move(outputs)) {}

void LiveDevices::begin() {
  speaker_ = std::make_unique<media::LiveSpeaker>(options_.speaker, device_clock());
  loop_.on_readable(speaker_->ready_fd(), [this] { feed_speaker(); });
  open_camera();
  open_microphone();
}

LiveDevices::~LiveDevices() {
  if (speaker_) {
    loop_.forget(speaker_->ready_fd());
  }
  if (camera_) {
    loop_.forget(camera_->ready_fd());
  }
  if (microphone_) {
    loop_.forget(microphone_->ready_fd());
  }
}

media::DeviceClock LiveDevices::device_clock() const {
  return [&clock = clock_] { return clock.now(); };
}

void LiveDevices::open_camera() {
  if (options_.camera) {
    camera_ = std::make_unique<media::LiveCamera>(*options_.camera, device_clock());
    loop_.on_readable(camera_->ready_fd(), [this] { take_pictures(); });
  }
}

void LiveDevices::open_microphone() {
  if (options_.microphone) {
    options_.microphone->echo_probe = speaker_->echo_probe();
    microphone_ = std::make_unique<media::LiveMicrophone>(*options_.microphone, device_clock());
    loop_.on_readable(microphone_->ready_fd(), [this] { take_sound(); });
  }
}

bool LiveDevices::choose_camera(const std::string& id) {
  if (!options_.camera || options_.camera->id == id) {
    return false;
  }
  if (camera_) {
    loop_.forget(camera_->ready_fd());
  }
  camera_.reset();  // before the new one: it may be the same device
  options_.camera->id = id;
  camera_watch_ = {};
  open_camera();
  return true;
}

void LiveDevices::choose_microphone(const std::string& id) {
  if (!options_.microphone || options_.microphone->id == id) {
    return;
  }
  if (microphone_) {
    loop_.forget(microphone_->ready_fd());
  }
  microphone_.reset();
  options_.microphone->id = id;
  microphone_watch_ = {};
  open_microphone();
}

template <class Device>
void LiveDevices::take_events(Device& device, Watched& watched) {
  while (const auto event = device.poll_event()) {
    switch (event->kind) {
      case media::DeviceEvent::Kind::kStarted:
        if (std::exchange(watched.lost, false)) {
          notify(DeviceNews::Kind::kBack, event->words);
        }
        watched.retry_at = kNever;
        break;
      case media::DeviceEvent::Kind::kLost:
      case media::DeviceEvent::Kind::kEnded:
        if (!std::exchange(watched.lost, true)) {
          notify(DeviceNews::Kind::kLost, event->words);
        }
        watched.retry_at = clock_.now() + kDeviceRetry;
        break;
      case media::DeviceEvent::Kind::kRefused:
        watched.retry_at = kNever;
        notify(DeviceNews::Kind::kRefused, event->words);
        break;
      case media::DeviceEvent::Kind::kNotice:
        notify(DeviceNews::Kind::kNotice, event->words);
        break;
    }
  }
}

void LiveDevices::take_pictures() {
  while (const auto captured = camera_->poll_picture()) {
    const media::Picture& picture = *captured->picture;
    if (outputs_.own_picture) {
      outputs_.own_picture(captured->picture);
    }
    const bool fits = picture.width == options_.camera->size.width &&
                      picture.height == options_.camera->size.height;
    if (!camera_off_ && fits) {
      outputs_.capture(captured->picture);
    }
  }
  take_events(*camera_, camera_watch_);
}

void LiveDevices::take_sound() {
  while (const auto captured = microphone_->poll_frame()) {
    microphone_dbfs_ = captured->level.rms_dbfs;
    // Silence continues to be sent, and costs next to nothing.
    outputs_.capture_sound(muted_ ? media::AudioFrame{} : captured->samples);
  }
  take_events(*microphone_, microphone_watch_);
}

void LiveDevices::feed_speaker() {
  while (speaker_->wants_frame()) {
    const app::PlayedAudio played = outputs_.play();
    if (!speaker_->play(played.samples)) {
      break;
    }
    speaker_dbfs_ = media::level_of(played.samples).rms_dbfs;
    outputs_.played(played);
  }
  take_events(*speaker_, speaker_watch_);
}

void LiveDevices::notify(DeviceNews::Kind kind, const std::string& words) {
  if (outputs_.news) {
    outputs_.news({kind, words});
  }
}

template <class Device>
void LiveDevices::retry(Device& device, Watched& watched) {
  const TimePoint now = clock_.now();
  if (device && now >= watched.retry_at) {
    watched.retry_at = now + kDeviceRetry;
    device->retry();
  }
}

void LiveDevices::tick() {
  retry(camera_, camera_watch_);
  retry(microphone_, microphone_watch_);
  retry(speaker_, speaker_watch_);
}

}  // namespace cress::live
