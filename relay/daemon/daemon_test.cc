#include "relay/daemon/daemon.hh"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "transport/runtime/driver.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/secure/connection.hh"

namespace cress::relay {
namespace {

secure::Secret key_of(uint8_t fill) {
  return secure::derive_room(std::vector<std::byte>(16, std::byte{fill})).access;
}

/// A member's connection on a socket of its own, in a network of its own.
struct LiveJoiner final : Machine {
  LiveJoiner(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, uint8_t network,
             const Address& relay, const secure::Secret& access)
      : socket(clock, {.bind = own_address(network)}),
        connection(clock.now(), {.role = secure::Role::kJoiner,
                                 .credential = secure::room_credential(access),
                                 .listener = relay}),
        driver({clock, loop, socket, *this}) {}

  static Address own_address(uint8_t network) {
    return {.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, network, 1}};
  }
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    connection.handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override { connection.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    return connection.poll_transmit(now);
  }
  TimePoint poll_timeout() const override { return connection.poll_timeout(); }
  bool drained(TimePoint /*now*/) override {
    while (connection.poll_datagram()) {
      ++datagrams;
    }
    while (const auto event = connection.poll_event()) {
      if (const auto* over = std::get_if<secure::Closed>(&*event)) {
        closed = over->reason;
      }
    }
    return true;
  }

  runtime::UdpSocket socket;
  secure::Connection connection;
  uint64_t datagrams = 0;
  std::optional<secure::CloseReason> closed;
  runtime::Driver driver;
};

/// In which threads SQLite opens files and runs statements, of connections that are opened while it
/// exists. One at a time.
class SqliteThreads {
 public:
  SqliteThreads() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(&watch)); }
  ~SqliteThreads() { sqlite3_reset_auto_extension(); }
  SqliteThreads(const SqliteThreads&) = delete;
  SqliteThreads& operator=(const SqliteThreads&) = delete;

  /// Since the last call.
  static std::set<std::thread::id> take() {
    const std::scoped_lock lock{seen().mutex};
    return std::exchange(seen().threads, {});
  }

 private:
  static int watch(sqlite3* database, char** /*error*/, const sqlite3_api_routines* /*all*/) {
    note();
    return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, &note_statement, nullptr);
  }
  static int note_statement(unsigned /*what*/, void* /*own*/, void* /*p*/, void* /*x*/) {
    note();
    return 0;
  }
  static void note() {
    const std::scoped_lock lock{seen().mutex};
    seen().threads.insert(std::this_thread::get_id());
  }
  struct Seen {
    std::mutex mutex;
    std::set<std::thread::id> threads;
  };
  static Seen& seen() {  // SQLite calls functions, not objects
    static Seen all;
    return all;
  }
};

class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() {
    std::string name = (std::filesystem::temp_directory_path() / "cress-daemon-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    config_.listen = "127.0.0.1:0";
    config_.metrics = "";
    config_.rooms = folder_ / "rooms.db";
    config_.tick = 20ms;
    RoomStore store{config_.rooms};
    store.create({.door = {.name = "blue", .access = key_of(1)}, .created = 0});
  }
  ~DaemonTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  RelayConfig config_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  std::ostringstream log_;
};

TEST_F(DaemonTest, ManyJoinAtOnceAndAreSentAway) {
  Daemon daemon{clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_};
  std::vector<std::unique_ptr<LiveJoiner>> members;
  for (uint8_t i = 0; i < 12; ++i) {
    members.push_back(
        std::make_unique<LiveJoiner>(clock_, loop_, i, daemon.local_address(), key_of(1)));
  }
  LiveJoiner stranger{clock_, loop_, 100, daemon.local_address(), key_of(2)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] {
    return stranger.closed && std::ranges::all_of(members, [](const auto& member) {
             return member->connection.is_connected() && member->datagrams > 0;
           });
  }));
  EXPECT_EQ(stranger.closed, secure::CloseReason::kWrongSecret);
  daemon.drain();
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] {
    return std::ranges::all_of(members, [](const auto& member) { return !!member->closed; });
  }));
}

TEST_F(DaemonTest, RoomsAreLookedForInAnotherThreadThanMediaIsForwarded) {
  config_.tick = 1h;  // no other reason to read the file
  const SqliteThreads sqlite;
  Daemon daemon{clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_};
  RoomStore{config_.rooms}.create({.door = {.name = "red", .access = key_of(3)}, .created = 0});
  const auto own = std::this_thread::get_id();
  EXPECT_EQ(SqliteThreads::take(), std::set{own}) << "this is the thread of the daemon's loop";
  const LiveJoiner red{clock_, loop_, 1, daemon.local_address(), key_of(3)};
  const LiveJoiner stranger{clock_, loop_, 2, daemon.local_address(), key_of(9)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_,
                                 [&] { return red.connection.is_connected() && stranger.closed; }));
  const auto readers = SqliteThreads::take();
  EXPECT_EQ(readers.size(), 1U);
  EXPECT_FALSE(readers.contains(own));
}

TEST_F(DaemonTest, MayEndDuringAJoin) {
  size_t half_joined = 0;
  for (int round = 0; round < 20; ++round) {
    auto daemon = std::make_unique<Daemon>(
        clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_);
    std::vector<std::unique_ptr<LiveJoiner>> members;
    for (uint8_t i = 0; i < 5; ++i) {
      members.push_back(
          std::make_unique<LiveJoiner>(clock_, loop_, i, daemon->local_address(), key_of(1)));
    }
    runtime::run_until(
        clock_, loop_, [] { return false; }, round * 1ms);
    daemon.reset();
    // Reads what is in transit to each; from then on no member answers.
    runtime::run_until(
        clock_, loop_, [] { return false; }, 1ms);
    std::vector<bool> were_in;
    for (const auto& member : members) {
      were_in.push_back(member->connection.is_connected());
      half_joined += were_in.back() ? 0 : 1;
    }
    runtime::run_until(
        clock_, loop_, [] { return false; }, 1ms);
    for (size_t i = 0; i < members.size(); ++i) {
      EXPECT_EQ(members[i]->connection.is_connected(), were_in[i]);
      EXPECT_FALSE(members[i]->closed) << "nobody was left to say so";
    }
  }
  EXPECT_GT(half_joined, 0U);
  // Nothing is left behind that would be missing for the next one.
  Daemon next{clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_};
  const LiveJoiner member{clock_, loop_, 1, next.local_address(), key_of(1)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return member.connection.is_connected(); }));
  EXPECT_EQ(log_.str().find("\"error\""), std::string::npos) << log_.str();
}

TEST_F(DaemonTest, EventsAreLogged) {
  Daemon daemon{clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_};
  LiveJoiner member{clock_, loop_, 1, daemon.local_address(), key_of(1)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return member.connection.is_connected(); }));
  EXPECT_NE(log_.str().find("listening"), std::string::npos);
  EXPECT_TRUE(runtime::run_until(clock_, loop_,
                                 [&] { return log_.str().find("joined") != std::string::npos; }));
  // As a relay's owner wants it by default: without the last byte of the address.
  EXPECT_NE(log_.str().find(R"("event":"joined","room":"blue","member":1,"address":"127.0.1.0")"),
            std::string::npos)
      << log_.str();
  RoomStore{config_.rooms}.ask_to_kick("blue", 1);
  EXPECT_TRUE(runtime::run_until(
      clock_, loop_, [&] { return log_.str().find("was removed") != std::string::npos; }));
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return !!member.closed; }));
  EXPECT_EQ(member.closed, secure::CloseReason::kRemoved);
}

TEST_F(DaemonTest, RefusedJoinsAreLoggedWithTheirReason) {
  config_.machine.room.members_max = 1;
  RoomStore store{config_.rooms};
  store.create({.door = {.name = "green", .access = key_of(2)}, .created = 0});
  Daemon daemon{clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_};
  const auto end_of = [&](uint8_t network, uint8_t key) {
    LiveJoiner joiner{clock_, loop_, network, daemon.local_address(), key_of(key)};
    runtime::run_until(clock_, loop_, [&] { return !!joiner.closed; });
    return joiner.closed;
  };
  LiveJoiner first{clock_, loop_, 1, daemon.local_address(), key_of(1)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return first.connection.is_connected(); }));
  EXPECT_EQ(end_of(2, 1), secure::CloseReason::kFull);
  EXPECT_NE(log_.str().find(R"("event":"refused","room":"blue","member":2,"address":"127.0.2.0",)"
                            R"("words":"the room is full")"),
            std::string::npos)
      << log_.str();
  EXPECT_EQ(end_of(3, 9), secure::CloseReason::kWrongSecret);
  EXPECT_NE(log_.str().find(R"("event":"refused","address":"127.0.3.0","words":"no room has this)"),
            std::string::npos)
      << log_.str();
  store.remove("green");
  EXPECT_TRUE(runtime::run_until(
      clock_, loop_, [&] { return log_.str().find("\"closed\"") != std::string::npos; }));
  EXPECT_EQ(end_of(4, 2), secure::CloseReason::kWrongSecret);
  EXPECT_NE(
      log_.str().find(R"("room":"green","address":"127.0.4.0","words":"the room was closed")"),
      std::string::npos)
      << log_.str();
}

TEST_F(DaemonTest, ARoomFileHasOneRelay) {
  const Daemon daemon{clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_};
  try {
    const Daemon other{clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_};
    FAIL() << "a second relay on the same rooms";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("another relay uses it"), std::string::npos);
  }
  // Commands may use the file meanwhile.
  EXPECT_EQ(RoomStore{config_.rooms}.rooms().size(), 1U);
}

TEST_F(DaemonTest, MembersStayWhileTheRelayIsNotReady) {
  config_.metrics = "127.0.0.1:0";
  config_.not_ready = 300ms;
  Daemon daemon{clock_, loop_, config_, [] { return UnixSeconds{0}; }, log_};
  LiveJoiner member{clock_, loop_, 1, daemon.local_address(), key_of(1)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return member.connection.is_connected(); }));
  const TimePoint asked = clock_.now();
  daemon.drain();
  // New members may still come: whoever sends them here has not noticed yet.
  LiveJoiner late{clock_, loop_, 2, daemon.local_address(), key_of(1)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return late.connection.is_connected(); }));
  EXPECT_FALSE(member.closed);
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return member.closed && late.closed; }));
  EXPECT_EQ(member.closed, secure::CloseReason::kGoingAway);
  EXPECT_GE(clock_.now() - asked, config_.not_ready);
}

TEST_F(DaemonTest, ARoomOpensClosesAndExpiresWhileItRuns) {
  UnixSeconds wall{100};
  RoomStore store{config_.rooms};
  store.create({.door = {.name = "green", .access = key_of(2)}, .created = 0, .expires = 200});
  Daemon daemon{clock_, loop_, config_, [&] { return wall; }, log_};
  LiveJoiner blue{clock_, loop_, 1, daemon.local_address(), key_of(1)};
  LiveJoiner green{clock_, loop_, 2, daemon.local_address(), key_of(2)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] {
    return blue.connection.is_connected() && green.connection.is_connected();
  }));
  store.remove("blue");
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return !!blue.closed; }));
  EXPECT_EQ(blue.closed, secure::CloseReason::kRemoved);
  EXPECT_FALSE(green.closed);
  wall = 200;
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return !!green.closed; }));
  EXPECT_NE(log_.str().find("expired"), std::string::npos);
  EXPECT_TRUE(store.rooms().empty());
  // A room created a moment ago is open when a member asks for it.
  store.create({.door = {.name = "red", .access = key_of(3)}, .created = 0});
  LiveJoiner red{clock_, loop_, 3, daemon.local_address(), key_of(3)};
  EXPECT_TRUE(runtime::run_until(clock_, loop_, [&] { return red.connection.is_connected(); }));
}

}  // namespace
}  // namespace cress::relay
