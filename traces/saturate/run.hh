#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::traces {

/// `cress-trace saturate`, with its arguments.
struct SaturateRunOptions {
  /// Either...
  std::optional<std::string> connect{};   ///< HOST:PORT
  std::optional<std::string> feedback{};  ///< HOST:PORT, over another path
  /// ... or.
  std::optional<Address> listen{};
  std::optional<Address> feedback_listen{};

  /// For the connecting end: the local addresses to use.
  Address bind{};
  Address feedback_bind{};
  std::string token{};  ///< the listening end may leave it empty: a token is generated and printed
  bool up = true;
  bool down = true;
  Duration duration = 60s;
  DataSize packet_size{1500};
  std::string out{};  ///< PREFIX.up, PREFIX.down and PREFIX.json; empty: no files
  bool json = false;
};

struct SaturateStreams {
  std::ostream& out;
  std::ostream& messages;
  bool progress = false;
};

/// Measures in real time, until done or interrupted (the first Ctrl-C ends the measuring, a second
/// one the collecting), and writes the results so far. Throws std::runtime_error: what went wrong,
/// and what to do. One per process at a time, since it handles signals. Threads: blocks the
/// caller's.
void run_saturate(const SaturateRunOptions& options, const SaturateStreams& streams);

}  // namespace cress::traces
