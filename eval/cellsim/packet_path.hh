#pragma once

#include <cstdint>
#include <span>

#include "eval/cellsim/histogram.hh"
#include "transport/netns/tun_device.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/sim/link.hh"

namespace cress::cellsim {

/// Two networks joined by an emulated link, in real time: packets that the kernel routes into one
/// device leave the other at the times of the simulator's link. Links charge whole IP packets, as a
/// World does. If the process is late, all packets still leave the queue at their own times, in
/// order; only their delivery is late, and lateness() counts that. Packets that a router would not
/// forward (link-local, multicast) are dropped and counted. Bounded: by the links' queues. Threads:
/// the loop's.
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

  /// The links' time starts now.
  PacketPath(const Parts& parts, Options options);
  ~PacketPath();
  PacketPath(const PacketPath&) = delete;
  PacketPath& operator=(const PacketPath&) = delete;

  /// The current time of the links.
  TimePoint now() const { return kTimeZero + (parts_.clock.now() - start_); }
  /// Processes everything that is due, so that the links' observers know all events before now.
  void catch_up();

  const sim::Link& up() const { return up_; }
  const sim::Link& down() const { return down_; }
  /// Delivery delay: real time minus the link's delivery time.
  const Histogram& lateness() const { return lateness_; }

 private:
  void read(netns::TunDevice& from, sim::Link& link);
  void deliver(sim::Link& link, netns::TunDevice& to);

  Parts parts_;
  TimePoint start_;
  sim::Link up_;
  sim::Link down_;
  runtime::EventLoop::Timer timer_;
  Histogram lateness_{{.bin = 10us, .value_max = 10s}};
};

}  // namespace cress::cellsim
