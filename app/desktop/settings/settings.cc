#include "app/desktop/settings/settings.hh"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "app/call/control_message.hh"
#include "transport/base/text_file.hh"

namespace cress::desktop {
namespace {

using Json = nlohmann::ordered_json;

/// Reads a member into a setting; returns whether its value is valid.
using Reader = bool (*)(const Json&, Settings&);

bool read_theme(const Json& value, Settings& settings) {
  if (value != "dark" && value != "light") {
    return false;
  }
  settings.theme = value == "dark" ? ui::ThemeChoice::kDark : ui::ThemeChoice::kLight;
  return true;
}

bool read_name(const Json& value, Settings& settings) {
  if (!value.is_string()) {
    return false;
  }
  settings.name = app::clean_name(value.get_ref<const std::string&>());
  return true;
}

bool read_relay(const Json& value, Settings& settings) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kRelayMax) {
    return false;
  }
  settings.relay = value.get<std::string>();
  return true;
}

template <std::string Settings::*field>
bool read_id(const Json& value, Settings& settings) {
  if (!value.is_string()) {
    return false;
  }
  const auto& id = value.get_ref<const std::string&>();
  if (id.empty() || id.size() > kDeviceIdMax) {
    return false;
  }
  settings.*field = id;
  return true;
}

template <bool media::VoiceProcessing::*field>
bool read_switch(const Json& value, Settings& settings) {
  if (!value.is_boolean()) {
    return false;
  }
  settings.voice.*field = value.get<bool>();
  return true;
}

struct Member {
  const char* group;  ///< the enclosing object; empty: the top level
  const char* name;
  Reader read;
};

using Voice = media::VoiceProcessing;
constexpr std::array kMembers{
    Member{"", "name", read_name},
    Member{"", "theme", read_theme},
    Member{"devices", "camera", read_id<&Settings::camera>},
    Member{"devices", "microphone", read_id<&Settings::microphone>},
    Member{"devices", "speaker", read_id<&Settings::speaker>},
    Member{"voice", "echo_cancellation", read_switch<&Voice::echo_cancellation>},
    Member{"voice", "noise_suppression", read_switch<&Voice::noise_suppression>},
    Member{"voice", "gain_control", read_switch<&Voice::gain_control>},
    Member{"", "relay", read_relay},
};

Json parse_object(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json{};
}

/// Moves a file that cannot be used out of the way of the next one.
void set_aside(const std::filesystem::path& path, const std::string& why, LoadedSettings& loaded) {
  std::filesystem::path bad = path;
  bad += ".bad";
  std::error_code error;
  std::filesystem::rename(path, bad, error);
  loaded.notice = "The settings could not be used: " + why + ". ";
  if (error) {
    loaded.must_not_save = true;
    *loaded.notice += "They are left in " + path.string() + ", and nothing new will be kept.";
  } else {
    *loaded.notice += "They are now in " + bad.string() + ".";
  }
}

}  // namespace

std::string describe(const SettingsError& error) {
  switch (error.kind) {
    case SettingsError::Kind::kTooLong:
      return "the file is over " + std::to_string(kSettingsFileMax.bytes()) + " bytes";
    case SettingsError::Kind::kNotJson:
      return "the file is no JSON object";
    case SettingsError::Kind::kBadMember:
      return "\"" + error.member + "\" cannot be what it is";
  }
  return "unknown";
}

Result<Settings, SettingsError> parse_settings(std::string_view text) {
  if (text.size() > static_cast<size_t>(kSettingsFileMax.bytes())) {
    return SettingsError{SettingsError::Kind::kTooLong};
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return SettingsError{SettingsError::Kind::kNotJson};
  }
  Settings settings;
  for (const Member& member : kMembers) {
    const std::string group = member.group;
    const Json* in = &json;
    if (!group.empty()) {
      const auto found = json.find(group);
      if (found == json.end()) {
        continue;
      }
      if (!found->is_object()) {
        return SettingsError{SettingsError::Kind::kBadMember, group};
      }
      in = &*found;
    }
    const auto value = in->find(member.name);
    if (value != in->end() && !member.read(*value, settings)) {
      const std::string prefix = group.empty() ? "" : group + ".";
      return SettingsError{SettingsError::Kind::kBadMember, prefix + member.name};
    }
  }
  return settings;
}

std::string format_settings(const Settings& settings, std::string_view before) {
  Json json = parse_object(before);
  json["name"] = settings.name;
  json["relay"] = settings.relay;
  json["theme"] = settings.theme == ui::ThemeChoice::kDark ? "dark" : "light";
  const auto group = [&json](const char* name) -> Json& {
    Json& object = json[name];
    if (!object.is_object()) {
      object = Json::object();
    }
    return object;
  };
  Json& devices = group("devices");
  devices["camera"] = settings.camera;
  devices["microphone"] = settings.microphone;
  devices["speaker"] = settings.speaker;
  Json& voice = group("voice");
  voice["echo_cancellation"] = settings.voice.echo_cancellation;
  voice["noise_suppression"] = settings.voice.noise_suppression;
  voice["gain_control"] = settings.voice.gain_control;
  // Text that is not UTF-8 (a device's name may be anything) is written as U+FFFD rather than not
  // at all.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

LoadedSettings load_settings(const std::filesystem::path& path) {
  LoadedSettings loaded;
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) {
    if (error) {
      loaded.must_not_save = true;
      loaded.notice = "The settings cannot be read (" + path.string() + ": " + error.message() +
                      "), and nothing will be kept.";
    }
    return loaded;
  }
  std::string text;
  try {
    text = load_text(path, kSettingsFileMax);
  } catch (const std::runtime_error& unreadable) {
    const auto size = std::filesystem::file_size(path, error);
    if (!error && size > static_cast<uintmax_t>(kSettingsFileMax.bytes())) {
      set_aside(path, describe({SettingsError::Kind::kTooLong}), loaded);
    } else {
      loaded.must_not_save = true;
      loaded.notice = "The settings cannot be read (" + std::string{unreadable.what()} +
                      "), and nothing will be kept.";
    }
    return loaded;
  }
  auto parsed = parse_settings(text);
  if (parsed) {
    loaded.settings = std::move(parsed).value();
  } else {
    set_aside(path, describe(parsed.error()), loaded);
  }
  return loaded;
}

void save_settings(const Settings& settings, const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
      throw std::runtime_error(path.parent_path().string() +
                               ": cannot be made: " + error.message());
    }
  }
  std::string before;
  if (std::filesystem::is_regular_file(path, error)) {
    before = load_text(path, kSettingsFileMax);
  }
  save_text(format_settings(settings, before), path);
}

std::filesystem::path settings_path(const char* xdg_config_home, const char* home) {
  // The rules say to ignore a relative one.
  if (xdg_config_home != nullptr && *xdg_config_home == '/') {
    return std::filesystem::path{xdg_config_home} / "cress" / "settings.json";
  }
  if (home != nullptr && *home != '\0') {
    return std::filesystem::path{home} / ".config" / "cress" / "settings.json";
  }
  return {};
}

std::filesystem::path identity_path(const std::filesystem::path& settings_path) {
  return settings_path.parent_path() / "identity";
}

std::filesystem::path reports_path(const char* home) {
  return home != nullptr && *home != '\0' ? std::filesystem::path{home} / "cress-reports"
                                          : std::filesystem::path{};
}

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
