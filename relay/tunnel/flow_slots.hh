#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>

#include "transport/base/time.hh"
#include "transport/netns/packet.hh"
#include "transport/session/flow_queues.hh"

namespace cress::tunnel {

/// Which of the queues 0..kSlots - 1 a packet's flow has. A flow is what has the same addresses,
/// protocol and ports (of fragments, which do not all tell them: the first two). Each flow has a
/// queue its own while there are kSlots of them; beyond that, those come first that have nothing
/// waiting, and when all have, flows share. A flow never changes its queue while something of it
/// waits there, so that nothing overtakes within it. Bounded: kFlowsMax are remembered; beyond that
/// who was silent longest is forgotten first, with an empty queue if there is one. Threads: none
/// inside; one owner. `now` never goes back.
class FlowSlots {
 public:
  static constexpr size_t kSlots = 128;
  static constexpr size_t kFlowsMax = 1024;
  /// A flow is over when it was silent for so long.
  static constexpr Duration kIdleMax = 30s;

  using IsWaiting = std::function<bool(session::FlowId)>;
  /// `is_waiting`: whether something waits in that queue.
  session::FlowId slot_of(TimePoint now, netns::FlowKey flow, bool is_fragment,
                          const IsWaiting& is_waiting);
  /// Flows that are remembered.
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
