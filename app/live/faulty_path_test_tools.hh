#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/rng.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/sim/link.hh"

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
    std::atomic<uint64_t> late = 0;
    std::atomic<uint64_t> bursts = 0;
    std::atomic<uint64_t> blackouts = 0;
    std::atomic<uint64_t> moves = 0;
  };

  FaultyPath(Address listener, const Faults& faults, uint64_t seed)
      : listener_(listener), faults_(faults), rng_(seed), inside_(clock_, options()) {
    loop_.on_readable(inside_.handle(), [this] { take(inside_, to_listener_); });
    move();
    const TimePoint now = clock_.now();
    burst_at_ = now + gap(faults_.bursts);
    blackout_at_ = now + gap(faults_.blackouts);
    move_at_ = now + gap(faults_.moves);
    set_loss(faults_.loss);
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
  /// Counts what passes; with it the links keep no records.
  struct Counter final : sim::LinkObserver {
    explicit Counter(FaultyPath& path) : owner(path) {}
    void handle_queued(TimePoint /*now*/, DataSize /*size*/) override {}
    void handle_dropped(TimePoint /*now*/, uint64_t /*count*/, DataSize /*size*/) override {}
    void handle_left(const sim::PacketRecord& record) override {
      ++owner.counts_.passed;
      owner.counts_.late += record.arrived - record.left > owner.faults_.propagation ? 1 : 0;
    }
    FaultyPath& owner;
  };

  static runtime::UdpSocketOptions options() {
    return {.bind = *runtime::parse_address("127.0.0.1:0")};
  }
  sim::LinkOptions link_options() {
    return {.trace = nullptr,
            .propagation = faults_.propagation,
            .seed = rng_.next(),
            .queue = nullptr,
            .observer = &counter_};
  }
  /// Half to one and a half times the mean: no fault is far from any other of its kind.
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
    loop_.on_readable(outside_->handle(), [this] { take(*outside_, to_joiner_); });
  }

  void take(runtime::UdpSocket& from, sim::Link& link) {
    for (const auto& datagram : from.receive_batch().datagrams) {
      if (&from == &inside_) {
        joiner_ = datagram.from;
      }
      link.push(
          datagram.arrival,
          sim::datagram_of({.to = {}, .bytes = {datagram.bytes.begin(), datagram.bytes.end()}},
                           datagram.from));
    }
    step();
  }

  void set_loss(double loss) {
    for (sim::Link* link : {&to_listener_, &to_joiner_}) {
      link->set_conditions({.jitter = 30ms,
                            .jittered = faults_.reorder,
                            .loss = loss,
                            .duplicate = faults_.duplicate});
    }
  }
  void set_down(bool is_down) {
    to_listener_.set_down(is_down);
    to_joiner_.set_down(is_down);
  }

  void fail(TimePoint now) {
    if (now >= burst_at_) {
      set_loss(0.5);
      burst_until_ = now + between(100ms, 300ms);
      burst_at_ = now + gap(faults_.bursts);
      ++counts_.bursts;
    }
    if (now >= burst_until_) {
      set_loss(faults_.loss);
      burst_until_ = kNever;
    }
    if (now >= blackout_at_) {
      set_down(true);
      dark_until_ = now + between(1s, 5s);
      blackout_at_ = now + gap(faults_.blackouts);
      ++counts_.blackouts;
    }
    if (now >= dark_until_) {
      set_down(false);
      dark_until_ = kNever;
    }
    if (now >= move_at_) {
      move();
      move_at_ = now + gap(faults_.moves);
      ++counts_.moves;
    }
  }

  static void pass_on(TimePoint now, sim::Link& link, runtime::UdpSocket& by, const Address& to) {
    while (auto datagram = link.poll_delivered(now)) {
      const Transmit transmit{to, std::move(datagram->bytes)};
      (void)by.send_batch({&transmit, 1});
    }
  }
  void step() {
    const TimePoint now = clock_.now();
    fail(now);
    pass_on(now, to_listener_, *outside_, listener_);
    pass_on(now, to_joiner_, inside_, joiner_);
    counts_.lost = to_listener_.lost() + to_joiner_.lost();
    timer_.arm(std::min({to_listener_.poll_timeout(), to_joiner_.poll_timeout(), burst_at_,
                         burst_until_, blackout_at_, dark_until_, move_at_}));
  }

  const Address listener_;
  const Faults faults_;
  Rng rng_;
  Counts counts_;
  Counter counter_{*this};
  sim::Link to_listener_{link_options()};
  sim::Link to_joiner_{link_options()};
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  runtime::UdpSocket inside_;
  std::unique_ptr<runtime::UdpSocket> outside_;
  Address joiner_;
  TimePoint burst_at_{};
  TimePoint burst_until_ = kNever;
  TimePoint blackout_at_{};
  TimePoint dark_until_ = kNever;
  TimePoint move_at_{};
  runtime::EventLoop::Timer timer_{loop_, [this] { step(); }};
  std::thread thread_;
};

}  // namespace cress::live
