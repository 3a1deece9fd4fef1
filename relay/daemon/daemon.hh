#pragma once

#include <functional>
#include <iosfwd>
#include <memory>

#include "relay/daemon/relay_config.hh"
#include "relay/daemon/room_store.hh"
#include "transport/base/address.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::relay {

/// Seconds since 1970, by the adjustable system clock.
using WallClock = std::function<UnixSeconds()>;

/// A relay on a real network: socket, rooms from their file, metrics, a log of JSON lines. Changes
/// of the file take effect within half a second. Stops its loop once it is drained. Errors:
/// std::runtime_error from the constructor; later failures are logged, and it continues. Threads:
/// the loop's, one for handshakes, and those of the metrics.
class Daemon {
 public:
  /// Clock, loop and `log` are borrowed and must outlive it.
  Daemon(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, RelayConfig config,
         WallClock wall_clock, std::ostream& log);
  ~Daemon();

  /// With the assigned port.
  Address local_address() const;
  int metrics_port() const;  ///< 0: no metrics
  /// Not ready for config.not_ready (if there are metrics), then asks all members to leave and
  /// ends; a second call ends at once.
  void drain();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs until SIGINT or SIGTERM, which drain. Returns the program's exit code.
int run_daemon(const RelayConfig& config, const WallClock& wall_clock, std::ostream& log);

}  // namespace cress::relay
