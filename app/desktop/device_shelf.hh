#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/ui/model/call_view.hh"
#include "media/devices/devices.hh"

namespace cress::desktop {

/// The available devices, the one of each kind that the user wants, and the one in use: the wanted
/// one while it is available, otherwise the system's default. So when a headset is unplugged in a
/// call another device replaces it, and it is used again once it is back. Threads: none inside;
/// pure.
class DeviceShelf {
 public:
  /// `id`: of a Device, or another one that LiveCamera, LiveMicrophone and LiveSpeaker take.
  void choose(media::DeviceKind kind, std::string id);
  /// The result of DeviceWatch::list.
  void set_list(std::vector<media::Device> devices);

  const std::string& wanted(media::DeviceKind kind) const;
  /// The device to open. Before there is a list: the wanted one.
  std::string used(media::DeviceKind kind) const;
  /// For the window; `chosen` is the one in use, by its own name where it is the default.
  ui::Devices view(media::DeviceKind kind) const;
  /// Only the built-in ones are available, and none of those is wanted.
  bool is_missing(media::DeviceKind kind) const;
  bool has_list() const { return list_.has_value(); }
  bool lists(media::DeviceKind kind, const std::string& id) const;
  /// For display; the id itself if it is not listed.
  std::string name_of(media::DeviceKind kind, const std::string& id) const;

 private:
  const media::Device* first_real(media::DeviceKind kind) const;

  std::optional<std::vector<media::Device>> list_;
  std::string camera_ = media::kDefaultDevice;
  std::string microphone_ = media::kDefaultDevice;
  std::string speaker_ = media::kDefaultDevice;
  std::string screen_;
};

/// Whether it is not a particular device of this machine: a test picture, "none", a file, a
/// pipeline.
bool is_built_in(const std::string& id);

}  // namespace cress::desktop
