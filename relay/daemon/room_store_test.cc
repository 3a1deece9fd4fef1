#include "relay/daemon/room_store.hh"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace cress::relay {
namespace {

class RoomStoreFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path{::testing::TempDir()} / "cress-room-store" /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path file() const { return folder_ / "rooms.db"; }

  static StoredRoom room(const std::string& name, uint8_t key) {
    StoredRoom room{.door = {}, .created = 1'700'000'000};
    room.door.name = name;
    std::ranges::fill(room.door.access.bytes(), std::byte{key});
    return room;
  }
  /// The error of opening, or of reading.
  std::string complaint() const {
    try {
      (void)RoomStore{file()}.rooms();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "nothing";
  }

  std::filesystem::path folder_;
};

TEST_F(RoomStoreFile, RoomsOutliveTheProgram) {
  {
    RoomStore store{file()};
    StoredRoom limited = room("kitchen", 1);
    limited.door.members_max = 4;
    limited.expires = 1'800'000'000;
    EXPECT_TRUE(store.create(limited));
    EXPECT_TRUE(store.create(room("garden", 2)));
  }
  const auto rooms = RoomStore{file()}.rooms();
  ASSERT_EQ(rooms.size(), 2U);
  EXPECT_EQ(rooms[0].door.name, "garden");
  EXPECT_EQ(rooms[0].door.access, room("", 2).door.access);
  EXPECT_FALSE(rooms[0].expires);
  EXPECT_FALSE(rooms[0].door.members_max);
  EXPECT_EQ(rooms[1].door.members_max, 4U);
  EXPECT_EQ(rooms[1].expires, 1'800'000'000);
  EXPECT_EQ(rooms[1].created, 1'700'000'000);
}

TEST_F(RoomStoreFile, ANameIsTakenOnce) {
  RoomStore store{file()};
  EXPECT_TRUE(store.create(room("kitchen", 1)));
  EXPECT_FALSE(store.create(room("kitchen", 2)));
  EXPECT_EQ(store.rooms().front().door.access, room("", 1).door.access);
  EXPECT_TRUE(store.remove("kitchen"));
  EXPECT_FALSE(store.remove("kitchen"));
  EXPECT_TRUE(store.create(room("kitchen", 2)));
}

TEST_F(RoomStoreFile, RunningRelayNoticesExternalChanges) {
  RoomStore relay{file()};
  RoomStore terminal{file()};
  const int64_t before = relay.version();
  EXPECT_EQ(relay.version(), before);
  ASSERT_TRUE(terminal.create(room("kitchen", 1)));
  EXPECT_NE(relay.version(), before);
  EXPECT_EQ(relay.rooms().size(), 1U);
}

TEST_F(RoomStoreFile, RequestsToTheRelayAreTakenOnce) {
  RoomStore relay{file()};
  RoomStore terminal{file()};
  terminal.ask_to_kick("kitchen", 3);
  terminal.ask_to_kick("garden", 65'535);
  using Kicks = std::vector<std::pair<std::string, room::MemberNumber>>;
  EXPECT_EQ(relay.take_kicks(), (Kicks{{"kitchen", 3}, {"garden", 65'535}}));
  EXPECT_EQ(relay.take_kicks(), Kicks{});
}

TEST_F(RoomStoreFile, OnlyTheOwnerMayReadIt) {
  (void)RoomStore{file()}.create(room("kitchen", 1));
  struct stat status {};
  ASSERT_EQ(stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(RoomStoreFile, OtherFilesAreLeftUnchanged) {
  const std::string text = "This is a letter, not a database. " + std::string(5000, 'x');
  std::ofstream{file()} << text;
  std::filesystem::permissions(file(), std::filesystem::perms{0600});
  EXPECT_NE(complaint().find("is not a room file"), std::string::npos) << complaint();
  std::ifstream again{file()};
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>{again}, {}}), text);
}

TEST_F(RoomStoreFile, TruncatedFileIsReportedAsDamaged) {
  {
    RoomStore store{file()};
    for (uint8_t i = 0; i < 200; ++i) {
      ASSERT_TRUE(store.create(room("room" + std::to_string(i), i)));
    }
  }
  ASSERT_GT(std::filesystem::file_size(file()), 8192U);
  std::filesystem::resize_file(file(), 6000);
  EXPECT_NE(complaint().find("damaged"), std::string::npos) << complaint();
}

/// Another program that has the file open.
struct OtherProgram {
  explicit OtherProgram(const std::filesystem::path& file) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  }
  ~OtherProgram() { sqlite3_close(database); }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;
  void run(const char* sql) const {
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }
  sqlite3* database = nullptr;
};

TEST_F(RoomStoreFile, AFileThatStaysLockedIsToldAfterTwoSeconds) {
  EXPECT_EQ(complaint(), "nothing");
  const OtherProgram other{file()};
  other.run("BEGIN IMMEDIATE;");
  EXPECT_NE(complaint().find("another program has kept it locked for 2 s; try again"),
            std::string::npos);
}

TEST_F(RoomStoreFile, AFileOfANewerRelayIsLeftAlone) {
  EXPECT_EQ(complaint(), "nothing");
  OtherProgram{file()}.run("PRAGMA user_version = 99;");
  EXPECT_NE(complaint().find("written by a newer cress-relay (layout 99)"), std::string::npos);
}

TEST_F(RoomStoreFile, AnImpossibleEntryIsReportedByItsRoom) {
  StoredRoom limited = room("kitchen", 1);
  limited.door.members_max = 1;
  EXPECT_TRUE(RoomStore{file()}.create(limited));
  EXPECT_EQ(complaint(), "nothing");
  const std::string access = "UPDATE rooms SET access = x'" + std::string(64, '0');
  for (const std::string& sql : {std::string{"UPDATE rooms SET members_max = 0;"}, access + "00';",
                                 access.substr(0, access.size() - 2) + "';",
                                 std::string{"UPDATE rooms SET name = 'a b';"}}) {
    OtherProgram{file()}.run(sql.c_str());
    const char* name = sql.find("a b") == std::string::npos ? "kitchen" : "a b";
    EXPECT_NE(complaint().find(std::string{"the entry of room \""} + name + "\" makes no sense"),
              std::string::npos)
        << sql << ": " << complaint();
    OtherProgram{file()}.run((access + "', members_max = NULL, name = 'kitchen';").c_str());
    EXPECT_EQ(complaint(), "nothing") << sql;
  }
}

TEST_F(RoomStoreFile, MissingFolderIsReportedByName) {
  try {
    const RoomStore store{folder_ / "no" / "rooms.db"};
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("no/rooms.db"), std::string::npos);
  }
}

TEST_F(RoomStoreFile, AFileThatOthersMayReadIsRejected) {
  EXPECT_TRUE(RoomStore{file()}.create(room("kitchen", 1)));
  for (const unsigned mode : {0640U, 0604U, 0620U, 0602U}) {
    std::filesystem::permissions(file(), std::filesystem::perms{mode});
    EXPECT_NE(complaint().find("mode 600"), std::string::npos) << complaint();
  }
  std::filesystem::permissions(file(), std::filesystem::perms{0600});
  EXPECT_EQ(complaint(), "nothing");
}

TEST_F(RoomStoreFile, ASecondConnectionLeavesTheFirstItsChanges) {
  // The relay has two. If opening one dropped the other's locks, the next program would delete the
  // log that both read.
  RoomStore first{file()};
  const RoomStore second{file()};
  const auto create_elsewhere = [this](const std::string& name, uint8_t key) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(RoomStore{file()}.create(room(name, key)) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  };
  create_elsewhere("kitchen", 1);
  create_elsewhere("garden", 2);
  EXPECT_EQ(first.rooms().size(), 2U);
  EXPECT_EQ(second.rooms().size(), 2U);
}

}  // namespace
}  // namespace cress::relay
