#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/daemon/room_store.hh"
#include "transport/base/time.hh"

namespace cress::relay {

/// Reads the room file again when somebody asks for a room that is not open, because the room may
/// have been made a moment ago. Anybody can ask: the file is read once per kReadInterval at most,
/// and in the thread that computes handshakes, so that no question delays the forwarding of media.
/// It has the file open itself. Threads: look_up in one thread, take in one thread at another time.
class LateRooms {
 public:
  static constexpr Duration kReadInterval = 100ms;

  /// `now`: the time of each question.
  LateRooms(std::filesystem::path file, std::function<TimePoint()> now)
      : file_(std::move(file)), now_(std::move(now)) {}

  /// The key of that identity, if the file has it. Does not throw.
  std::optional<secure::Secret> look_up(std::string_view identity);
  /// What the last read found, once; `error`: why it failed.
  struct Found {
    std::vector<StoredRoom> rooms;
    std::string error;
  };
  std::optional<Found> take();

 private:
  void read();

  std::filesystem::path file_;
  std::function<TimePoint()> now_;
  std::unique_ptr<RoomStore> store_;  // open since the first question
  TimePoint next_read_ = kTimeZero;
  std::optional<int64_t> version_;                           // of the file when it was read
  std::map<std::string, secure::Secret, std::less<>> keys_;  // by identity
  std::optional<Found> found_;
};

}  // namespace cress::relay
