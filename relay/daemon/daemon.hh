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

/// Seconds since 1970, of a clock that people set.
using WallClock = std::function<UnixSeconds()>;

/// A relay on a real network: socket, rooms from their file, metrics, a log of JSON lines. What
/// changes in the file is done within half a second. Ends its loop when it is drained.
/// Errors: std::runtime_error from the constructor; afterwards what fails is logged, and it goes
/// on. Threads: the loop's, one for handshakes, and those of the metrics.
class Daemon {
 public:
  /// Clock, loop and `log` are borrowed and must outlive it.
  Daemon(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, RelayConfig config,
         WallClock wall_clock, std::ostream& log);
  ~Daemon();

  /// With the ports that were given.
  Address local_address() const;
  int metrics_port() const;  ///< 0: there are none
  /// Members are told, then it ends; asked a second time, it ends at once.
  void drain();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Until SIGINT or SIGTERM, which drain. Gives the program's exit code.
int run_daemon(const RelayConfig& config, const WallClock& wall_clock, std::ostream& log);

}  // namespace cress::relay
