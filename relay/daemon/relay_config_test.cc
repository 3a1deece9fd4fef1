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

TEST(RelayConfig, EmptyFileGivesTheDefaults) {
  EXPECT_EQ(format_relay_config(parse_relay_config("", "x")), format_relay_config({}));
}

TEST(RelayConfig, TheGuideNamesEverySetting) {
  std::ifstream file{CRESS_SOURCE "/docs/guide/cress-relay.md"};
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

TEST(RelayConfig, PrintedConfigurationIsReadBack) {
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
  EXPECT_EQ(complaint("[limits]\nroomz = 3\n"),
            "relay.toml:2: [limits] roomz is no setting of a relay; `cress-relay config` prints "
            "all");
  for (const char* text : {"\n[limitz]\nrooms = 3\n", "\n[limitz]\n"}) {
    EXPECT_EQ(
        complaint(text),
        "relay.toml:2: [limitz] is no part of a relay's settings; `cress-relay config` prints "
        "all");
  }
  for (const char* key : {"listen", "host", "rooms"}) {
    EXPECT_EQ(complaint(std::string{key} + " = \"\"\n"),
              std::string{"relay.toml:1: "} + key + " is empty; leave it out for the default");
  }
  EXPECT_EQ(complaint("metrics = \"\"\n"), "nothing");
  EXPECT_EQ(complaint("listen = 7\n"), "relay.toml:1: listen must be text in quotes");
  EXPECT_EQ(complaint("log_addresses = 1\n"), "relay.toml:1: log_addresses must be true or false");
  EXPECT_NE(complaint("listen = \n").find("relay.toml:1: not TOML: "), std::string::npos);
}

// As in the guide: each number's range and default.
struct KnownNumber {
  const char* table;
  const char* name;
  int64_t least;
  int64_t most;
  int64_t usual;
};
constexpr KnownNumber kKnownNumbers[]{
    {"drain", "not_ready_ms", 0, 3'600'000, 3000},
    {"drain", "again_in_ms", 0, 3'600'000, 2000},
    {"calls", "calls", 0, 100'000, 0},
    {"calls", "call_kbps", 100, 1'000'000, 8000},
    {"calls", "call_minutes", 1, 100'000, 1440},
    {"limits", "rooms", 1, 100'000, 1024},
    {"limits", "members", 1, 100'000, 1024},
    {"limits", "members_per_room", 1, 41, 16},
    {"limits", "member_kbps", 50, 1'000'000, 6000},
    {"limits", "member_datagrams_per_second", 50, 1'000'000, 1500},
    {"limits", "control_messages_per_second", 5, 10'000, 50},
    {"limits", "video_kbps", 50, 100'000, 1500},
    {"limits", "thumbnail_kbps", 20, 100'000, 350},
    {"limits", "leg_queue_bytes", 16'000, 100'000'000, 256'000},
    {"limits", "lost_after_ms", 1'000, 600'000, 15'000},
    {"limits", "handshakes", 8, 100'000, 128},
    {"limits", "handshakes_per_second", 1, 100'000, 200},
    {"limits", "handshakes_per_second_of_a_network", 1, 100'000, 10},
};

TEST(RelayConfig, EachNumberIsTakenWithinItsBoundsAndNotBeyond) {
  for (const KnownNumber& known : kKnownNumbers) {
    const auto text = [&known](int64_t value) {
      return std::string{"["} + known.table + "]\n" + known.name + " = " + std::to_string(value) +
             "\n";
    };
    const std::string bounds =
        " is not in " + std::to_string(known.least) + " to " + std::to_string(known.most);
    const auto refusal = [&](int64_t value) {
      return std::string{"relay.toml:2: "} + known.name + " = " + std::to_string(value) + bounds;
    };
    EXPECT_EQ(complaint(text(known.least - 1)), refusal(known.least - 1));
    EXPECT_EQ(complaint(text(known.most + 1)), refusal(known.most + 1));
    EXPECT_EQ(complaint(text(known.least)), "nothing");
    EXPECT_EQ(complaint(text(known.most)), "nothing");
    const auto has = [&known](const RelayConfig& config, int64_t value) {
      const std::string line =
          std::string{"\n"} + known.name + " = " + std::to_string(value) + "\n";
      return format_relay_config(config).find(line) != std::string::npos;
    };
    EXPECT_TRUE(has(parse_relay_config(text(known.least), "x"), known.least)) << known.name;
    EXPECT_TRUE(has({}, known.usual)) << known.name;
  }
}

TEST(RelayConfig, EachNumberSetsItsOwnLimit) {
  const RelayConfig config = parse_relay_config(
      "listen = \"192.0.2.1:7\"\nhost = \"h\"\nrooms = \"r\"\nmetrics = \"m\"\n"
      "log_addresses = true\n[drain]\nagain_in_ms = 101\nnot_ready_ms = 100\n[calls]\ncalls = 97\n"
      "call_kbps = 198\ncall_minutes = 99\n[limits]\nrooms = 102\nmembers = 103\n"
      "members_per_room = 4\nmember_kbps = 105\nmember_datagrams_per_second = 106\n"
      "control_messages_per_second = 107\nvideo_kbps = 108\nthumbnail_kbps = 109\n"
      "leg_queue_bytes = 16010\nlost_after_ms = 1011\nhandshakes = 112\n"
      "handshakes_per_second = 113\nhandshakes_per_second_of_a_network = 114\n",
      "x");
  EXPECT_EQ(config.listen, "192.0.2.1:7");
  EXPECT_EQ(config.host, "h");
  EXPECT_EQ(config.rooms, "r");
  EXPECT_EQ(config.metrics, "m");
  EXPECT_TRUE(config.log_addresses);
  EXPECT_EQ(config.drain_again_in, 101ms);
  EXPECT_EQ(config.not_ready, 100ms);
  EXPECT_EQ(config.machine.calls.calls_max, 97U);
  EXPECT_EQ(config.machine.calls.rate_max, DataRate::kilobits_per_second(198));
  EXPECT_EQ(config.machine.calls.length_max, 99min);
  EXPECT_EQ(config.machine.live_rooms_max, 102U);
  EXPECT_EQ(config.machine.listener.peers_max, 103U);
  const RoomOptions& room = config.machine.room;
  EXPECT_EQ(room.members_max, 4U);
  EXPECT_EQ(room.member_rate_max, DataRate::kilobits_per_second(105));
  EXPECT_EQ(room.member_datagrams_per_second, 106);
  EXPECT_EQ(room.control_messages_per_second, 107);
  EXPECT_EQ(room.video_rate_max, DataRate::kilobits_per_second(108));
  EXPECT_EQ(room.thumbnail_rate, DataRate::kilobits_per_second(109));
  EXPECT_EQ(room.leg_queue_max, DataSize{16010});
  EXPECT_EQ(room.lost_after, 1011ms);
  EXPECT_EQ(config.machine.listener.pending_max, 112U);
  EXPECT_EQ(config.machine.listener.limits.handshakes.per_second, 113);
  EXPECT_EQ(config.machine.listener.limits.handshakes_of_network.per_second, 114);
}

TEST(RelayConfig, AFileLargerThanAConfigurationIsRefused) {
  const auto folder = std::filesystem::path{::testing::TempDir()} / "cress-relay-config-large";
  std::filesystem::create_directories(folder);
  const auto load = [&](size_t size) {
    std::ofstream{folder / "relay.toml"} << std::string(size, '\n');
    try {
      (void)load_relay_config(folder / "relay.toml");
    } catch (const std::runtime_error& error) {
      return std::string{error.what()};
    }
    return std::string{"nothing"};
  };
  EXPECT_EQ(load((1 << 20) - 1), "nothing");
  EXPECT_NE(load(1 << 20).find("larger than a configuration can be"), std::string::npos);
  std::filesystem::remove_all(folder);
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
