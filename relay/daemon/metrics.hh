#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "relay/forward/room_options.hh"
#include "transport/base/time.hh"
#include "transport/runtime/driver.hh"
#include "transport/secure/listener.hh"

namespace cress::relay {

/// How long things took, in fixed classes.
class DurationHistogram {
 public:
  static constexpr std::array<Duration, 10> kBounds{100us, 250us, 500us, 1ms,  2ms,
                                                    5ms,   10ms,  25ms,  50ms, 100ms};
  void add(Duration value);
  /// Per class, of values up to its bound; the last: beyond all.
  const std::array<uint64_t, kBounds.size() + 1>& counts() const { return counts_; }
  Duration sum() const { return sum_; }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  Duration sum_{};
};

/// What a relay tells those who watch it: totals, never of one member or room.
struct RelayMetrics {
  size_t members = 0;
  size_t live_rooms = 0;
  size_t open_rooms = 0;
  bool is_draining = false;
  uint64_t resident_bytes = 0;
  RoomStats rooms{};
  secure::ListenerStats door{};
  runtime::DriverStats network{};
  /// From the kernel's receipt of a datagram to the moment it is looked at.
  DurationHistogram wait{};
};

/// As Prometheus reads it (text exposition format 0.0.4).
std::string format_metrics(const RelayMetrics& metrics);

/// Serves /metrics and /healthz (200 "ok", or 503 "draining") by HTTP.
/// Threads: its own two answer; publish() may be called from any.
class MetricsServer {
 public:
  /// `address`: "127.0.0.1:9747". Throws std::runtime_error if nothing can listen there.
  explicit MetricsServer(const std::string& address);
  ~MetricsServer();

  /// What is answered from now on.
  void publish(const RelayMetrics& metrics);
  /// With the port that was given, if 0 was asked for.
  int port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::relay
