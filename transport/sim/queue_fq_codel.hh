#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "transport/sim/queue_codel.hh"

namespace cress::sim {

/// Flow queuing with CoDel (RFC 8290): a queue and a CoDel for each flow, distinguished by a hash
/// of the datagram's addresses; deficit round robin among them, those first that have just begun to
/// send, so that a flow which sends less than its share waits for nobody.
/// Differs from RFC 8290 §4.1: a full queue drops until there is room, one datagram of the longest
/// flow after another, without a batch: batches save time in a kernel alone.
/// Threads: none inside; one owner.
class FqCodelQueue final : public Queue {
 public:
  struct Options {
    CodelQueue::Options codel{};
    size_t flows = 1024;     ///< RFC 8290 §5.2.4
    DataSize quantum{1514};  ///< §5.2.3
    /// §5.2.2: 10240 packets of 1500 bytes.
    DataSize limit{15'360'000};
    uint64_t seed = 1;  ///< of the hash
  };
  FqCodelQueue() : FqCodelQueue(Options{}) {}
  explicit FqCodelQueue(const Options& options);

  void push(TimePoint now, QueuedDatagram datagram) override;
  std::optional<QueuedDatagram> pop(TimePoint now) override;
  DataSize size() const override { return size_; }

 private:
  enum class Place { kNowhere, kNew, kOld };
  struct Flow {
    explicit Flow(const CodelQueue::Options& options) : queue(options) {}
    CodelQueue queue;
    DataSize deficit{};
    Place place = Place::kNowhere;
  };

  size_t flow_of(const Datagram& datagram) const;
  void drop_from_longest();
  void take_over_counts(const QueueStats& before, const QueueStats& after);

  Options options_;
  std::vector<Flow> flows_;
  std::deque<size_t> new_flows_;
  std::deque<size_t> old_flows_;
  DataSize size_;
};

}  // namespace cress::sim
