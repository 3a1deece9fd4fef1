#include "transport/session/flow_queues.hh"

#include <utility>

#include "transport/base/check.hh"

namespace cress::session {

void FlowQueues::open(FlowId flow, FlowOptions options) {
  check(!is_open(flow), "FlowQueues: flow opened twice");
  slots_[flow].emplace().options = options;
  turns_.at(static_cast<size_t>(options.priority)).flows.push_back(flow);
}

MessageId FlowQueues::push(FlowId flow, std::vector<std::byte> bytes, Leave leave) {
  check(is_open(flow), "FlowQueues: flow was not opened");
  FlowQueue& slot = *slots_[flow];
  on_turn_.reset();
  for (auto before = slot.messages.begin(); leave == Leave::kNow && before != slot.messages.end();
       ++before) {
    size_leaving_now_ += before->leave == Leave::kNow ? 0 : 1;
    before->leave = Leave::kNow;
  }
  size_leaving_now_ += leave == Leave::kNow ? 1 : 0;
  slot.messages.push_back(
      {flow, slot.next_id, leave, slot.options.report_outcomes, std::move(bytes)});
  const DataSize size = slot.messages.back().size();
  slot.size += size;
  ++turn_of(slot).waiting;
  size_ += size;
  ++size_messages_;
  return slot.next_id++;
}

template <class Predicate>
std::optional<FlowId> FlowQueues::first_flow(Predicate predicate) const {
  for (const Turn& turn : turns_) {
    for (size_t i = 0; turn.waiting > 0 && i < turn.flows.size(); ++i) {
      const FlowId flow = turn.flows[(turn.next + i) % turn.flows.size()];
      if (!slots_[flow]->messages.empty() && predicate(slots_[flow]->messages.front())) {
        return flow;
      }
    }
  }
  return std::nullopt;
}

std::optional<FlowId> FlowQueues::flow_on_turn() const {
  if (size_messages_ > 0 && !on_turn_) {
    on_turn_ = find_flow_on_turn();
  }
  return on_turn_;
}

std::optional<FlowId> FlowQueues::find_flow_on_turn() const {
  if (size_leaving_now_ > 0) {
    return first_flow([](const QueuedMessage& head) { return head.leave == Leave::kNow; });
  }
  return first_flow([](const QueuedMessage&) { return true; });
}

const QueuedMessage* FlowQueues::front() const {
  const auto flow = flow_on_turn();
  return flow ? &slots_[*flow]->messages.front() : nullptr;
}

QueuedMessage FlowQueues::take_front(FlowId flow) {
  FlowQueue& slot = *slots_[flow];
  on_turn_.reset();
  QueuedMessage message = std::move(slot.messages.front());
  slot.messages.pop_front();
  slot.size -= message.size();
  --turn_of(slot).waiting;
  size_ -= message.size();
  --size_messages_;
  size_leaving_now_ -= message.leave == Leave::kNow ? 1 : 0;
  return message;
}

QueuedMessage FlowQueues::pop() {
  const auto flow = flow_on_turn();
  check(flow.has_value(), "FlowQueues: pop of nothing");
  Turn& turn = turn_of(*slots_[*flow]);
  for (size_t i = 0; i < turn.flows.size(); ++i) {
    if (turn.flows[i] == *flow) {
      turn.next = (i + 1) % turn.flows.size();
    }
  }
  return take_front(*flow);
}

QueuedMessage FlowQueues::drop_from_longest() {
  std::optional<FlowId> longest;
  for (const Turn& turn : turns_) {
    for (const FlowId flow : turn.flows) {
      if (!slots_[flow]->messages.empty() && (!longest || size(flow) > size(*longest))) {
        longest = flow;
      }
    }
  }
  check(longest.has_value(), "FlowQueues: drop from nothing");
  return take_front(*longest);
}

}  // namespace cress::session
