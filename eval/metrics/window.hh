#pragma once

#include "transport/base/time.hh"

namespace cress::metrics {

/// The part of a run that is scored: from <= t < to, from < to. A run starts at kTimeZero.
struct Window {
  TimePoint from{};
  TimePoint to{};

  Duration length() const { return to - from; }
  bool contains(TimePoint t) const { return from <= t && t < to; }
  friend bool operator==(const Window&, const Window&) = default;
};

}  // namespace cress::metrics
