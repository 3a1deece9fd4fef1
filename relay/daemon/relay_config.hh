#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "relay/daemon/relay_machine.hh"
#include "transport/base/time.hh"

namespace cress::relay {

/// All that an owner may set, with defaults that suit a small machine.
struct RelayConfig {
  std::string listen = "[::]:4747";  ///< ADDRESS:PORT, of UDP
  /// In links, when they are made here: a name or address at which members find this machine.
  std::string host = "localhost";
  std::filesystem::path rooms = "cress-rooms.db";
  /// For Prometheus; nobody else should reach it. Empty: none.
  std::string metrics = "127.0.0.1:9747";
  /// Else the last byte (IPv4) or ten (IPv6) of an address are left out of the log.
  bool log_addresses = false;
  /// What members are told when the relay ends: come back in so long.
  Duration drain_again_in = 2s;
  /// How often changes of the rooms' file are looked for, and metrics are published. Not read from
  /// a file: shorter in tests alone.
  Duration tick = 500ms;
  RelayMachineOptions machine{};
};

/// Reads TOML. Whatever is not known, out of range or of another type is an error. Relative paths
/// are taken from `file`'s folder.
/// Errors: std::runtime_error "FILE:LINE: what is wrong and what to do".
RelayConfig load_relay_config(const std::filesystem::path& file);
/// The same from text; `name` stands for the file in messages.
RelayConfig parse_relay_config(std::string_view text, std::string_view name);
/// A file that says what `config` says, with what each line means. Inverse of parse_relay_config.
std::string format_relay_config(const RelayConfig& config);

}  // namespace cress::relay
