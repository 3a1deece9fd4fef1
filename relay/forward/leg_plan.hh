#pragma once

#include <array>
#include <span>
#include <vector>

#include "relay/forward/frame_kind.hh"
#include "transport/base/units.hh"

namespace cress::relay {

/// One sender from the view of a leg.
struct PlannedSender {
  /// The measured rate of each kind of its frames; kNone: zero.
  std::array<DataRate, kFrameKinds> rates{};
  /// The level that the leg gets now.
  FrameKind level = FrameKind::kNone;
  /// Upper bound for the level, even if more would fit: it was lowered only recently.
  FrameKind ceiling = FrameKind::kLayer2;
};

struct LegPlanOptions {
  /// A level is raised only if this many times its rate would fit.
  double raise_margin = 1.3;
  /// A leg that cannot carry all anchors of the first sender may get some of them: if it carries
  /// this share of their rate, or half this share once it gets them, because an occasional key
  /// frame is as large.
  double sparse_share = 0.2;
};

struct LegPlan {
  std::vector<FrameKind> levels;  ///< one per sender
  /// The first sender is at kAnchor, and the leg cannot carry all its anchors.
  bool is_sparse = false;
  friend bool operator==(const LegPlan&, const LegPlan&) = default;
};

/// How much of docs/protocol/room.md's list fits a leg of this capacity. `ranked`: the senders that
/// the leg requests, in order of priority. First anchors and base frames in that order, then layers
/// 1 and 2 in that order; a sender whose next kind does not fit stays at its level, and those after
/// it may still fit. Pure. Hysteresis: options.raise_margin.
LegPlan plan_leg(std::span<const PlannedSender> ranked, DataRate capacity,
                 const LegPlanOptions& options = {});

}  // namespace cress::relay
