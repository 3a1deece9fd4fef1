#include "eval/schemes/congestion/copa.hh"

#include <algorithm>
#include <cmath>

namespace cress::schemes {
namespace {

constexpr double kWindowMin = 2.0;           // segments
constexpr Duration kLeastWindow = 10s;       // §2: RTTmin
constexpr int kRoundsBeforeDoubling = 3;     // §2.1, rule 3
constexpr int kRoundsOfMost = 4;             // §2.2: RTTmax
constexpr int kRoundsWithoutEmptyQueue = 5;  // §2.2
constexpr double kNearlyEmpty = 0.1;         // §2.2, of RTTmax - RTTmin
constexpr double kPacingGain = 2.0;          // §2.1: bursts are spread over half a round trip

}  // namespace

std::optional<double> copa_target_rate(double delta, Duration queueing) {
  if (queueing <= Duration::zero()) {
    return std::nullopt;
  }
  return 1.0 / (delta * to_seconds(queueing));
}

void Copa::sample(TimePoint now, Duration round_trip) {
  smoothed_ = smoothed_ ? *smoothed_ + (round_trip - *smoothed_) / 8 : round_trip;
  standing_.add(now, round_trip);
  standing_.forget_before(now - *smoothed_ / 2);
  least_.add(now, round_trip);
  least_.forget_before(now - std::max<Duration>(kLeastWindow, kRoundsOfMost * *smoothed_));
  most_.add(now, round_trip);
  most_.forget_before(now - kRoundsOfMost * *smoothed_);
}

void Copa::update_mode(TimePoint now) {
  const Duration queueing = standing_.best() - least_.best();
  const Duration range = most_.best() - least_.best();
  if (to_seconds(queueing) <= kNearlyEmpty * to_seconds(range)) {
    nearly_empty_at_ = now;
  }
  const bool competes =
      options_.switches_mode && now - nearly_empty_at_ > kRoundsWithoutEmptyQueue * *smoothed_;
  if (!competes) {
    inverse_delta_ = 1.0 / options_.delta;
  }
  competes_ = competes;
}

void Copa::update_velocity() {
  const int direction = state_.window > window_at_round_start_ ? 1 : -1;
  if (direction == state_.direction) {
    ++state_.rounds_one_way;
    if (state_.rounds_one_way >= kRoundsBeforeDoubling) {
      // At most doubles or empties the window in a round trip.
      state_.velocity = std::min(2.0 * state_.velocity, state_.window / inverse_delta_);
      state_.velocity = std::max(state_.velocity, 1.0);
    }
  } else {
    state_.direction = direction;
    state_.rounds_one_way = 1;
    state_.velocity = 1.0;
  }
}

void Copa::end_round(const AckEvent& ack) {
  if (!state_.slow_start) {
    update_velocity();
  }
  if (competes_) {
    // One more per round trip without loss, half after one (§2.2); never gentler than the default.
    inverse_delta_ = lost_this_round_ ? inverse_delta_ / 2.0 : inverse_delta_ + 1.0;
    inverse_delta_ = std::max(inverse_delta_, 1.0 / options_.delta);
  }
  lost_this_round_ = false;
  window_at_round_start_ = state_.window;
  round_end_ = ack.delivered_total;
}

void Copa::on_ack(const AckEvent& ack) {
  if (ack.round_trip) {
    sample(ack.now, *ack.round_trip);
  }
  if (!smoothed_) {
    return;
  }
  update_mode(ack.now);
  const Duration standing = standing_.best();
  const auto target = copa_target_rate(1.0 / inverse_delta_, standing - least_.best());
  const bool below = !target || state_.window / to_seconds(standing) <= *target;
  const double acked =
      static_cast<double>(ack.delivered.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
  if (state_.slow_start && !below) {
    state_.slow_start = false;
    state_.direction = 0;
    window_at_round_start_ = state_.window;
  }
  const bool used = ack.in_flight + kTcpPayloadMax >= window() ||
                    (state_.slow_start && window() < 2 * ack.in_flight);
  if (state_.slow_start) {
    state_.window += used ? acked : 0.0;
  } else if (!below || used) {
    const double step = state_.velocity * inverse_delta_ * acked / state_.window;
    state_.window = std::max(state_.window + (below ? step : -step), kWindowMin);
    const int direction = below ? 1 : -1;
    if (state_.velocity > 1.0 && direction != state_.direction) {
      state_.velocity = 1.0;  // the velocity was for the other direction
      state_.rounds_one_way = 0;
    }
  }
  if (ack.round_trip && ack.delivered_when_sent >= round_end_) {
    end_round(ack);
  }
}

void Copa::on_loss(TimePoint /*now*/) {
  lost_this_round_ = true;
  before_timeout_.reset();
}

void Copa::on_timeout(TimePoint /*now*/, bool repeated) {
  if (!repeated || !before_timeout_) {
    before_timeout_ = state_;
  }
  state_ = State{};
  state_.window = kWindowMin;
  lost_this_round_ = true;
}

void Copa::on_spurious_loss(TimePoint /*now*/) {
  if (before_timeout_ && state_.window < before_timeout_->window) {
    state_ = *before_timeout_;
  }
  before_timeout_.reset();
}

DataSize Copa::window() const {
  return kTcpPayloadMax * static_cast<int64_t>(std::floor(state_.window));
}

std::optional<DataRate> Copa::pacing_rate() const {
  if (!smoothed_) {
    return std::nullopt;
  }
  return DataRate::from(window(), standing_.best()) * kPacingGain;
}

}  // namespace cress::schemes
