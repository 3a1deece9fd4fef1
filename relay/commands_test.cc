#include "relay/commands.hh"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "transport/secure/handshake/credential.hh"
#include "transport/secure/link/link.hh"

namespace cress::relay {
namespace {

class RelayCommands : public ::testing::Test {
 protected:
  struct Answer {
    int status = 0;
    std::string out;
    std::string err;
  };
  void SetUp() override {
    folder_ = std::filesystem::path{::testing::TempDir()} / "cress-relay-commands" /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    rooms_ = (folder_ / "rooms.db").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Answer answer(std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.insert(arguments.begin(), {"cress-relay", "--rooms", rooms_});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) {
      argv.push_back(argument.c_str());
    }
    std::istringstream in{input};
    std::ostringstream out;
    std::ostringstream err;
    const int status = run_command_line(
        static_cast<int>(argv.size()), argv.data(), [] { return UnixSeconds{1'700'000'000}; }, in,
        out, err);
    return {status, out.str(), err.str()};
  }
  /// One line, and it names the program.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& words,
                      int status = 2) const {
    const Answer refused = answer(arguments);
    EXPECT_EQ(refused.status, status) << refused.err;
    EXPECT_TRUE(refused.out.empty()) << refused.out;
    EXPECT_EQ(refused.err.rfind("cress-relay: ", 0), 0U) << refused.err;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
  }

  std::filesystem::path folder_;
  std::string rooms_;
  int made_ = 0;
};

TEST_F(RelayCommands, CreatePrintsTheLinkOfTheRoomThatIsKept) {
  const Answer created = answer({"--host", "relay.example.org", "--listen", "[::]:4747", "room",
                                 "create", "kitchen", "--expires", "7d", "--members", "5"});
  ASSERT_EQ(created.status, 0) << created.err;
  const auto link = secure::parse_link(created.out.substr(0, created.out.size() - 1));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->host, "relay.example.org");
  EXPECT_EQ(link->port, 4747);
  EXPECT_EQ(link->room, "kitchen");
  const auto rooms = RoomStore{rooms_}.rooms();
  ASSERT_EQ(rooms.size(), 1U);
  EXPECT_EQ(rooms[0].door.access, secure::derive_room(link->secret).access);
  EXPECT_EQ(rooms[0].door.members_max, 5U);
  EXPECT_EQ(rooms[0].expires, 1'700'000'000 + 7 * 86'400);
}

TEST_F(RelayCommands, AddTakesTheAccessAloneAndNeverTheLink) {
  const secure::Link link{
      .host = "relay.example", .port = 4747, .secret = secure::make_secret(), .room = "kitchen"};
  const secure::Secret key = secure::derive_room(link.secret).access;
  const std::string access = secure::format_room_access({.room = "kitchen", .key = key}) + "\n";
  const Answer added = answer({"room", "add", "--expires", "1h", "--members", "5"}, access);
  EXPECT_EQ(added.status, 0) << added.err;
  const auto rooms = RoomStore{rooms_}.rooms();
  ASSERT_EQ(rooms.size(), 1U);
  EXPECT_EQ(rooms[0].door.name, "kitchen");
  EXPECT_EQ(rooms[0].door.access, key);
  EXPECT_EQ(rooms[0].door.members_max, 5U);
  EXPECT_EQ(rooms[0].expires, 1'700'000'000 + 3'600);
  EXPECT_EQ(answer({"room", "add"}, access).status, 1) << "the name is taken";
  const Answer whole = answer({"room", "add"}, secure::format_link(link) + "\n");
  EXPECT_EQ(whole.status, 2);
  EXPECT_NE(whole.err.find("must not have"), std::string::npos) << whole.err;
  EXPECT_EQ(answer({"room", "add"}, "cress-access://attic#AAAA\n").status, 2);
  EXPECT_EQ(answer({"room", "add"}).status, 2);
  EXPECT_EQ(RoomStore{rooms_}.rooms().size(), 1U);
}

TEST_F(RelayCommands, TheSecretOfALinkIsNowhereInTheFile) {
  const Answer created = answer({"room", "create", "kitchen"});
  const auto link = secure::parse_link(created.out.substr(0, created.out.size() - 1));
  ASSERT_TRUE(link);
  std::string stored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::ifstream file{entry.path(), std::ios::binary};
    stored.append(std::istreambuf_iterator<char>{file}, {});
  }
  const secure::Secret access = secure::derive_room(link->secret).access;
  const auto holds = [&stored](std::span<const std::byte> bytes) {
    return stored.find(std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()}) !=
           std::string::npos;
  };
  EXPECT_TRUE(holds(access.bytes()));
  EXPECT_FALSE(holds(link->secret));
  EXPECT_EQ(stored.find(created.out.substr(created.out.find('#') + 1, 20)), std::string::npos);
}

TEST_F(RelayCommands, RoomsAreListedAndClosed) {
  ASSERT_EQ(answer({"room", "create", "kitchen", "--expires", "12h"}).status, 0);
  ASSERT_EQ(answer({"room", "create", "garden", "--members", "3"}).status, 0);
  const auto listed = nlohmann::json::parse(answer({"room", "list", "--json"}).out);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0]["name"], "garden");
  EXPECT_EQ(listed[0]["members_max"], 3);
  EXPECT_EQ(listed[1]["expires"], 1'700'043'200);
  EXPECT_NE(answer({"room", "list"}).out.find("2023-11-15 10:13Z"), std::string::npos);
  EXPECT_EQ(answer({"room", "close", "garden"}).status, 0);
  EXPECT_EQ(RoomStore{rooms_}.rooms().size(), 1U);
}

TEST_F(RelayCommands, TheConfigurationInForceIsPrinted) {
  std::ofstream{folder_ / "relay.toml"} << "host = \"a.example\"\n[limits]\nrooms = 7\n";
  const Answer printed = answer({"--config", (folder_ / "relay.toml").string(), "config"});
  ASSERT_EQ(printed.status, 0) << printed.err;
  EXPECT_NE(printed.out.find("\nrooms = 7\n"), std::string::npos);
  EXPECT_NE(printed.out.find("host = 'a.example'"), std::string::npos) << printed.out;
}

TEST_F(RelayCommands, BadArgumentsAreOneClearLine) {
  ASSERT_EQ(answer({"room", "create", "kitchen"}).status, 0);
  expect_refused({"room"}, "subcommand");
  expect_refused({"room", "create"}, "NAME");
  expect_refused({"room", "create", "a room"}, "is no room's name");
  for (const char* time :
       {"soon", "30", "30x", "0d", "-1d", "3661d", "99999999999999999999d", "d"}) {
    expect_refused({"room", "create", "x", "--expires", time}, "--expires");
  }
  expect_refused({"room", "create", "x", "--members", "1000"}, "1000");
  expect_refused({"--listen", "[::]:0", "room", "create", "x"}, "fixed port");
  expect_refused({"--host", "a b", "room", "create", "x"}, "neither a name nor an address");
  expect_refused({"--config", "none.toml"}, "none.toml: cannot be read");
  expect_refused({"--listen", "nonsense"}, "nonsense");
  expect_refused({"--frobnicate"}, "--frobnicate");
  expect_refused({"room", "kick", "kitchen", "0"}, "0");
  expect_refused({"room", "create", "kitchen"}, "already", 1);
  expect_refused({"room", "close", "attic"}, "no room \"attic\"", 1);
  expect_refused({"room", "kick", "attic", "3"}, "no room \"attic\"", 1);
}

TEST_F(RelayCommands, ALinkThatOthersCannotReachIsPrintedWithAWarning) {
  const auto warning_of = [&](const std::string& host) {
    const Answer created =
        answer({"--host", host, "room", "create", "r" + std::to_string(++made_)});
    EXPECT_EQ(created.status, 0) << created.err;
    EXPECT_TRUE(created.out.starts_with("cress://")) << created.out;
    return created.err;
  };
  for (const char* host : {"localhost", "127.0.0.1", "::1", "192.168.1.2", "10.0.0.1", "fe80::1"}) {
    EXPECT_TRUE(warning_of(host).starts_with("cress-relay: warning: only ")) << host;
  }
  for (const char* host : {"relay.example.org", "192.0.2.7", "2001:db8::7"}) {
    EXPECT_EQ(warning_of(host), "") << host;
  }
}

TEST_F(RelayCommands, AMistypedRoomFileIsReportedAndNotMade) {
  expect_refused({"room", "list"}, "no such room file");
  expect_refused({"room", "close", "kitchen"}, "no such room file");
  expect_refused({"room", "kick", "kitchen", "1"}, "no such room file");
  EXPECT_FALSE(std::filesystem::exists(rooms_));
}

TEST_F(RelayCommands, HelpHasExamplesAndVersionIsPrinted) {
  const Answer help = answer({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("room create kitchen"), std::string::npos);
  EXPECT_EQ(answer({"--version"}).out.rfind("cress-relay ", 0), 0U);
}

}  // namespace
}  // namespace cress::relay
