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
  uint64_t send_unroutable = 0;  ///< no network, or none that leads there
  uint64_t send_no_buffer = 0;   ///< the interface's queue was full
  uint64_t send_overflow = 0;    ///< the socket stayed full, and kWaitingMax waited already
  uint64_t path_errors = 0;      ///< told by the network
  uint64_t timeouts = 0;
  /// The worst lateness of a time-out, for whatever reason: a busy application, a busy machine.
  Duration timeout_lateness_max{};
  friend bool operator==(const DriverStats&, const DriverStats&) = default;
};

/// Steps one machine over a real socket in real time: the twin of sim::World, and the only other
/// place with that loop. One change, then drain, then sleep until poll_timeout.
///
/// Time: a datagram is handed over with its kernel receive time. While the application is busy
/// (encoding a picture) datagrams wait in the kernel; afterwards what happened meanwhile, datagrams
/// and time-outs that were due between them, is replayed in its order and at its times, before
/// anything happens at the present. `now` never goes back.
/// Errors: what the network does is counted and goes on; exceptions of the machine leave
/// EventLoop::run(). A machine that asks for the same instant without end fails a check, as in the
/// World. Threads: the loop's.
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
    /// Between two steps at least: under load what came meanwhile is taken, answered and sent
    /// together, for a fraction of the processor's time. Whatever else the loop has to do waits for
    /// up to four times as long. 0: each datagram at once.
    Duration gather{};
    /// The same where the steps take half of the time or more; in between as long as they are busy.
    /// At least `gather`.
    Duration gather_busy{};
    /// What was received with one system call is one change: time-outs that were due meanwhile come
    /// after it, and outputs are polled once. For a machine with many peers, to whom a fraction of
    /// a millisecond is nothing: it then answers each of them once.
    bool takes_batches = false;
  };

  /// Datagrams that wait for room in the socket's buffer; later ones are dropped.
  static constexpr size_t kWaitingMax = 1024;

  /// The machine's `now` begins here, whatever waits in the socket is older; the first step is the
  /// first thing that run() does.
  explicit Driver(Parts parts) : Driver(parts, Options{}) {}
  Driver(Parts parts, Options options);
  ~Driver();

  /// The application changes its machine: a picture was captured, the user hung up. What arrived
  /// until now is handed over first, then `change` (may be empty) is called with the present, then
  /// drained. Not from inside a call of the machine: there, the change can be made directly.
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
  void replay_timeouts(TimePoint before);
  void run_due();
  void handle_timeout(TimePoint due);
  void drain();
  bool collect();
  void flush();
  void take_path_errors();
  void advance_to_present();

  Parts parts_;
  Options options_;
  DriverStats stats_;
  EventLoop::Timer timer_;
  const TimePoint start_;
  TimePoint now_;
  TimePoint stepped_at_;
  // How busy the steps are, where they gather.
  TimePoint ended_at_;    // the last step
  TimePoint span_since_;  // of which the share is taken next
  Duration idle_{};       // within it
  double busy_share_ = 0;
  bool begun_ = false;
  bool stepping_ = false;
  bool is_undrained_ = false;  // the last batch, with takes_batches
  int timeouts_at_now_ = 0;
  // Sent together: polled by the drains of one step, or waiting for room.
  std::vector<Transmit> waiting_;
  bool blocked_ = false;
};

}  // namespace cress::runtime
