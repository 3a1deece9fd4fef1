#pragma once

#include <memory>
#include <vector>

#include "eval/harness/run.hh"
#include "transport/sim/world.hh"

namespace cress::harness {

/// The other traffic of a run: each flow between two hosts of its own, whose datagrams and
/// acknowledgements pass through the run's two links. A flow's clock starts at its start, so that
/// it begins exactly then. Bound: kFlowsMax. Threads: none inside; one owner.
class CrossTraffic {
 public:
  static constexpr size_t kFlowsMax = 100;

  /// Throws as `check` does.
  CrossTraffic(const RunSpec& spec, const schemes::SchemeContext& context);
  ~CrossTraffic();

  /// Before the run. All are borrowed and outlive this.
  void connect(sim::World& world, sim::Link& forward, sim::Link& reverse);
  /// At the end of every kTimelineBin: takes what the calls displayed and how much arrived.
  void note();

  bool empty() const { return pairs_.empty(); }
  /// Of one direction's queue: its link, which replays `trace`.
  Sharing sharing(bool forward, const sim::Link& link, const sim::DeliveryTrace& trace) const;

  /// Throws std::invalid_argument where a kind is not one that can be other traffic, or there are
  /// more flows than kFlowsMax.
  static void check(const std::vector<CrossFlow>& flows);

 private:
  struct Pair;
  struct End;

  void add(const RunSpec& spec, const schemes::SchemeContext& context, const CrossFlow& flow);
  static const Address* receiver_through(const Pair& pair, bool forward);
  static FlowShare flow_share(const Pair& pair, const Address& to, const sim::Link& link);

  metrics::Window window_;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

}  // namespace cress::harness
