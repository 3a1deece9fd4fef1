#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/rng.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::live {

// For tests only.

/// How often a path fails, and how severely. The defaults are one mobile hour; docs/method.md gives
/// the reasons.
struct Faults {
  Duration propagation = 20ms;  ///< in each direction
  // Events per hour.
  double bursts = 12;    ///< of 100 to 300 ms, in which half of all datagrams are lost
  double blackouts = 6;  ///< of 1 to 5 s, in which all datagrams are lost
  double moves = 3;      ///< to another address
  // Of each datagram.
  double loss = 0.001;
  double duplicate = 0.0001;
  double reorder = 0.0005;  ///< delayed by 5 to 30 ms

  Faults times(double factor) const {
    Faults faults = *this;
    for (double* each : {&faults.bursts, &faults.blackouts, &faults.moves, &faults.loss,
                         &faults.duplicate, &faults.reorder}) {
      *each *= factor;
    }
    return faults;
  }
};

/// A path between a joiner and a listener with random faults from a seed: a thread with two
/// sockets, like a router. Bounded: at most kOnTheWayMax datagrams are in transit, further ones are
/// lost.
class FaultyPath {
 public:
  struct Counts {
    std::atomic<uint64_t> passed = 0;
    std::atomic<uint64_t> lost = 0;
    std::atomic<uint64_t> duplicated = 0;
    std::atomic<uint64_t> reordered = 0;
    std::atomic<uint64_t> bursts = 0;
    std::atomic<uint64_t> blackouts = 0;
    std::atomic<uint64_t> moves = 0;
  };

  FaultyPath(Address listener, const Faults& faults, uint64_t seed)
      : listener_(listener), faults_(faults), rng_(seed), inside_(clock_, options()) {
    loop_.on_readable(inside_.handle(), [this] { take(inside_, true); });
    move();
    const TimePoint now = clock_.now();
    burst_at_ = now + gap(faults_.bursts);
    blackout_at_ = now + gap(faults_.blackouts);
    move_at_ = now + gap(faults_.moves);
    timer_.arm(now);
    thread_ = std::thread{[this] { loop_.run(); }};
  }
  ~FaultyPath() {
    loop_.stop();
    thread_.join();
    loop_.forget(inside_.handle());
    loop_.forget(outside_->handle());
  }
  FaultyPath(const FaultyPath&) = delete;
  FaultyPath& operator=(const FaultyPath&) = delete;

  Address address() const { return inside_.local_address(); }
  const Counts& counts() const { return counts_; }

 private:
  struct OnTheWay {
    bool to_listener = false;
    std::vector<std::byte> bytes;
  };
  static constexpr size_t kOnTheWayMax = 8192;

  static runtime::UdpSocketOptions options() {
    return {.bind = *runtime::parse_address("127.0.0.1:0")};
  }
  /// Half to one and a half times the mean, so that faults of one kind are evenly spread.
  Duration gap(double per_hour) { return from_seconds(3600 / per_hour * (0.5 + rng_.uniform())); }
  Duration between(Duration least, Duration most) {
    return least + from_seconds(to_seconds(most - least) * rng_.uniform());
  }

  void move() {
    auto next = std::make_unique<runtime::UdpSocket>(clock_, options());
    if (outside_) {
      loop_.forget(outside_->handle());
    }
    outside_ = std::move(next);
    loop_.on_readable(outside_->handle(), [this] { take(*outside_, false); });
  }

  void take(runtime::UdpSocket& from, bool to_listener) {
    for (const auto& datagram : from.receive_batch().datagrams) {
      if (to_listener) {
        joiner_ = datagram.from;
      }
      const TimePoint at = datagram.arrival;
      const double loss = at < dark_until_ ? 1 : at < burst_until_ ? 0.5 : faults_.loss;
      if (rng_.chance(loss) || on_the_way_.size() >= kOnTheWayMax) {
        ++counts_.lost;
        continue;
      }
      const int copies = rng_.chance(faults_.duplicate) ? 2 : 1;
      counts_.duplicated += copies - 1;
      for (int i = 0; i < copies; ++i) {
        const bool is_late = rng_.chance(faults_.reorder);
        counts_.reordered += is_late ? 1 : 0;
        on_the_way_.emplace(at + faults_.propagation + (is_late ? between(5ms, 30ms) : Duration{}),
                            OnTheWay{to_listener, {datagram.bytes.begin(), datagram.bytes.end()}});
      }
    }
    step();
  }

  void fail(TimePoint now) {
    if (now >= burst_at_) {
      burst_until_ = now + between(100ms, 300ms);
      burst_at_ = now + gap(faults_.bursts);
      ++counts_.bursts;
    }
    if (now >= blackout_at_) {
      dark_until_ = now + between(1s, 5s);
      blackout_at_ = now + gap(faults_.blackouts);
      ++counts_.blackouts;
    }
    if (now >= move_at_) {
      move();
      move_at_ = now + gap(faults_.moves);
      ++counts_.moves;
    }
  }

  void step() {
    const TimePoint now = clock_.now();
    fail(now);
    while (!on_the_way_.empty() && on_the_way_.begin()->first <= now) {
      OnTheWay next = std::move(on_the_way_.begin()->second);
      on_the_way_.erase(on_the_way_.begin());
      const Transmit transmit{next.to_listener ? listener_ : joiner_, std::move(next.bytes)};
      (void)(next.to_listener ? *outside_ : inside_).send_batch({&transmit, 1});
      ++counts_.passed;
    }
    const TimePoint arrival = on_the_way_.empty() ? kNever : on_the_way_.begin()->first;
    timer_.arm(std::min({arrival, burst_at_, blackout_at_, move_at_}));
  }

  const Address listener_;
  const Faults faults_;
  Rng rng_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  runtime::UdpSocket inside_;
  std::unique_ptr<runtime::UdpSocket> outside_;
  Address joiner_;
  std::multimap<TimePoint, OnTheWay> on_the_way_;
  TimePoint burst_at_{};
  TimePoint burst_until_{};
  TimePoint blackout_at_{};
  TimePoint dark_until_{};
  TimePoint move_at_{};
  Counts counts_;
  runtime::EventLoop::Timer timer_{loop_, [this] { step(); }};
  std::thread thread_;
};

}  // namespace cress::live
