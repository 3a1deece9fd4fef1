#pragma once

#include <cstdint>
#include <span>

#include "eval/cellsim/histogram.hh"
#include "transport/netns/tun_device.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/sim/link.hh"

namespace cress::cellsim {

/// Two networks joined by an emulated link, in real time: what the kernel routes into one device
/// comes out of the other when the simulator's link says so. Links charge whole IP packets, as a
/// World does. Of what a late process missed, everything still leaves the queue at its own time, in
/// its order; it is only delivered late, and lateness() says how often.
/// Packets that a router would not send on (link-local, multicast) are not carried, only counted.
/// Bounded: by the links' queues. Threads: the loop's.
class PacketPath {
 public:
  /// All borrowed; they must outlive the path.
  struct Parts {
    const runtime::MonotonicClock& clock;
    runtime::EventLoop& loop;
    netns::TunDevice& near;
    netns::TunDevice& far;
  };
  struct Options {
    sim::LinkOptions up;    ///< near to far
    sim::LinkOptions down;  ///< far to near
  };

  /// The links' time begins now.
  PacketPath(const Parts& parts, Options options);
  ~PacketPath();
  PacketPath(const PacketPath&) = delete;
  PacketPath& operator=(const PacketPath&) = delete;

  /// The links' time.
  TimePoint now() const { return kTimeZero + (parts_.clock.now() - start_); }
  /// Everything that was due is done: what happened before is known to the links' observers.
  void catch_up();

  const sim::Link& up() const { return up_; }
  const sim::Link& down() const { return down_; }
  /// How late packets were delivered: real time less the time that the link said.
  const Histogram& lateness() const { return lateness_; }
  uint64_t not_carried() const { return not_carried_; }
  /// Delivered, but the device did not take it.
  uint64_t not_taken() const { return not_taken_; }

 private:
  void read(netns::TunDevice& from, sim::Link& link);
  void deliver(sim::Link& link, netns::TunDevice& to);

  Parts parts_;
  TimePoint start_;
  sim::Link up_;
  sim::Link down_;
  runtime::EventLoop::Timer timer_;
  Histogram lateness_{{.bin = 10us, .value_max = 10s}};
  uint64_t not_carried_ = 0;
  uint64_t not_taken_ = 0;
};

}  // namespace cress::cellsim
