#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cress::media {

enum class DeviceKind { kCamera, kScreen, kMicrophone, kSpeaker };

/// A camera, screen, microphone or speaker.
struct Device {
  DeviceKind kind = DeviceKind::kCamera;
  /// For LiveCamera, LiveMicrophone, LiveSpeaker; the same after a restart and after the device was
  /// plugged in again at the same port.
  std::string id;
  /// For display.
  std::string name;
  /// The system prefers it to the others of its kind.
  bool is_default = false;
  friend bool operator==(const Device&, const Device&) = default;
};

/// Ids that are always available, without a device.
inline constexpr const char* kDefaultDevice = "default";  ///< the system's, or the first
inline constexpr const char* kTestDevice = "test";        ///< a test picture, a test tone
inline constexpr const char* kScreenDevice = "screen";    ///< the whole X screen
/// A screen or window that the user picks in the desktop's own dialog (Wayland).
inline constexpr const char* kPortalDevice = "portal";
inline constexpr const char* kNoSpeaker = "none";  ///< discards audio, at the right rate

/// Whether `id` captures a screen, not a camera.
bool is_screen(const std::string& id);

/// The devices that need no hardware: test picture, test tone, "no speaker", and the screens, if
/// GStreamer can capture them.
std::vector<Device> builtin_devices();

struct DeviceChange {
  enum class Kind { kPlugged, kUnplugged };
  Kind kind = Kind::kPlugged;
  Device device;
  friend bool operator==(const DeviceChange&, const DeviceChange&) = default;
};

/// The cameras, microphones and speakers of this machine, monitored while this object exists: those
/// of V4L2, PulseAudio, PipeWire and ALSA, as far as GStreamer's plug-ins are installed. Monitors
/// (a speaker's output as a microphone) are left out. The constructor queries the audio server and
/// may take some tenths of a second. Needs a GstRuntime. Threads: GStreamer's inside; one owner.
/// Bounds: at most kChangesMax changes wait; the oldest is dropped.
class DeviceWatch {
 public:
  static constexpr size_t kChangesMax = 64;

  DeviceWatch();
  ~DeviceWatch();

  /// The current devices: of each kind the default first, then by name, built-in ones last.
  std::vector<Device> list() const;
  /// Readable while a change waits.
  int ready_fd() const;
  /// Devices added or removed since the constructor.
  std::optional<DeviceChange> poll_change();

 private:
  class Monitor;
  std::unique_ptr<Monitor> monitor_;
};

}  // namespace cress::media
