#pragma once

#include <deque>
#include <optional>

#include "transport/base/rng.hh"
#include "transport/sim/queue.hh"

namespace cress::sim {

/// What RED averages and compares with its thresholds.
enum class RedUnit { kBytes, kDatagrams };

struct RedOptions {
  RedUnit unit = RedUnit::kBytes;
  /// Bytes or datagrams, by `unit`; 0 < threshold_min < threshold_max.
  int64_t threshold_min = 7'500;
  int64_t threshold_max = 22'500;  // three times the minimum (Floyd, 1997)
  double drop_chance_max = 0.1;    // max_p, in (0, 1]
  double weight = 0.002;           // w_q, in (0, 1]
  /// Above the upper threshold the chance rises to 1 at twice it, instead of at once (Floyd, 2000).
  bool gentle = true;
  /// The full size of a datagram: in bytes, a small one is dropped in proportion less often.
  DataSize datagram_size{1500};
  /// How long one datagram of the full size takes to leave: ages the average over an idle time
  /// (s in Floyd and Jacobson, §4).
  Duration datagram_time = 12ms;  // 1 Mbit/s
  /// A bound on memory (drop-tail beyond it), not part of the discipline.
  DataSize limit = DropTailQueue::kUnlimited;
};

/// p_b: the chance for a full-size datagram at this average, before the spacing by `count`.
double red_drop_chance(const RedOptions& options, double average);

/// Random early detection (Floyd and Jacobson 1993, figure 2): an exponentially weighted average of
/// the queue, measured at each arrival, sets the chance of a drop; the count since the last drop
/// spaces drops out evenly. Threads: none inside; one owner.
class RedQueue final : public Queue {
 public:
  RedQueue(const RedOptions& options, Rng rng);

  void push(TimePoint now, QueuedDatagram datagram) override;
  std::optional<QueuedDatagram> pop(TimePoint now) override;
  DataSize size() const override { return size_; }
  /// In the options' unit.
  double average() const { return average_; }

 private:
  double length() const;
  bool drops_early(DataSize arriving);
  void update_average(TimePoint now);

  RedOptions options_;
  Rng rng_;
  std::deque<QueuedDatagram> queue_;
  DataSize size_;
  double average_ = 0;
  int64_t since_drop_ = -1;                          // accepted since a drop, before this one
  std::optional<TimePoint> idle_since_ = kTimeZero;  // q_time
};

}  // namespace cress::sim
