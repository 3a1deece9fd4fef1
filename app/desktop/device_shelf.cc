#include "app/desktop/device_shelf.hh"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "transport/base/check.hh"

namespace cress::desktop {
namespace {

constexpr std::string_view kFile = "file:";
constexpr std::string_view kPipeline = "gst:";

}  // namespace

bool is_built_in(const std::string& id) {
  return id == media::kTestDevice || media::is_screen(id) || id == media::kNoSpeaker ||
         id.starts_with(kFile) || id.starts_with(kPipeline);
}

void DeviceShelf::choose(media::DeviceKind kind, std::string id) {
  switch (kind) {
    case media::DeviceKind::kCamera:
      camera_ = std::move(id);
      return;
    case media::DeviceKind::kMicrophone:
      microphone_ = std::move(id);
      return;
    case media::DeviceKind::kSpeaker:
      speaker_ = std::move(id);
      return;
    case media::DeviceKind::kScreen:
      screen_ = std::move(id);
      return;
  }
}

void DeviceShelf::set_list(std::vector<media::Device> devices) { list_ = std::move(devices); }

const std::string& DeviceShelf::wanted(media::DeviceKind kind) const {
  switch (kind) {
    case media::DeviceKind::kCamera:
      return camera_;
    case media::DeviceKind::kMicrophone:
      return microphone_;
    case media::DeviceKind::kSpeaker:
      return speaker_;
    case media::DeviceKind::kScreen:
      return screen_;
  }
  check(false, "DeviceShelf: no such kind");
  return screen_;
}

std::string DeviceShelf::used(media::DeviceKind kind) const {
  const std::string& id = wanted(kind);
  return !list_ || is_built_in(id) || lists(kind, id) ? id : media::kDefaultDevice;
}

bool DeviceShelf::lists(media::DeviceKind kind, const std::string& id) const {
  return list_ && std::ranges::any_of(*list_, [&](const media::Device& device) {
           return device.kind == kind && device.id == id;
         });
}

const media::Device* DeviceShelf::first_real(media::DeviceKind kind) const {
  if (!list_) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(*list_, [kind](const media::Device& device) {
    return device.kind == kind && !is_built_in(device.id);
  });
  return found == list_->end() ? nullptr : &*found;
}

bool DeviceShelf::is_missing(media::DeviceKind kind) const {
  return list_ && !is_built_in(wanted(kind)) && first_real(kind) == nullptr;
}

std::string DeviceShelf::name_of(media::DeviceKind kind, const std::string& id) const {
  if (list_) {
    for (const media::Device& device : *list_) {
      if (device.kind == kind && device.id == id) {
        return device.name;
      }
    }
  }
  if (id.starts_with(kFile)) {
    return std::filesystem::path{id.substr(kFile.size())}.filename().string();
  }
  return id;
}

ui::Devices DeviceShelf::view(media::DeviceKind kind) const {
  ui::Devices devices;
  for (const media::Device& device : list_.value_or(std::vector<media::Device>{})) {
    if (device.kind == kind) {
      devices.all.push_back({device.id, device.name});
    }
  }
  devices.chosen = kind == media::DeviceKind::kScreen ? screen_ : used(kind);
  if (devices.chosen == media::kDefaultDevice) {
    const media::Device* first = first_real(kind);
    devices.chosen = first != nullptr ? first->id : "";
  }
  if (list_ && !devices.chosen.empty() && !lists(kind, devices.chosen)) {
    devices.all.push_back({devices.chosen, name_of(kind, devices.chosen)});
  }
  return devices;
}

}  // namespace cress::desktop
