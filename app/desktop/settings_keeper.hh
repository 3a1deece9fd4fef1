#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/desktop/settings.hh"

namespace cress::desktop {

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
  SettingsKeeper(const SettingsKeeper&) = delete;
  SettingsKeeper& operator=(const SettingsKeeper&) = delete;

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
