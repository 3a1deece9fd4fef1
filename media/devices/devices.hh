#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cress::media {

enum class DeviceKind { kCamera, kScreen, kMicrophone, kSpeaker };

/// Something that sees, hears or plays.
struct Device {
  DeviceKind kind = DeviceKind::kCamera;
  /// For LiveCamera, LiveMicrophone, LiveSpeaker; the same after the next start and after it was
  /// plugged in again at the same place.
  std::string id;
  /// For people.
  std::string name;
  /// The system prefers it to the others of its kind.
  bool is_default = false;
  friend bool operator==(const Device&, const Device&) = default;
};

/// What stands for no device at all: these ids are always there.
inline constexpr const char* kDefaultDevice = "default";  ///< the system's, or the first
inline constexpr const char* kTestDevice = "test";        ///< a test picture, a test tone
inline constexpr const char* kScreenDevice = "screen";    ///< the whole X screen
/// A screen or window that the person picks in the desktop's own dialog (Wayland).
inline constexpr const char* kPortalDevice = "portal";
inline constexpr const char* kNoSpeaker = "none";  ///< plays to nobody, at the right pace

/// `id` shows a screen, not what a camera sees.
bool is_screen(const std::string& id);

/// Test picture, screens (as GStreamer can grab them), test tone, "nothing" speaker.
std::vector<Device> builtin_devices();

struct DeviceChange {
  enum class Kind { kPlugged, kUnplugged };
  Kind kind = Kind::kPlugged;
  Device device;
  friend bool operator==(const DeviceChange&, const DeviceChange&) = default;
};

/// The cameras, microphones and speakers of this machine, watched while it lives: those of V4L2,
/// PulseAudio, PipeWire and ALSA, as far as GStreamer's plug-ins are installed. A monitor (what a
/// speaker plays, as a microphone) is left out. The constructor asks the sound server and may take
/// some tenths of a second. Needs a GstRuntime.
/// Threads: GStreamer's inside; one owner. Bounds: kChangesMax changes wait, the oldest goes.
class DeviceWatch {
 public:
  static constexpr size_t kChangesMax = 64;

  DeviceWatch();
  ~DeviceWatch();

  /// What is there now: of each kind the default first, then by name, built-in ones last.
  std::vector<Device> list() const;
  /// Readable while a change waits.
  int ready_fd() const;
  /// What came or went since the constructor.
  std::optional<DeviceChange> poll_change();

 private:
  class Monitor;
  std::unique_ptr<Monitor> monitor_;
};

}  // namespace cress::media
