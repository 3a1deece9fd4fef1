#include "relay/forward/leg_plan.hh"

namespace cress::relay {

LegPlan plan_leg(std::span<const PlannedSender> ranked, DataRate capacity,
                 const LegPlanOptions& options) {
  LegPlan plan{.levels = std::vector<FrameKind>(ranked.size(), FrameKind::kNone)};
  DataRate left = capacity;
  const auto fits = [&](size_t i, FrameKind kind) {
    const DataRate rate = ranked[i].rates.at(static_cast<size_t>(kind));
    return (ranked[i].level >= kind ? rate : rate * options.raise_margin) <= left;
  };
  const auto raise = [&](size_t i, FrameKind kind) {
    if (static_cast<size_t>(plan.levels[i]) + 1 == static_cast<size_t>(kind) &&
        kind <= ranked[i].ceiling && fits(i, kind)) {
      plan.levels[i] = kind;
      left = left - ranked[i].rates.at(static_cast<size_t>(kind));
    }
  };
  for (size_t i = 0; i < ranked.size(); ++i) {
    raise(i, FrameKind::kAnchor);
    const bool has_some = ranked[i].level >= FrameKind::kAnchor;
    const DataRate anchors = ranked[i].rates.at(static_cast<size_t>(FrameKind::kAnchor));
    if (i == 0 && plan.levels[0] == FrameKind::kNone && ranked[0].ceiling >= FrameKind::kAnchor &&
        anchors * (has_some ? options.sparse_share / 2 : options.sparse_share) <= left) {
      plan.levels[0] = FrameKind::kAnchor;
      plan.is_sparse = true;
      return plan;  // it takes all of the capacity
    }
    raise(i, FrameKind::kBase);
  }
  for (size_t i = 0; i < ranked.size(); ++i) {
    raise(i, FrameKind::kLayer1);
    raise(i, FrameKind::kLayer2);
  }
  return plan;
}

}  // namespace cress::relay
