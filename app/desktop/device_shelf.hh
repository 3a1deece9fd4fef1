#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/ui/model/call_view.hh"
#include "media/devices/devices.hh"

namespace cress::desktop {

/// Which devices there are, which one of each kind the person wants, and which one is used: the
/// wanted one while it is there, else the system's default. So a headset that is unplugged in a
/// call gives way to what is left, and is used again when it is back.
/// Threads: none inside; pure.
class DeviceShelf {
 public:
  /// `id`: of a Device, or what LiveCamera, LiveMicrophone and LiveSpeaker take besides.
  void choose(media::DeviceKind kind, std::string id);
  /// What DeviceWatch::list gives.
  void set_list(std::vector<media::Device> devices);

  const std::string& wanted(media::DeviceKind kind) const;
  /// What to open. Before there is a list: what is wanted.
  std::string used(media::DeviceKind kind) const;
  /// For the window; `chosen` is what is used, by its own name where it is the default.
  ui::Devices view(media::DeviceKind kind) const;
  /// Nothing but the built-in ones is there, and none of those is wanted.
  bool is_missing(media::DeviceKind kind) const;
  bool has_list() const { return list_.has_value(); }
  bool lists(media::DeviceKind kind, const std::string& id) const;
  /// For people; the id itself of what is not listed.
  std::string name_of(media::DeviceKind kind, const std::string& id) const;

 private:
  const media::Device* first_real(media::DeviceKind kind) const;

  std::optional<std::vector<media::Device>> list_;
  std::string camera_ = media::kDefaultDevice;
  std::string microphone_ = media::kDefaultDevice;
  std::string speaker_ = media::kDefaultDevice;
  std::string screen_;
};

/// Stands for no single device of this machine: a test picture, "none", a file, a pipeline.
bool is_built_in(const std::string& id);

}  // namespace cress::desktop
