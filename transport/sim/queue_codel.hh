#pragma once

#include <deque>
#include <optional>

#include "transport/sim/queue.hh"

namespace cress::sim {

/// Controlled delay (RFC 8289): measures how long each datagram waited. Once all of an interval
/// have waited longer than the target, it drops from the head at a rate that grows with the square
/// root of the drops, until the wait is below the target again. Threads: none inside; one owner.
class CodelQueue final : public Queue {
 public:
  struct Options {
    Duration target = 5ms;
    Duration interval = 100ms;
    /// RFC 8289 §4.4: with no more than this queued, the delay is due to the link, not the queue.
    DataSize mtu{1500};
    /// A bound on memory (drop-tail beyond it), not part of the discipline.
    DataSize limit = DropTailQueue::kUnlimited;
  };
  CodelQueue() : CodelQueue(Options{}) {}
  explicit CodelQueue(const Options& options) : options_(options) {}

  void push(TimePoint now, QueuedDatagram datagram) override;
  std::optional<QueuedDatagram> pop(TimePoint now) override;
  DataSize size() const override { return size_; }

  /// The head, whatever the discipline says, uncounted: a queue around this one drops it. Not
  /// empty.
  QueuedDatagram take_first();

  /// In the dropping state of RFC 8289 §5.
  bool dropping() const { return dropping_; }

 private:
  struct Head {
    std::optional<QueuedDatagram> datagram;
    bool may_drop = false;  // all waits of an interval were above the target
  };
  Head take_head(TimePoint now);
  TimePoint next_drop_after(TimePoint time) const;

  Options options_;
  std::deque<QueuedDatagram> queue_;
  DataSize size_;
  std::optional<TimePoint> above_until_;  // an interval after the wait first rose above the target
  bool dropping_ = false;
  TimePoint drop_next_{};
  int64_t count_ = 0;       // drops since this dropping state was entered
  int64_t count_last_ = 0;  // `count_` when it was entered
};

}  // namespace cress::sim
