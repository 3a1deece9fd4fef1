#include "relay/daemon/relay_config.hh"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace cress::relay {
namespace {

std::string complaint(std::string_view text) {
  try {
    (void)parse_relay_config(text, "relay.toml");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(RelayConfig, NothingIsTheDefaults) {
  EXPECT_EQ(format_relay_config(parse_relay_config("", "x")), format_relay_config({}));
}

TEST(RelayConfig, TheGuideNamesEverySetting) {
  std::ifstream file{CRESS_SOURCE "/docs/user-guide.md"};
  const std::string guide{std::istreambuf_iterator<char>{file}, {}};
  std::istringstream lines{format_relay_config({})};
  int settings = 0;
  for (std::string line; std::getline(lines, line);) {
    if (const size_t end = line.find(" = "); end != std::string::npos && line.front() != '#') {
      ++settings;
      EXPECT_NE(guide.find(line.substr(0, end).insert(0, 1, '`')), std::string::npos) << line;
    }
  }
  EXPECT_GT(settings, 15);
}

TEST(RelayConfig, WhatIsPrintedIsReadAgain) {
  RelayConfig config;
  config.listen = "192.0.2.1:99";
  config.host = "relay.example.org";
  config.rooms = "/var/lib/cress/rooms.db";
  config.metrics = "";
  config.log_addresses = true;
  config.drain_again_in = 7s;
  config.machine.live_rooms_max = 3;
  config.machine.listener.peers_max = 33;
  config.machine.room.members_max = 9;
  config.machine.room.member_rate_max = DataRate::kilobits_per_second(4321);
  config.machine.room.lost_after = 9s;
  const std::string text = format_relay_config(config);
  const RelayConfig again = parse_relay_config(text, "x");
  EXPECT_EQ(format_relay_config(again), text);
  EXPECT_EQ(again.rooms, config.rooms);
  EXPECT_EQ(again.machine.room.members_max, 9U);
  EXPECT_EQ(again.machine.room.lost_after, 9s);
}

TEST(RelayConfig, ErrorsNameFileAndLine) {
  EXPECT_EQ(complaint("listen = \"[::]:1\"\n[limits]\nmembers_per_room = 0\n"),
            "relay.toml:3: members_per_room = 0 is not in 1 to 41");
  EXPECT_EQ(complaint("\nlissten = \"x\"\n"),
            "relay.toml:2: lissten is no setting of a relay; `cress-relay config` prints all");
  EXPECT_EQ(complaint("[limits]\nrooms = \"many\"\n"),
            "relay.toml:2: rooms must be a whole number");
  EXPECT_EQ(
      complaint("[limitz]\nrooms = 3\n"),
      "relay.toml:2: [limitz] rooms is no setting of a relay; `cress-relay config` prints all");
  EXPECT_EQ(complaint("listen = 7\n"), "relay.toml:1: listen must be text in quotes");
  EXPECT_EQ(complaint("log_addresses = 1\n"), "relay.toml:1: log_addresses must be true or false");
  EXPECT_NE(complaint("listen = \n").find("relay.toml:1: not TOML: "), std::string::npos);
}

TEST(RelayConfig, PathsAreRelativeToTheFile) {
  const auto folder = std::filesystem::path{::testing::TempDir()} / "cress-relay-config";
  std::filesystem::create_directories(folder);
  std::ofstream{folder / "relay.toml"} << "rooms = \"mine.db\"\n";
  EXPECT_EQ(load_relay_config(folder / "relay.toml").rooms, folder / "mine.db");
  EXPECT_THROW((void)load_relay_config(folder / "none.toml"), std::runtime_error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cress::relay
