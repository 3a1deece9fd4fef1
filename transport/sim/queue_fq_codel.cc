#include "transport/sim/queue_fq_codel.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"
#include "transport/base/rng.hh"

namespace cress::sim {

FqCodelQueue::FqCodelQueue(const Options& options) : options_(options) {
  check(options_.flows > 0 && options_.quantum > DataSize{}, "FqCodelQueue: flows and a quantum");
  flows_.reserve(options_.flows);
  for (size_t i = 0; i < options_.flows; ++i) {
    flows_.emplace_back(options_.codel);
  }
}

size_t FqCodelQueue::flow_of(const Datagram& datagram) const {
  uint64_t hash = options_.seed;
  const auto add = [&hash](uint64_t value) { hash = Rng{hash ^ value}.next(); };
  for (const Address* address : {&datagram.from, &datagram.to}) {
    for (const uint8_t byte : address->ip) {
      add(byte);
    }
    add(address->port);
  }
  return hash % flows_.size();
}

void FqCodelQueue::take_over_counts(const QueueStats& before, const QueueStats& after) {
  count({.dropped = after.dropped - before.dropped,
         .dropped_size = after.dropped_size - before.dropped_size,
         .marked = after.marked - before.marked});
}

void FqCodelQueue::push(TimePoint now, QueuedDatagram datagram) {
  const size_t index = flow_of(datagram.datagram);
  Flow& flow = flows_[index];
  const DataSize length = datagram.datagram.wire_size;
  if (length > options_.limit) {
    count_drop(datagram);
    return;
  }
  flow.queue.push(now, std::move(datagram));
  size_ += length;
  if (flow.place == Place::kNowhere) {
    flow.place = Place::kNew;
    flow.deficit = options_.quantum;
    new_flows_.push_back(index);
  }
  while (size_ > options_.limit) {
    drop_from_longest();
  }
}

void FqCodelQueue::drop_from_longest() {
  Flow& longest =
      *std::ranges::max_element(flows_, {}, [](const Flow& flow) { return flow.queue.size(); });
  const QueuedDatagram head = longest.queue.take_first();
  size_ -= head.datagram.wire_size;
  count_drop(head);
}

std::optional<QueuedDatagram> FqCodelQueue::pop(TimePoint now) {
  while (!new_flows_.empty() || !old_flows_.empty()) {
    std::deque<size_t>& list = new_flows_.empty() ? old_flows_ : new_flows_;
    const size_t index = list.front();
    Flow& flow = flows_[index];
    if (flow.deficit <= DataSize{}) {
      flow.deficit += options_.quantum;
      list.pop_front();
      old_flows_.push_back(index);
      flow.place = Place::kOld;
      continue;
    }
    const QueueStats before = flow.queue.stats();
    const DataSize size_before = flow.queue.size();
    auto datagram = flow.queue.pop(now);
    take_over_counts(before, flow.queue.stats());
    size_ -= size_before - flow.queue.size();
    if (datagram) {
      flow.deficit -= datagram->datagram.wire_size;
      return datagram;
    }
    list.pop_front();
    // §4.2: a new flow that ran empty waits a round among the old ones, so that it does not become
    // new again with its next datagram and starve them.
    if (flow.place == Place::kNew && !old_flows_.empty()) {
      old_flows_.push_back(index);
      flow.place = Place::kOld;
    } else {
      flow.place = Place::kNowhere;
    }
  }
  return std::nullopt;
}

}  // namespace cress::sim
