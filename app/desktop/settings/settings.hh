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

/// Settings kept from one start to the next.
struct Settings {
  std::string name{};  ///< as returned by app::clean_name
  ui::ThemeChoice theme = ui::ThemeChoice::kDark;
  /// Ids of devices, 1..kDeviceIdMax bytes each; one that is not plugged in is also kept.
  std::string camera = media::kDefaultDevice;
  std::string microphone = media::kDefaultDevice;
  std::string speaker = media::kDefaultDevice;
  media::VoiceProcessing voice{};
  /// HOST:PORT of the relay at which calls begin; empty: none. At most kRelayMax bytes.
  std::string relay{};
  friend bool operator==(const Settings&, const Settings&) = default;
};

inline constexpr size_t kDeviceIdMax = 1024;
inline constexpr size_t kRelayMax = 255;
inline constexpr DataSize kSettingsFileMax{64 << 10};

struct SettingsError {
  enum class Kind {
    kTooLong,    ///< over kSettingsFileMax
    kNotJson,    ///< not one JSON object in UTF-8
    kBadMember,  ///< `member` exists but has an invalid value
  };
  Kind kind = Kind::kNotJson;
  std::string member{};  ///< "devices.camera"
  friend bool operator==(const SettingsError&, const SettingsError&) = default;
};
/// The error in a few words: for "The settings in FILE could not be used: …".
std::string describe(const SettingsError& error);

/// Reads {"name": "Lea", "theme": "dark" | "light", "devices": {"camera": ID, "microphone": ID,
/// "speaker": ID}, "voice": {"echo_cancellation": true, "noise_suppression": true, "gain_control":
/// true}, "relay": "relay.example:4747"}; missing members have their defaults, unknown ones are
/// ignored. Total: any text gives settings or one error.
Result<Settings, SettingsError> parse_settings(std::string_view text);
/// The inverse: parse_settings(format_settings(s)) == s. `before`: the file's previous contents;
/// its members that are unknown here (of a newer version) are kept.
std::string format_settings(const Settings& settings, std::string_view before = {});

struct LoadedSettings {
  Settings settings;
  /// A sentence for the user: why the file's settings are not used.
  std::optional<std::string> notice;
  /// Saving would destroy the file's contents.
  bool must_not_save = false;
};
/// Never throws because of the file's contents: a missing file gives the defaults; one that cannot
/// be used gives the defaults and a notice, and is kept as PATH.bad.
LoadedSettings load_settings(const std::filesystem::path& path);
/// Creates the folder if needed; writes the whole file or nothing. Throws std::runtime_error.
void save_settings(const Settings& settings, const std::filesystem::path& path);

/// The path of the settings by the XDG base directory rules: `main` passes the values of
/// XDG_CONFIG_HOME and HOME (null: not set). Empty: no path.
std::filesystem::path settings_path(const char* xdg_config_home, const char* home);

/// The file of the identity secret of this user's calls (live::kept_identity), next to the
/// settings.
std::filesystem::path identity_path(const std::filesystem::path& settings_path);

/// Where reports are saved, by HOME (null: not set). Empty: no path.
std::filesystem::path reports_path(const char* home);

/// Settings are written once they have not changed for this long: a name is typed letter by letter.
inline constexpr Duration kSettingsRest = 500ms;

/// Writes settings in a thread of its own, because a disk may be slow and must delay neither call
/// nor window; only the newest are written. The destructor writes pending settings. Threads: `save`
/// from any; `on_error` is called in the keeper's.
class SettingsKeeper {
 public:
  /// `path` empty: saves nothing. `on_error` is called with a message if writing failed.
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
