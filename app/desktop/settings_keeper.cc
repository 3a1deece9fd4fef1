#include "app/desktop/settings_keeper.hh"

#include <stdexcept>
#include <utility>

namespace cress::desktop {

SettingsKeeper::SettingsKeeper(std::filesystem::path path,
                               std::function<void(const std::string&)> on_error)
    : path_(std::move(path)), on_error_(std::move(on_error)) {
  if (!path_.empty()) {
    thread_ = std::thread{[this] { keep(); }};
  }
}

SettingsKeeper::~SettingsKeeper() {
  {
    const std::scoped_lock lock{mutex_};
    stop_wanted_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void SettingsKeeper::save(const Settings& settings) {
  {
    const std::scoped_lock lock{mutex_};
    wanted_ = settings;
  }
  changed_.notify_one();
}

void SettingsKeeper::keep() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return wanted_ || stop_wanted_; });
    if (!wanted_) {
      return;
    }
    // Restarts as long as new changes arrive.
    while (!stop_wanted_) {
      const Settings seen = *wanted_;
      const bool news = changed_.wait_for(
          lock, kSettingsRest, [this, &seen] { return stop_wanted_ || *wanted_ != seen; });
      if (!news) {
        break;
      }
    }
    const Settings settings = *std::exchange(wanted_, std::nullopt);
    lock.unlock();
    try {
      save_settings(settings, path_);
    } catch (const std::exception& error) {
      on_error_(std::string{"The settings could not be kept: "} + error.what());
    }
    lock.lock();
  }
}

}  // namespace cress::desktop
