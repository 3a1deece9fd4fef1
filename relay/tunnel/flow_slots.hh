#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>

#include "transport/base/time.hh"
#include "transport/netns/packet.hh"
#include "transport/session/flow_queues.hh"

namespace cress::tunnel {

/// Assigns one of the queues 0..kSlots - 1 to a packet's flow. A flow is identified by addresses,
/// protocol and ports (for fragments, which do not all carry ports: by addresses and protocol).
/// Each flow has a queue of its own while there are kSlots of them; beyond that, empty queues are
/// reused first, and if none is empty, flows share. A flow never changes its queue while a packet
/// of it waits there, so packets of a flow are not reordered. Bounded: kFlowsMax flows are
/// remembered; beyond that the flow idle longest is forgotten first, one with an empty queue if
/// there is any. Threads: none inside; one owner. `now` never goes back.
class FlowSlots {
 public:
  static constexpr size_t kSlots = 128;
  static constexpr size_t kFlowsMax = 1024;
  /// A flow ends after this much silence.
  static constexpr Duration kIdleMax = 30s;

  using IsWaiting = std::function<bool(session::FlowId)>;
  /// `is_waiting`: whether a packet waits in that queue.
  session::FlowId slot_of(TimePoint now, netns::FlowKey flow, bool is_fragment,
                          const IsWaiting& is_waiting);
  /// Number of flows remembered.
  size_t size() const { return flows_.size(); }

 private:
  struct Flow {
    size_t slot = 0;
    TimePoint heard{};
  };
  using Flows = std::map<netns::FlowKey, Flow>;

  size_t choose(const IsWaiting& is_waiting);
  Flows::iterator longest_silent(const std::function<bool(const Flow&)>& may_go);
  void forget(Flows::iterator flow);
  void forget_idle(TimePoint now, const IsWaiting& is_waiting);

  Flows flows_;
  std::array<size_t, kSlots> users_{};
  TimePoint next_look_ = kTimeZero;
};

}  // namespace cress::tunnel
