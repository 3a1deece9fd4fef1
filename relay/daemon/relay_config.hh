#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "relay/daemon/relay_machine.hh"
#include "transport/base/time.hh"

namespace cress::relay {

/// All settings of a relay, with defaults that suit a small machine.
struct RelayConfig {
  std::string listen = "[::]:4747";  ///< ADDRESS:PORT of the UDP socket
  /// The host in links made on this machine: a name or address at which members can reach it.
  std::string host = "localhost";
  std::filesystem::path rooms = "cress-rooms.db";
  /// For Prometheus; should not be reachable by others. Empty: none.
  std::string metrics = "127.0.0.1:9747";
  /// If false, the last byte (IPv4) or ten bytes (IPv6) of a logged address are zero, without port.
  bool log_addresses = false;
  /// From the request to end until members are sent away: so long /readyz answers 503 while all
  /// works as before, so that a load balancer sends nobody here any more.
  Duration not_ready = 3s;
  /// After this delay members shall reconnect when the relay ends.
  Duration drain_again_in = 2s;
  /// How often the rooms' file is checked for changes and metrics are published. Not a setting of
  /// the file: only tests make it shorter.
  Duration tick = 500ms;
  RelayMachineOptions machine{};
};

/// Reads TOML. An unknown key, a value out of range or of another type is an error. Relative paths
/// are relative to `file`'s folder. Errors: std::runtime_error "FILE:LINE: what is wrong and what
/// to do".
RelayConfig load_relay_config(const std::filesystem::path& file);
/// The same from text; `name` stands for the file in messages.
RelayConfig parse_relay_config(std::string_view text, std::string_view name);
/// The text of a file with these settings and a comment on each line. Inverse of
/// parse_relay_config.
std::string format_relay_config(const RelayConfig& config);

}  // namespace cress::relay
