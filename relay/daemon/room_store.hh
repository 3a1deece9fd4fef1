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

/// Seconds since 1970: what a file may say across restarts, which protocol time cannot.
using UnixSeconds = int64_t;

struct StoredRoom {
  RoomDoor door;
  UnixSeconds created = 0;
  std::optional<UnixSeconds> expires{};  ///< empty: never
};

/// A relay's rooms on disk (SQLite): names, access keys, limits. The links' secrets are not in
/// there, so who reads the file can pretend to be this relay or join, but not hear anything.
/// Several processes may have it open: `cress-relay room create` writes what a running relay reads.
/// Each change is whole or not at all, also when the power fails. The file is readable by its owner
/// alone. Errors: std::runtime_error with the file's name and what to do. Threads: one owner.
class RoomStore {
 public:
  /// Opens, or makes an empty one; its folder must be there.
  explicit RoomStore(const std::filesystem::path& file);
  ~RoomStore();

  /// False: there is one of that name.
  bool create(const StoredRoom& room);
  /// False: there is none of that name.
  bool remove(const std::string& name);
  /// By name.
  std::vector<StoredRoom> rooms() const;
  /// Asks the running relay to send somebody away;
  void ask_to_kick(const std::string& name, room::MemberNumber member);
  /// what it was asked since it last looked.
  std::vector<std::pair<std::string, room::MemberNumber>> take_kicks();
  /// Another number after each change by somebody else.
  int64_t version() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::relay
