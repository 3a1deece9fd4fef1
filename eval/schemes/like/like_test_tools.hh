#pragma once

#include <memory>
#include <utility>

#include "eval/schemes/like/like_flow.hh"
#include "transport/sim/world.hh"

/// Code shared by the tests of the modelled programs.
namespace cress::schemes::like_test {

using Trace = std::shared_ptr<const sim::DeliveryTrace>;

constexpr DataRate kbps(int64_t rate) { return DataRate::kilobits_per_second(rate); }
constexpr TimePoint at(Duration time) { return kTimeZero + time; }

/// One opportunity every `gap`, [0, until), then every `later`, to `end`.
inline Trace stepped(Duration gap, Duration until, Duration later, Duration end) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration time = gap; time <= end; time += time < until ? gap : later) {
    trace->opportunities.push_back({time});
  }
  return trace;
}

/// A two-way call between ends without video.
struct Path {
  Path(Trace down, Trace up, const LikeOptions& options)
      : left(kTimeZero, options, true),
        right(at(7ms), options, true),
        forward({.trace = std::move(down), .queue = nullptr}),
        reverse({.trace = std::move(up), .queue = nullptr}),
        world({left, right, forward, reverse}) {}
  LikeFlow left;
  LikeFlow right;
  sim::Link forward;
  sim::Link reverse;
  sim::World world;
};

}  // namespace cress::schemes::like_test
