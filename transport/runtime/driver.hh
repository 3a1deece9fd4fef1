#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/machine.hh"
#include "transport/base/time.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::runtime {

struct DriverStats {
  uint64_t datagrams_received = 0;   ///< handed to the machine
  uint64_t datagrams_truncated = 0;  ///< longer than the socket's buffers: not handed over
  uint64_t datagrams_sent = 0;
  uint64_t send_too_large = 0;   ///< larger than the MTU
  uint64_t send_unroutable = 0;  ///< no network, or no route to that address
  uint64_t send_no_buffer = 0;   ///< the interface's queue was full
  uint64_t send_overflow =
      0;  ///< the socket's buffer stayed full, and kWaitingMax datagrams were already waiting
  uint64_t path_errors = 0;  ///< reported by the network
  uint64_t timeouts = 0;
  /// The largest delay of a time-out, whatever the cause: a busy application or a busy machine.
  Duration timeout_lateness_max{};
  friend bool operator==(const DriverStats&, const DriverStats&) = default;
};

/// Steps one machine over a real socket in real time. sim::World does the same in simulation; no
/// other code contains this loop. After one change it drains the outputs, then sleeps until
/// poll_timeout.
///
/// Time: a datagram is handed over with its kernel receive time. While the application is busy
/// (encoding a frame) datagrams wait in the kernel; afterwards all of them are handed over, each
/// with its own time, and then time-outs and outputs are processed at the present time: what is
/// sent is stamped when it leaves, or the peer would take the delay for a queue of the network.
/// `now` never goes back. Errors: network errors are counted and the
/// driver continues; exceptions of the machine leave EventLoop::run(). A machine that asks for the
/// same instant without end fails a check, as in the World. Threads: the loop's.
class Driver {
 public:
  /// All borrowed; they must outlive the driver.
  struct Parts {
    const MonotonicClock& clock;
    EventLoop& loop;
    UdpSocket& socket;
    Machine& machine;
  };

  struct Options {
    /// The minimum interval between two steps: under load, datagrams that arrive meanwhile are
    /// received, answered and sent together, which costs a fraction of the processor time. Other
    /// work of the loop is delayed by up to four times as long. 0: each datagram is processed at
    /// once.
    Duration gather{};
    /// The interval when steps take half of the time or more; for lower loads it is interpolated.
    /// At least `gather`.
    Duration gather_busy{};
  };

  /// Datagrams that wait for room in the socket's buffer; later ones are dropped.
  static constexpr size_t kWaitingMax = 1024;

  /// The machine's `now` begins here; datagrams already in the socket are older. The first step is
  /// the first thing that run() does.
  explicit Driver(Parts parts) : Driver(parts, Options{}) {}
  Driver(Parts parts, Options options);
  ~Driver();

  /// For when the application changes its machine: a frame was captured, the user hung up.
  /// Datagrams that have arrived are handed over first, then `change` (may be empty) is called with
  /// the present time, then outputs are drained. Not from inside a call of the machine: there, the
  /// change can be made directly.
  void wake(const std::function<void(TimePoint now)>& change = {});

  const DriverStats& stats() const { return stats_; }

 private:
  class Stepping;

  void step();
  bool step_once();
  void gather();
  void note_busy();
  bool receive_pending();
  void handle_batch(const ReceiveBatch& batch);
  void run_due();
  void handle_timeout(TimePoint due);
  void drain();
  bool collect();
  void flush();
  void take_path_errors();
  void advance(TimePoint to);

  Parts parts_;
  Options options_;
  DriverStats stats_;
  EventLoop::Timer timer_;
  const TimePoint start_;
  TimePoint now_;
  TimePoint stepped_at_;
  // The share of time spent in steps, used with `gather`.
  TimePoint ended_at_;    // the last step
  TimePoint span_since_;  // start of the span over which the share is measured
  Duration idle_{};       // idle time within it
  double busy_share_ = 0;
  bool begun_ = false;
  bool stepping_ = false;
  bool is_undrained_ = false;  // the last batch
  // How often in a row the machine has asked for the same instant, or for earlier ones.
  int timeouts_of_due_ = 0;
  TimePoint last_due_ = kNever;
  // Sent together: polled by the drains of one step, or waiting for room.
  std::vector<Transmit> waiting_;
  bool blocked_ = false;
};

}  // namespace cress::runtime
