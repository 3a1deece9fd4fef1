#include "app/call/late_parity.hh"

#include <algorithm>
#include <utility>

#include "transport/base/take_front.hh"

namespace cress::app {
namespace {

// On shorter paths what is sent again comes soon enough.
constexpr Duration kRoundTripMin = 100ms;
// A fifth of the round trip: with 30 pictures a second, one of them later, or two from 170 ms on.
// The receiver waits 200 ms for a frame that others refer to (media::FrameClockOptions).
constexpr int64_t kPartOfRoundTrip = 5;
constexpr Duration kLatenessMax = 60ms;
// If frames are lost again within this time, parity is late for as long. Where losses are single
// ones, parity next to its frame suffices, and comes sooner.
constexpr Duration kMemory = 10s;
// Frames that are lost closer together than this may be of one burst.
constexpr Duration kGroup = 200ms;

}  // namespace

void LateParity::handle_frame_lost(TimePoint now) {
  if (lost_at_ && now - *lost_at_ < kGroup) {
    return;
  }
  if (lost_at_ && now - *lost_at_ <= kMemory) {
    again_at_ = now;
  }
  lost_at_ = now;
}

Duration LateParity::lateness(TimePoint now, Duration round_trip) const {
  if (!again_at_ || now - *again_at_ > kMemory || round_trip < kRoundTripMin) {
    return Duration{};
  }
  return std::min(round_trip / kPartOfRoundTrip, kLatenessMax);
}

void LateParity::hold(TimePoint due, Fragment fragment) {
  held_.push_back({due, std::move(fragment)});
}

std::optional<LateParity::Fragment> LateParity::poll_due(TimePoint now) {
  if (held_.empty() || held_.front().due > now) {
    return std::nullopt;
  }
  return take_front(held_)->fragment;
}

}  // namespace cress::app
