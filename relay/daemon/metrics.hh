#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "relay/daemon/relay_machine.hh"
#include "relay/forward/room_options.hh"
#include "transport/base/time.hh"
#include "transport/runtime/driver.hh"
#include "transport/secure/listener.hh"

namespace cress::relay {

/// A histogram of durations in fixed classes.
class DurationHistogram {
 public:
  static constexpr std::array<Duration, 10> kBounds{100us, 250us, 500us, 1ms,  2ms,
                                                    5ms,   10ms,  25ms,  50ms, 100ms};
  void add(Duration value);
  /// Values per class, up to its bound; the last class holds all larger ones.
  const std::array<uint64_t, kBounds.size() + 1>& counts() const { return counts_; }
  Duration sum() const { return sum_; }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  Duration sum_{};
};

/// A relay's metrics: totals, never of one member or room.
struct RelayMetrics {
  size_t members = 0;
  size_t live_rooms = 0;
  size_t open_rooms = 0;
  size_t calls = 0;
  bool is_draining = false;
  uint64_t resident_bytes = 0;
  RoomStats rooms{};
  secure::ListenerStats door{};
  JoinsRefused joins_refused{};
  CallRelayStats call_stats{};
  runtime::DriverStats network{};
  /// From the kernel's receipt of a datagram to its processing.
  DurationHistogram wait{};
};

/// In Prometheus's text exposition format 0.0.4.
std::string format_metrics(const RelayMetrics& metrics);

/// Serves over HTTP: /metrics; /healthz, 200 as long as the relay runs; /readyz, 200 "ready" when
/// members may be sent here, 503 "draining" from the request to end on. Threads: two of its own
/// answer; publish() may be called from any.
class MetricsServer {
 public:
  /// `address`: "127.0.0.1:9747". Throws std::runtime_error if it cannot listen there.
  explicit MetricsServer(const std::string& address);
  ~MetricsServer();

  /// Sets what is served from now on.
  void publish(const RelayMetrics& metrics);
  /// The assigned port, if 0 was requested.
  int port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::relay
