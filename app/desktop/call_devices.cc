#include <algorithm>
#include <array>
#include <utility>

#include "app/desktop/desktop_call.hh"

namespace cress::desktop {
namespace {

using media::DeviceKind;
using ui::Tone;

constexpr std::array kKinds{DeviceKind::kCamera, DeviceKind::kMicrophone, DeviceKind::kSpeaker};

DeviceKind kind_of(ui::DeviceKind kind) {
  switch (kind) {
    case ui::DeviceKind::kCamera:
      return DeviceKind::kCamera;
    case ui::DeviceKind::kMicrophone:
      return DeviceKind::kMicrophone;
    case ui::DeviceKind::kSpeaker:
      return DeviceKind::kSpeaker;
    case ui::DeviceKind::kScreen:
      return DeviceKind::kScreen;
  }
  return DeviceKind::kCamera;
}

// The device of an event: its words begin with kind and name.
std::optional<DeviceKind> device_in(const std::string& words) {
  if (words.starts_with("The camera")) {
    return DeviceKind::kCamera;
  }
  if (words.starts_with("The microphone")) {
    return DeviceKind::kMicrophone;
  }
  if (words.starts_with("The speaker")) {
    return DeviceKind::kSpeaker;
  }
  return std::nullopt;
}

const char* words_without(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCamera:
      return "No camera was found: you see the others, they do not see you.";
    case DeviceKind::kMicrophone:
      return "No microphone was found: you hear the others, they do not hear you.";
    default:
      return "No speaker was found: you are heard, but hear nothing.";
  }
}

}  // namespace

/// A sound server may take its time to say what there is.
void DesktopCall::open_device_watch() {
  // Copyable, as work for the loop must be.
  auto watch = std::make_shared<std::unique_ptr<media::DeviceWatch>>();
  try {
    *watch = std::make_unique<media::DeviceWatch>();
  } catch (const std::exception& error) {
    errands_.post([this, words = std::string{error.what()}] {
      notify(Tone::kWarning, sentence(words));
      looked_for_devices_ = true;
      open_preview();
    });
    return;
  }
  errands_.post([this, watch] { guarded([&] { adopt(std::move(*watch)); }); });
}

void DesktopCall::adopt(std::unique_ptr<media::DeviceWatch> watch) {
  watch_ = std::move(watch);
  loop_.on_readable(watch_->ready_fd(), [this] { guarded([this] { take_device_changes(); }); });
  shelf_.set_list(devices());
  looked_for_devices_ = true;
  for (const DeviceKind kind : kKinds) {
    if (shelf_.is_missing(kind)) {
      notify(Tone::kNote, words_without(kind));
    }
  }
  use_devices();
  open_preview();
}

/// What there is, but for the way to a screen that this desktop does not have: what X programs see
/// of Wayland's is black, but for themselves.
std::vector<media::Device> DesktopCall::devices() const {
  std::vector<media::Device> all = watch_->list();
  std::erase_if(all, [this](const media::Device& device) {
    return device.kind == DeviceKind::kScreen && device.id != screen_device();
  });
  return all;
}

const char* DesktopCall::screen_device() const {
  return options_.on_wayland ? media::kPortalDevice : media::kScreenDevice;
}

void DesktopCall::take_device_changes() {
  const bool had_no_camera = shelf_.is_missing(DeviceKind::kCamera);
  std::vector<media::DeviceChange> changes;
  while (auto change = watch_->poll_change()) {
    changes.push_back(*std::move(change));
  }
  shelf_.set_list(devices());
  if (had_no_camera && !shelf_.is_missing(DeviceKind::kCamera) && live_ && !camera_state_.worked) {
    camera_off_ = true;  // no video is sent without the user's request
  }
  for (const media::DeviceChange& change : changes) {
    tell_change(change);
  }
  use_devices();
}

void DesktopCall::tell_change(const media::DeviceChange& change) {
  const media::Device& device = change.device;
  if (change.kind == media::DeviceChange::Kind::kPlugged) {
    const bool is_dark = device.kind == DeviceKind::kCamera && camera_off_ && live_;
    notify(Tone::kGood,
           device.name + (is_dark ? " is plugged in; V switches it on." : " is plugged in."));
  } else if (shelf_.wanted(device.kind) == device.id && !shelf_.is_missing(device.kind)) {
    const std::string other = shelf_.view(device.kind).chosen;
    notify(Tone::kNote, device.name + " is gone; " + shelf_.name_of(device.kind, other) +
                            " is used until it is back.");
  }
}

/// Has the call or the preview use what is to be used now.
void DesktopCall::use_devices() {
  const std::string camera =
      sharing_ ? shelf_.wanted(DeviceKind::kScreen) : shelf_.used(DeviceKind::kCamera);
  const std::string microphone = shelf_.used(DeviceKind::kMicrophone);
  const std::string speaker = shelf_.used(DeviceKind::kSpeaker);
  const bool new_camera = std::exchange(used_camera_, camera) != camera;
  const bool new_microphone = std::exchange(used_microphone_, microphone) != microphone;
  const bool new_speaker = std::exchange(used_speaker_, speaker) != speaker;
  if (live_ && !leaving_) {
    if (new_camera) {
      camera_state_.lost = false;
      live_->choose_camera(camera);
    }
    if (new_microphone) {
      microphone_state_.lost = false;
      live_->choose_microphone(microphone);
    }
    if (new_speaker) {
      speaker_state_.lost = false;
      live_->choose_speaker(speaker);
    }
    tell_person();
  } else if (preview_) {
    use_in_preview(new_camera, new_microphone);
    tell_person();
  }
  show_devices();
}

void DesktopCall::use_in_preview(bool other_camera, bool other_microphone) {
  const PreviewOptions options = preview_options();
  if (other_camera || options.camera.has_value() != preview_->has_camera()) {
    board_.change([](ui::CallView& view) { view.own = {}; });
    preview_->set_camera(options.camera);
  }
  if (other_microphone || options.microphone.has_value() != preview_->has_microphone()) {
    preview_->set_microphone(options.microphone);
  }
}

void DesktopCall::handle_device_lost(const std::string& words) {
  const auto kind = device_in(words);
  if (!kind) {
    notify(Tone::kWarning, sentence(words));
    return;
  }
  DeviceState& state = state_of(*kind);
  state.lost = true;
  if (*kind == DeviceKind::kCamera) {
    board_.change([](ui::CallView& view) { view.own = {}; });
  }
  if (state.worked || !shelf_.is_missing(*kind)) {  // otherwise it was reported before the call
    notify(Tone::kWarning, sentence(words));
  }
  loop_.post([this] { tell_person(); });  // not inside this call: the caller may be the call itself
}

void DesktopCall::handle_device_back(const std::string& words) {
  if (const auto kind = device_in(words)) {
    state_of(*kind).lost = false;
  }
  notify(Tone::kGood, sentence(words));
  loop_.post([this] { tell_person(); });
}

DesktopCall::DeviceState& DesktopCall::state_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kMicrophone:
      return microphone_state_;
    case DeviceKind::kSpeaker:
      return speaker_state_;
    default:
      return camera_state_;
  }
}

void DesktopCall::act(const ui::TalkPressed&) {
  talking_ = muted_;
  tell_person();
}

void DesktopCall::act(const ui::TalkReleased&) {
  talking_ = false;
  tell_person();
}

void DesktopCall::set_muted(bool muted) {
  muted_ = muted;
  talking_ = false;
  tell_person();
}

void DesktopCall::act(const ui::CameraOn&) {
  if (shelf_.is_missing(DeviceKind::kCamera)) {
    notify(Tone::kWarning, "There is no camera; plug one in, then switch it on.");
    return;
  }
  camera_off_ = false;
  tell_person();
  if (preview_) {
    use_in_preview(false, false);
  }
}

void DesktopCall::act(const ui::CameraOff&) {
  camera_off_ = true;
  board_.change([](ui::CallView& view) { view.own = {}; });
  tell_person();
  if (preview_) {
    use_in_preview(false, false);
  }
}

void DesktopCall::act(const ui::ShareScreen& share) {
  const std::string id = share.screen_id.empty() ? screen_device() : share.screen_id;
  if (!is_in_call()) {
    return;
  }
  if (!shelf_.lists(DeviceKind::kScreen, id)) {
    notify(Tone::kWarning, options_.on_wayland
                               ? "The screen cannot be shared: install gstreamer1.0-pipewire."
                               : "The screen cannot be shared here: GStreamer has no ximagesrc.");
    return;
  }
  sharing_ = true;
  shelf_.choose(DeviceKind::kScreen, id);
  use_devices();
}

void DesktopCall::act(const ui::StopSharing&) {
  if (std::exchange(sharing_, false)) {
    shelf_.choose(DeviceKind::kScreen, "");
    board_.change([](ui::CallView& view) { view.own = {}; });
    use_devices();
  }
}

void DesktopCall::act(const ui::ChooseDevice& choice) {
  const DeviceKind kind = kind_of(choice.kind);
  if (kind == DeviceKind::kScreen) {
    act(ui::ShareScreen{choice.id});
    return;
  }
  if (!shelf_.lists(kind, choice.id)) {
    return;  // unplugged since the menu was drawn
  }
  shelf_.choose(kind, choice.id);
  switch (kind) {
    case DeviceKind::kCamera:
      settings_.camera = choice.id;
      break;
    case DeviceKind::kMicrophone:
      settings_.microphone = choice.id;
      break;
    default:
      settings_.speaker = choice.id;
      break;
  }
  keeper_->save(settings_);
  use_devices();
}

void DesktopCall::act(const ui::ChooseName& choice) {
  name_ = settings_.name = app::clean_name(choice.name);
  keeper_->save(settings_);
  if (live_ && !leaving_) {
    live_->set_name(name_);
  }
  board_.change([this](ui::CallView& view) { view.self.name = name_; });
}

void DesktopCall::open_preview() {
  if (preview_ || live_ || !looked_for_devices_ || screen_ == ui::Screen::kEnded) {
    return;
  }
  const PreviewOptions options = preview_options();
  used_camera_ = shelf_.used(DeviceKind::kCamera);
  used_microphone_ = shelf_.used(DeviceKind::kMicrophone);
  used_speaker_ = shelf_.used(DeviceKind::kSpeaker);
  preview_dbfs_ = media::kSilenceDbfs;
  PreviewOutputs outputs;
  outputs.picture = [this](const media::CapturedPicture& captured) {
    board_.change([&](ui::CallView& view) { view.own = {captured.picture, captured.captured}; });
  };
  outputs.level = [this](double level) { preview_dbfs_ = std::max(preview_dbfs_, level); };
  outputs.lost = [this](const std::string& words) { notify(Tone::kWarning, sentence(words)); };
  preview_ = std::make_unique<Preview>(clock_, loop_, options, outputs);
  tell_person();
}

PreviewOptions DesktopCall::preview_options() const {
  PreviewOptions options;
  if (!camera_off_ && !shelf_.is_missing(DeviceKind::kCamera)) {
    options.camera = camera_options();
  }
  if (!shelf_.is_missing(DeviceKind::kMicrophone)) {
    options.microphone = microphone_options();
  }
  return options;
}

media::LiveCameraOptions DesktopCall::camera_options() const {
  return {.id = shelf_.used(DeviceKind::kCamera),
          .size = options_.camera_size,
          .rate = options_.camera_rate};
}

media::LiveMicrophoneOptions DesktopCall::microphone_options() const {
  return {.id = shelf_.used(DeviceKind::kMicrophone), .processing = settings_.voice};
}

app::PersonState DesktopCall::person() const {
  const bool seen = !camera_off_ && !camera_state_.lost && !shelf_.is_missing(DeviceKind::kCamera);
  return {.name = name_,
          .muted = muted_ && !talking_,
          .camera_off = !sharing_ && !seen,
          .shares_screen = sharing_};
}

/// Brings what is true of this person to the other end and to the window.
void DesktopCall::tell_person() {
  if (live_ && !leaving_) {
    const app::PersonState now = person();
    const app::PersonState told = live_->person();
    if (now.muted != told.muted) {
      live_->set_muted(now.muted);
    }
    if (now.camera_off != told.camera_off) {
      live_->set_camera_off(now.camera_off);
    }
  }
  board_.change([this](ui::CallView& view) {
    view.self.muted = muted_;
    view.push_to_talk = talking_;
    view.self.camera_off = camera_off_ || shelf_.is_missing(DeviceKind::kCamera);
    view.self.shares_screen = sharing_;
  });
}

void DesktopCall::show_devices() {
  board_.change([this](ui::CallView& view) {
    view.cameras = shelf_.view(DeviceKind::kCamera);
    view.microphones = shelf_.view(DeviceKind::kMicrophone);
    view.speakers = shelf_.view(DeviceKind::kSpeaker);
    view.screens = shelf_.view(DeviceKind::kScreen);
  });
}

}  // namespace cress::desktop
