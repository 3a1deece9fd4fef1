#pragma once

#include <array>
#include <span>
#include <vector>

#include "relay/forward/frame_kind.hh"
#include "transport/base/units.hh"

namespace cress::relay {

/// One sender as a leg sees it.
struct PlannedSender {
  /// What each kind of its frames takes, measured; of kNone nothing.
  std::array<DataRate, kFrameKinds> rates{};
  /// What the leg gets of it now.
  FrameKind level = FrameKind::kNone;
  /// No more than this, whatever would fit: it had less than before only lately.
  FrameKind ceiling = FrameKind::kLayer2;
};

struct LegPlanOptions {
  /// More than now is given only where this many times its rate would fit.
  double raise_margin = 1.3;
  /// Of the first sender's anchors a leg that cannot carry all may get some: if it carries this
  /// share of them, or half of it once it gets them: a key frame now and then weighs as much.
  double sparse_share = 0.2;
};

struct LegPlan {
  std::vector<FrameKind> levels;  ///< one for each sender
  /// The first sender is at kAnchor, and the leg will not keep up with all its anchors.
  bool is_sparse = false;
  friend bool operator==(const LegPlan&, const LegPlan&) = default;
};

/// How far down docs/protocol/room.md's list a leg of this capacity gets. `ranked`: whom the leg
/// looks at, first first. First anchors and base in that order, then layers 1 and 2 in that order;
/// whose next kind does not fit stays below it, and those after it may still fit. Pure. Hysteresis:
/// options.raise_margin.
LegPlan plan_leg(std::span<const PlannedSender> ranked, DataRate capacity,
                 const LegPlanOptions& options = {});

}  // namespace cress::relay
