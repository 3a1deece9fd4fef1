#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "transport/sim/datagram.hh"

namespace cress::sim {

/// A datagram in a bottleneck's queue, with the times that AQM and the log need.
struct QueuedDatagram {
  Datagram datagram;
  TimePoint sent{};  ///< when its host handed it to the link; it is in the queue from then on
};

struct QueueStats {
  uint64_t dropped = 0;
  DataSize dropped_size;
  uint64_t marked = 0;  ///< got CE instead of being dropped (RFC 3168)
};

/// The bottleneck's queue: which datagram is accepted, which leaves next, which is dropped.
/// Threads: none inside; one owner. `now` never goes back.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Takes the datagram, or drops it (counted).
  virtual void push(TimePoint now, QueuedDatagram datagram) = 0;
  /// The next to leave; the discipline may drop others first (counted).
  virtual std::optional<QueuedDatagram> pop(TimePoint now) = 0;
  virtual DataSize size() const = 0;
  bool empty() const { return size() == DataSize{}; }
  const QueueStats& stats() const { return stats_; }

 protected:
  void count_drop(const QueuedDatagram& dropped) {
    ++stats_.dropped;
    stats_.dropped_size += dropped.datagram.wire_size;
  }
  /// What a queue inside this one did.
  void count(const QueueStats& more) {
    stats_.dropped += more.dropped;
    stats_.dropped_size += more.dropped_size;
    stats_.marked += more.marked;
  }
  /// Whether the datagram could carry the mark, which it then does.
  bool mark(QueuedDatagram& datagram) {
    if (datagram.datagram.ecn == Ecn::kNotEct) {
      return false;
    }
    datagram.datagram.ecn = Ecn::kCe;
    ++stats_.marked;
    return true;
  }

 private:
  QueueStats stats_;
};

/// First in, first out; a datagram that would raise the queue above `limit` is dropped.
class DropTailQueue final : public Queue {
 public:
  /// An "unlimited" queue still has a bound, far above anything a run can fill by design.
  static constexpr DataSize kUnlimited{1 << 30};

  explicit DropTailQueue(DataSize limit = kUnlimited) : limit_(limit) {}

  void push(TimePoint now, QueuedDatagram datagram) override;
  std::optional<QueuedDatagram> pop(TimePoint now) override;
  DataSize size() const override { return size_; }

 private:
  DataSize limit_;
  DataSize size_;
  std::deque<QueuedDatagram> queue_;
};

}  // namespace cress::sim
