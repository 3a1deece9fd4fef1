#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/sim/datagram.hh"
#include "transport/sim/queue.hh"
#include "transport/sim/trace.hh"

namespace cress::sim {

/// One datagram's times in a link: entered at `sent`, left the queue at `left`, delivered at
/// `arrived`.
struct PacketRecord {
  TimePoint sent{};
  TimePoint left{};
  TimePoint arrived{};
  DataSize size;
  Address to{};  ///< the datagram's: who it was for, where several hosts share the link
};

/// Notified of events in a link as they happen; times are the link's own, in ascending order. For
/// long runs, which cannot keep a record of every datagram.
class LinkObserver {
 public:
  virtual ~LinkObserver() = default;
  /// A datagram reached the queue, which may drop it immediately.
  virtual void handle_queued(TimePoint now, DataSize size) = 0;
  /// The queue dropped `count` datagrams.
  virtual void handle_dropped(TimePoint now, uint64_t count, DataSize size) = 0;
  /// A datagram left the queue; it arrives later, at the record's `arrived`.
  virtual void handle_left(const PacketRecord& record) = 0;
};

/// Losses in bursts (Gilbert, Elliott): a chain with a good and a bad state, one step a datagram.
struct BurstLoss {
  double enter = 0;  ///< probability of a step from good to bad; 0: never
  double leave = 1;  ///< from bad to good
  double loss = 1;   ///< of a datagram in the bad state
};

/// What a link does to datagrams besides carrying them; it may change while the link runs.
struct LinkConditions {
  Duration jitter{};
  double jittered = 1;
  double loss = 0;
  BurstLoss burst_loss{};
  double duplicate = 0;
  DataSize mtu{65'535};
};

/// For a time the path is longer, as after a change of the cell or of the satellite.
struct Detour {
  Duration by{};
  Duration from{};  ///< since the trace's start
  Duration until = Duration::max();
};

struct LinkOptions {
  /// Shared: both ends of many runs replay one immutable trace. Null: no rate limit, so nothing
  /// ever queues.
  std::shared_ptr<const DeliveryTrace> trace;
  Duration propagation = 20ms;
  /// On top of the propagation.
  std::vector<Detour> detours{};
  /// Uniform in [0, jitter) on top of the propagation, drawn for each datagram: reorders.
  Duration jitter{};
  /// The share of datagrams that `jitter` is for.
  double jittered = 1;
  /// Bernoulli, before the queue.
  double loss = 0;
  BurstLoss burst_loss{};
  /// The share of datagrams that arrive twice, both after the queue.
  double duplicate = 0;
  /// Larger IP packets are lost.
  DataSize mtu{65'535};
  uint64_t seed = 1;
  /// Drop-tail without limit when null.
  std::unique_ptr<Queue> queue;
  /// Borrowed, must outlive the link; may be null. With one, the link keeps no records().
  LinkObserver* observer = nullptr;
};

/// One direction of an emulated link, like Mahimahi's and the paper's Cellsim (§4.2): loss, then a
/// queue, then the trace, then propagation and jitter. Every opportunity moves kOpportunitySize
/// bytes: a datagram may take part of several, several may share one, and unused capacity is lost.
/// An opportunity serves what was pushed up to and including its own instant. Threads: none inside;
/// one owner.
class Link {
 public:
  explicit Link(LinkOptions options);

  void push(TimePoint now, Datagram datagram);
  void handle_timeout(TimePoint now);
  /// Replaces the options of the same names. `loss`, `burst_loss` and `mtu` apply to what is pushed
  /// from now on; jitter and `duplicate` also to what is already queued.
  void set_conditions(const LinkConditions& conditions);
  /// While down, as in a blackout, everything pushed is lost; what is queued still moves.
  void set_down(bool is_down) { is_down_ = is_down; }
  /// Datagrams whose propagation has finished; poll until empty after handle_timeout.
  std::optional<Datagram> poll_delivered(TimePoint now);
  TimePoint poll_timeout() const;

  /// Every datagram that left the queue, in order; empty with an observer, which was notified
  /// instead.
  const std::vector<PacketRecord>& records() const { return records_; }
  DataSize queued() const { return queue_->size() + in_service_left_; }
  const QueueStats& queue_stats() const { return queue_->stats(); }
  uint64_t lost() const { return lost_; }
  const LinkOptions& options() const { return options_; }

 private:
  struct InFlight {
    Datagram datagram;
    TimePoint arrives{};
  };

  bool is_lost(const Datagram& datagram);
  void leave_queue(TimePoint now, QueuedDatagram queued);
  void propagate(TimePoint arrives, Datagram datagram);
  Duration propagation(TimePoint now) const;
  TimePoint next_opportunity() const;
  void skip_opportunities_before(TimePoint now);
  void serve(TimePoint now);
  std::optional<QueuedDatagram> pop_queue(TimePoint now);
  void tell_drops(TimePoint now, const QueueStats& before);

  LinkOptions options_;
  std::unique_ptr<Queue> queue_;
  Rng rng_;
  Rng impairments_;
  bool is_down_ = false;
  bool is_in_burst_ = false;
  // Cursor into the repeated trace.
  size_t opportunity_ = 0;
  Duration period_start_{};
  std::optional<QueuedDatagram> in_service_;
  DataSize in_service_left_;
  std::deque<InFlight> propagating_;
  std::vector<PacketRecord> records_;
  uint64_t lost_ = 0;
};

}  // namespace cress::sim
