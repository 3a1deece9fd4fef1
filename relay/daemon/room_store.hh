#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relay/daemon/relay_machine.hh"

namespace cress::relay {

/// Seconds since 1970: for values that a file keeps across restarts, which protocol time cannot
/// express.
using UnixSeconds = int64_t;

struct StoredRoom {
  RoomDoor door;
  UnixSeconds created = 0;
  std::optional<UnixSeconds> expires{};  ///< empty: never expires
};

/// A relay's rooms on disk (SQLite): names, access keys, limits. The file does not contain the
/// links' secrets, so a reader of the file can impersonate this relay or join, but cannot decrypt
/// media. Several processes may have it open: `cress-relay room create` writes what a running relay
/// reads. Each change is atomic, also in a power failure. The file is readable by its owner alone.
/// Errors: std::runtime_error with the file's name and what to do. Threads: one owner.
class RoomStore {
 public:
  enum class Open : uint8_t {
    kOrCreate,  ///< an empty one, if there is none; its folder must exist
    kExisting,  ///< throws if there is none: a mistyped name
    kForRelay,  ///< kOrCreate, and throws if another relay has it open
  };
  explicit RoomStore(const std::filesystem::path& file, Open open = Open::kOrCreate);
  ~RoomStore();

  /// False: a room of that name exists.
  bool create(const StoredRoom& room);
  /// False: there is no room of that name.
  bool remove(const std::string& name);
  /// Sorted by name.
  std::vector<StoredRoom> rooms() const;
  /// Asks the running relay to remove a member;
  void ask_to_kick(const std::string& name, room::MemberNumber member);
  /// the requests since the last call.
  std::vector<std::pair<std::string, room::MemberNumber>> take_kicks();
  /// Changes whenever another process has changed the file.
  int64_t version() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::relay
