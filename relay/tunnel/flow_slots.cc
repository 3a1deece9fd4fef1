#include "relay/tunnel/flow_slots.hh"

#include <algorithm>

namespace cress::tunnel {
namespace {

constexpr Duration kLookInterval = 1s;

session::FlowId flow_of(size_t slot) { return static_cast<session::FlowId>(slot); }

}  // namespace

session::FlowId FlowSlots::slot_of(TimePoint now, netns::FlowKey flow, bool is_fragment,
                                   const IsWaiting& is_waiting) {
  if (now >= next_look_) {
    forget_idle(now, is_waiting);
    next_look_ = now + kLookInterval;
  }
  if (is_fragment) {
    flow.source.port = flow.destination.port = 0;
  }
  auto known = flows_.find(flow);
  if (known == flows_.end()) {
    if (flows_.size() == kFlowsMax) {
      auto gone = longest_silent([&](const Flow& old) { return !is_waiting(flow_of(old.slot)); });
      forget(gone != flows_.end() ? gone : longest_silent([](const Flow&) { return true; }));
    }
    known = flows_.emplace(flow, Flow{choose(is_waiting), now}).first;
    ++users_.at(known->second.slot);
  }
  known->second.heard = now;
  return flow_of(known->second.slot);
}

/// A free one; otherwise one whose only flow has nothing waiting, which is forgotten; otherwise the
/// one with the fewest flows.
size_t FlowSlots::choose(const IsWaiting& is_waiting) {
  auto fewest = std::min_element(users_.begin(), users_.end());
  if (*fewest > 0) {
    const auto idle = longest_silent([&](const Flow& old) {
      return users_.at(old.slot) == 1 && !is_waiting(flow_of(old.slot));
    });
    if (idle != flows_.end()) {
      forget(idle);
      fewest = std::min_element(users_.begin(), users_.end());
    }
  }
  return static_cast<size_t>(fewest - users_.begin());
}

FlowSlots::Flows::iterator FlowSlots::longest_silent(
    const std::function<bool(const Flow&)>& may_go) {
  auto best = flows_.end();
  for (auto flow = flows_.begin(); flow != flows_.end(); ++flow) {
    if (may_go(flow->second) && (best == flows_.end() || flow->second.heard < best->second.heard)) {
      best = flow;
    }
  }
  return best;
}

void FlowSlots::forget(Flows::iterator flow) {
  --users_.at(flow->second.slot);
  flows_.erase(flow);
}

void FlowSlots::forget_idle(TimePoint now, const IsWaiting& is_waiting) {
  for (auto flow = flows_.begin(); flow != flows_.end();) {
    const auto next = std::next(flow);
    if (now - flow->second.heard > kIdleMax && !is_waiting(flow_of(flow->second.slot))) {
      forget(flow);
    }
    flow = next;
  }
}

}  // namespace cress::tunnel
