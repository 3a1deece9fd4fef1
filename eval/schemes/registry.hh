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
  bool saturating = false;  ///< can fill a link in one direction
  bool call = false;        ///< can carry a video call
  /// The queue required at the bottleneck, in the syntax of `--queue`; empty: any.
  std::string_view queue{};
  bool knows_link = false;  ///< needs the trace of the link over which it sends
};

/// Every scheme without requirements on its path, in the order of the list.
std::span<const SchemeInfo> schemes();
/// Those with requirements: make_flow needs a FlowPath for them, make_call a CallPath.
std::span<const SchemeInfo> schemes_with_path();
/// The entry of a scheme. Sprout at any other confidence is `sprout-NN`, NN in 1..99 (the paper's
/// Figure 9): those with an entry have their own, the others that of `sprout-75` under another
/// name. Searches both lists. Throws std::invalid_argument naming the most similar schemes if there
/// is none of that name.
const SchemeInfo& find_scheme(std::string_view name);

/// Immutable data shared by runs: Sprout's tables, computed once.
class SchemeContext {
 public:
  SchemeContext() : dynamics_(control::SproutModel{}), table_(dynamics_) {}
  const control::BeliefDynamics& dynamics() const { return dynamics_; }
  const control::ForecastTable& table() const { return table_; }

 private:
  control::BeliefDynamics dynamics_;
  control::ForecastTable table_;
};

/// `left` sends forward, `right` answers (a flow) or sends in the other direction (a call).
struct FlowPair {
  std::unique_ptr<SchemeHost> left, right;
};
struct CallPair {
  std::unique_ptr<CallHost> left, right;
};

/// Varies the ends' start by a few milliseconds by `seed`, as real programs do not start at the
/// same instant; what reaches one of ours before its start is lost. Throws std::invalid_argument
/// for a scheme that carries no flow or has requirements on its path.
FlowPair make_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed);

/// The path for which a flow is created.
struct FlowPath {
  std::shared_ptr<const sim::DeliveryTrace> forward;  ///< of the link over which `left` sends
  std::string_view queue{};  ///< the queue at both bottlenecks, as SchemeInfo::queue
};
/// Throws std::invalid_argument if the path does not meet the scheme's requirements.
FlowPair make_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed,
                   const FlowPath& path);
/// The path for which a call is created: the traces of the links over which `left` and `right`
/// send.
struct CallPath {
  std::shared_ptr<const sim::DeliveryTrace> forward{}, reverse{};
};
/// The context must outlive the pair; throws std::invalid_argument for a scheme that carries no
/// call, or that needs a path and gets none.
CallPair make_call(std::string_view scheme, const SchemeContext& context, uint64_t seed,
                   CallMedia left, CallMedia right, const CallPath& path = {});

}  // namespace cress::schemes
