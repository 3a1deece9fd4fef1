#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "app/ui/model/call_view.hh"
#include "media/devices/devices.hh"
#include "media/devices/microphone.hh"
#include "transport/base/result.hh"
#include "transport/base/units.hh"

namespace cress::desktop {

/// What is remembered from one start to the next.
struct Settings {
  std::string name{};  ///< as app::clean_name leaves it
  ui::ThemeChoice theme = ui::ThemeChoice::kDark;
  /// Ids of devices, 1..kDeviceIdMax bytes each; one that is not plugged in is kept all the same.
  std::string camera = media::kDefaultDevice;
  std::string microphone = media::kDefaultDevice;
  std::string speaker = media::kDefaultDevice;
  media::VoiceProcessing voice{};
  friend bool operator==(const Settings&, const Settings&) = default;
};

inline constexpr size_t kDeviceIdMax = 1024;
inline constexpr DataSize kSettingsFileMax{64 << 10};

struct SettingsError {
  enum class Kind {
    kTooLong,    ///< over kSettingsFileMax
    kNotJson,    ///< not one JSON object in UTF-8
    kBadMember,  ///< `member` is there but says nothing that can be
  };
  Kind kind = Kind::kNotJson;
  std::string member{};  ///< "devices.camera"
  friend bool operator==(const SettingsError&, const SettingsError&) = default;
};
/// What is wrong, in a few words: for "The settings in FILE could not be used: …".
std::string describe(const SettingsError& error);

/// Reads {"name": "Lea", "theme": "dark" | "light", "devices": {"camera": ID, "microphone": ID,
/// "speaker": ID}, "voice": {"echo_cancellation": true, "noise_suppression": true, "gain_control":
/// true}}; what is missing has its default, what is unknown is passed over. Total: any text gives
/// settings or one error.
Result<Settings, SettingsError> parse_settings(std::string_view text);
/// The inverse: parse_settings(format_settings(s)) == s. `before`: what the file held; members of
/// it that are unknown here (of a newer version) are kept.
std::string format_settings(const Settings& settings, std::string_view before = {});

struct LoadedSettings {
  Settings settings;
  /// A sentence for the person: why it is not what the file says.
  std::optional<std::string> notice;
  /// Writing the file would lose what is in it.
  bool must_not_save = false;
};
/// Never throws for what the file holds: an absent file gives the defaults; one that cannot be used
/// gives the defaults and a notice, and is kept as PATH.bad.
LoadedSettings load_settings(const std::filesystem::path& path);
/// Makes the folder if need be; the whole file or nothing. Throws std::runtime_error.
void save_settings(const Settings& settings, const std::filesystem::path& path);

/// Where the settings belong by the XDG base directory rules: `main` hands in what the environment
/// says of XDG_CONFIG_HOME and HOME (null: nothing). Empty: nowhere.
std::filesystem::path settings_path(const char* xdg_config_home, const char* home);

/// So long nothing new must have come before it is written: a name is typed letter by letter.
inline constexpr Duration kSettingsRest = 500ms;

/// Writes settings in a thread of its own, because a disk may take its time and neither call nor
/// window has any; the newest only. The destructor writes what is still to be written.
/// Threads: `save` from any; `on_error` is called in the keeper's.
class SettingsKeeper {
 public:
  /// `path` empty: keeps nothing. `on_error` hears, in words, of what could not be written.
  SettingsKeeper(std::filesystem::path path, std::function<void(const std::string&)> on_error);
  ~SettingsKeeper();

  void save(const Settings& settings);

 private:
  void keep();

  const std::filesystem::path path_;
  const std::function<void(const std::string&)> on_error_;
  std::mutex mutex_;  // of the next three
  std::condition_variable changed_;
  std::optional<Settings> wanted_;
  bool stop_wanted_ = false;
  std::thread thread_;
};

}  // namespace cress::desktop
