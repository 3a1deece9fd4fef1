#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "eval/schemes/scheme_host.hh"
#include "media/source/video_source.hh"
#include "transport/sprout/forecast_table.hh"

namespace cress::schemes {

struct SchemeInfo {
  std::string_view name;
  std::string_view what;    ///< one line
  std::string_view source;  ///< paper section or RFC
  bool saturating = false;  ///< can fill a link one way
  bool call = false;        ///< can carry a video call
};

/// Every scheme, in the order they are listed.
std::span<const SchemeInfo> schemes();
/// Throws std::invalid_argument naming the nearest schemes when there is none of that name.
const SchemeInfo& find_scheme(std::string_view name);

/// What runs share and nobody changes: Sprout's tables, made once.
class SchemeContext {
 public:
  SchemeContext() : dynamics_(sprout::SproutModel{}), table_(dynamics_) {}
  const sprout::BeliefDynamics& dynamics() const { return dynamics_; }
  const sprout::ForecastTable& table() const { return table_; }

 private:
  sprout::BeliefDynamics dynamics_;
  sprout::ForecastTable table_;
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
FlowPair make_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed);
/// The context outlives the pair; throws
/// std::invalid_argument for a scheme that carries no call.
CallPair make_call(std::string_view scheme, const SchemeContext& context, uint64_t seed,
                   CallMedia left, CallMedia right);

}  // namespace cress::schemes
