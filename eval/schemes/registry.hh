#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "eval/schemes/host/scheme_host.hh"
#include "media/source/video_source.hh"
#include "transport/control/sprout/forecast_table.hh"
#include "transport/sim/trace.hh"

namespace cress::schemes {

struct SchemeInfo {
  std::string_view name;
  std::string_view what;    ///< one line
  std::string_view source;  ///< paper section or RFC
  bool saturating = false;  ///< can fill a link one way
  bool call = false;        ///< can carry a video call
  /// What has to stand at the bottleneck, as `--queue` says it; empty: whatever the run has.
  std::string_view queue{};
  bool knows_link = false;  ///< needs the trace of the link it sends over
};

/// Every scheme that asks nothing of its path, in the order they are listed.
std::span<const SchemeInfo> schemes();
/// Those that do, which only make_flow with a FlowPath makes.
std::span<const SchemeInfo> schemes_with_path();
/// Sprout at any other confidence is `sprout-NN`, NN in 1..99 (the paper's Figure 9): of those with
/// an entry their own, of the others that of `sprout-75`, whose name differs. Of both lists. Throws
/// std::invalid_argument naming the nearest schemes when there is none of that name.
const SchemeInfo& find_scheme(std::string_view name);

/// What runs share and nobody changes: Sprout's tables, made once.
class SchemeContext {
 public:
  SchemeContext() : dynamics_(control::SproutModel{}), table_(dynamics_) {}
  const control::BeliefDynamics& dynamics() const { return dynamics_; }
  const control::ForecastTable& table() const { return table_; }

 private:
  control::BeliefDynamics dynamics_;
  control::ForecastTable table_;
};

/// `left` sends forward, `right` answers (a flow) or sends the other way (a call).
struct FlowPair {
  std::unique_ptr<SchemeHost> left, right;
};
struct CallPair {
  std::unique_ptr<CallHost> left, right;
};

/// Jitters the ends' start within a few milliseconds by `seed`, as real programs do not start in
/// step.
/// Throws std::invalid_argument for a scheme that carries no flow or asks something of its path.
FlowPair make_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed);

/// What a run tells a flow of the path it is made for.
struct FlowPath {
  std::shared_ptr<const sim::DeliveryTrace> forward;  ///< of the link that `left` sends over
  std::string_view queue{};  ///< what stands at both bottlenecks, as SchemeInfo::queue
};
/// Throws std::invalid_argument where the path is not what the scheme asks for.
FlowPair make_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed,
                   const FlowPath& path);
/// What a run tells a call of its path: the traces of the links that `left` and `right` send over.
struct CallPath {
  std::shared_ptr<const sim::DeliveryTrace> forward{}, reverse{};
};
/// The context outlives the pair; throws std::invalid_argument for a scheme that carries no call,
/// or has to know a path that it is not told.
CallPair make_call(std::string_view scheme, const SchemeContext& context, uint64_t seed,
                   CallMedia left, CallMedia right, const CallPath& path = {});

}  // namespace cress::schemes
