#include "app/desktop/settings/settings.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/base/text_file.hh"

namespace cress::desktop {
namespace {

namespace fs = std::filesystem;

class SettingsFileTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  std::string text() const { return load_text(path_, DataSize{1 << 20}); }

  const fs::path folder_ =
      fs::temp_directory_path() / ("cress-settings-" + std::to_string(::getpid()));
  const fs::path path_ = folder_ / "cress" / "settings.json";
  const fs::path bad_ = folder_ / "cress" / "settings.json.bad";
};

Settings unlike_the_defaults() {
  return {.name = "Åsa \"the\" Öberg",
          .theme = ui::ThemeChoice::kLight,
          .camera = "v4l2:usb-1:Desk camera",
          .microphone = "pulse:headset",
          .speaker = "none",
          .voice = {.echo_cancellation = false, .noise_suppression = true, .gain_control = false}};
}

TEST(Settings, ReadBackAsWritten) {
  for (const Settings& settings : {Settings{}, unlike_the_defaults()}) {
    const auto again = parse_settings(format_settings(settings));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, settings);
  }
}

TEST(Settings, MissingMembersHaveTheirDefaults) {
  const auto settings = parse_settings(R"({"devices": {"camera": "test"}})");
  ASSERT_TRUE(settings);
  Settings expected;
  expected.camera = "test";
  EXPECT_EQ(*settings, expected);
  ASSERT_TRUE(parse_settings("{}"));
  EXPECT_EQ(*parse_settings("{}"), Settings{});
}

TEST(Settings, InvalidMembersAreNamed) {
  const auto member = [](const std::string& text) {
    const auto settings = parse_settings(text);
    EXPECT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().kind, SettingsError::Kind::kBadMember) << text;
    return settings.error().member;
  };
  EXPECT_EQ(member(R"({"name": 7})"), "name");
  EXPECT_EQ(member(R"({"theme": "blue"})"), "theme");
  EXPECT_EQ(member(R"({"devices": []})"), "devices");
  EXPECT_EQ(member(R"({"devices": {"camera": ""}})"), "devices.camera");
  EXPECT_EQ(member(R"({"devices": {"speaker": null}})"), "devices.speaker");
  EXPECT_EQ(member(R"({"voice": {"gain_control": "yes"}})"), "voice.gain_control");
  EXPECT_EQ(member(R"({"devices": {"microphone": ")" + std::string(kDeviceIdMax + 1, 'x') + "\"}}"),
            "devices.microphone");
}

TEST(Settings, AnyTextIsParsedOrRejected) {
  for (const std::string text : {"", "{", "[]", "7", "null", "{\"name\": \"\xff\"}", "{} {}"}) {
    const auto settings = parse_settings(text);
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().kind, SettingsError::Kind::kNotJson) << text;
    EXPECT_FALSE(describe(settings.error()).empty());
  }
  EXPECT_FALSE(parse_settings(std::string(60'000, '[')));
  const auto long_one = parse_settings(std::string(70'000, ' ') + "{}");
  ASSERT_FALSE(long_one);
  EXPECT_EQ(long_one.error().kind, SettingsError::Kind::kTooLong);
}

// Changes, drops and doubles bytes in a good file; the result is settings or an error, and settings
// are read back as they were written.
TEST(Settings, DamagedTextGivesSettingsOrAnError) {
  const std::string whole = format_settings(unlike_the_defaults());
  Rng rng{7};
  int good = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = whole;
    for (uint64_t i = rng.below(4) + 1; i > 0; --i) {
      const size_t at = rng.below(text.size());
      switch (rng.below(3)) {
        case 0:
          text[at] = static_cast<char>(rng.below(256));
          break;
        case 1:
          text.erase(at, rng.below(8));
          break;
        default:
          text.insert(at, text.substr(at, rng.below(8)));
          break;
      }
    }
    if (const auto settings = parse_settings(text)) {
      ++good;
      const auto again = parse_settings(format_settings(*settings));
      ASSERT_TRUE(again) << "round " << round;
      EXPECT_EQ(*again, *settings) << "round " << round;
    }
  }
  EXPECT_GT(good, 100);
  EXPECT_LT(good, 4900);
}

TEST(Settings, UnknownMembersAreKept) {
  const std::string before =
      R"({"captions": true, "devices": {"camera": "x", "lamp": "desk"}, "theme": "light"})";
  const std::string after = format_settings(unlike_the_defaults(), before);
  EXPECT_NE(after.find("\"captions\": true"), after.npos) << after;
  EXPECT_NE(after.find("\"lamp\": \"desk\""), after.npos) << after;
  EXPECT_EQ(*parse_settings(after), unlike_the_defaults());
}

TEST(Settings, PathFollowsTheXdgRules) {
  EXPECT_EQ(settings_path("/etc/lea", "/home/lea"), "/etc/lea/cress/settings.json");
  EXPECT_EQ(settings_path(nullptr, "/home/lea"), "/home/lea/.config/cress/settings.json");
  EXPECT_EQ(settings_path("", "/home/lea"), "/home/lea/.config/cress/settings.json");
  EXPECT_EQ(settings_path("here", "/home/lea"), "/home/lea/.config/cress/settings.json");
  EXPECT_EQ(settings_path(nullptr, nullptr), "");
  EXPECT_EQ(settings_path(nullptr, ""), "");
}

TEST(Settings, ReportsAreInAFolderOfTheHomeFolder) {
  EXPECT_EQ(reports_path("/home/lea"), "/home/lea/cress-reports");
  EXPECT_EQ(reports_path(nullptr), "");
  EXPECT_EQ(reports_path(""), "");
}

TEST_F(SettingsFileTest, MissingFileGivesTheDefaultsSilently) {
  for (const fs::path& path : {path_, fs::path{}}) {
    const LoadedSettings loaded = load_settings(path);
    EXPECT_EQ(loaded.settings, Settings{});
    EXPECT_EQ(loaded.notice, std::nullopt);
    EXPECT_FALSE(loaded.must_not_save);
  }
}

TEST_F(SettingsFileTest, SavingMakesTheFolderAndIsReadBack) {
  save_settings(unlike_the_defaults(), path_);
  EXPECT_EQ(load_settings(path_).settings, unlike_the_defaults());
  save_text(R"({"captions": true})", path_);
  save_settings(unlike_the_defaults(), path_);
  EXPECT_EQ(load_settings(path_).settings, unlike_the_defaults());
  EXPECT_NE(text().find("captions"), std::string::npos);
}

TEST_F(SettingsFileTest, BadFileIsSetAsideAndReported) {
  const std::string long_one(70'000, 'x');
  for (const std::string& content :
       {std::string{"{\"name\": 7}"}, std::string{"nonsense"}, long_one}) {
    fs::create_directories(path_.parent_path());
    save_text(content, path_);
    const LoadedSettings loaded = load_settings(path_);
    EXPECT_EQ(loaded.settings, Settings{});
    ASSERT_TRUE(loaded.notice);
    EXPECT_NE(loaded.notice->find(bad_.string()), std::string::npos) << *loaded.notice;
    EXPECT_FALSE(loaded.must_not_save);
    EXPECT_FALSE(fs::exists(path_));
    EXPECT_EQ(load_text(bad_, DataSize{1 << 20}), content);
    fs::remove(bad_);
  }
}

TEST_F(SettingsFileTest, UnreadableFileIsNotOverwritten) {
  fs::create_directories(path_);  // a folder in its place
  const LoadedSettings loaded = load_settings(path_);
  EXPECT_TRUE(loaded.must_not_save);
  EXPECT_TRUE(loaded.notice);
  EXPECT_TRUE(fs::is_directory(path_));
}

TEST_F(SettingsFileTest, KeeperWritesTheNewestOnDestruction) {
  std::vector<std::string> errors;
  {
    SettingsKeeper keeper{path_, [&](const std::string& words) { errors.push_back(words); }};
    for (const std::string name : {"L", "Le", "Lea"}) {
      Settings settings;
      settings.name = name;
      keeper.save(settings);
    }
  }
  EXPECT_EQ(load_settings(path_).settings.name, "Lea");
  EXPECT_TRUE(errors.empty());
}

TEST_F(SettingsFileTest, FailedSaveIsReported) {
  fs::create_directories(folder_);
  save_text("a file where the folder should be", folder_ / "cress");
  std::vector<std::string> errors;
  {
    SettingsKeeper keeper{path_, [&](const std::string& words) { errors.push_back(words); }};
    keeper.save({});
  }
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].find("cress"), std::string::npos) << errors[0];
  {
    SettingsKeeper nowhere{{}, [](const std::string&) { FAIL() << "nothing is kept"; }};
  }
}

}  // namespace
}  // namespace cress::desktop
