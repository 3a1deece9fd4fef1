#include "eval/schemes/vegas.hh"

#include <algorithm>
#include <cmath>

#include "eval/schemes/reno.hh"

namespace cress::schemes {
namespace {

constexpr double kWindowMin = 2.0;  // segments
// With two samples a round trip both may be of delayed acknowledgements.
constexpr int kRoundSamplesMin = 3;

double segments_in(DataSize size) {
  return static_cast<double>(size.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
}

}  // namespace

int vegas_backlog(double window, Duration round_trip, Duration base_round_trip) {
  const auto queued = static_cast<double>((round_trip - base_round_trip).count());
  return static_cast<int>(
      std::floor(window * queued / static_cast<double>(base_round_trip.count())));
}

void Vegas::start_round(const AckEvent& ack) {
  round_end_ = ack.sent;
  samples_ = 0;
  least_this_round_.reset();
}

void Vegas::grow_as_reno(const AckEvent& ack) {
  if (!may_grow(ack, window(), in_slow_start())) {
    return;
  }
  double acked = segments_in(ack.delivered);
  if (in_slow_start()) {
    const double step = std::min(acked, state_.threshold - state_.window);
    state_.window += step;
    acked -= step;
  }
  if (acked > 0) {
    state_.window += acked / std::floor(state_.window);
  }
}

void Vegas::adjust(const AckEvent& ack) {
  const double window = std::floor(state_.window);
  const int backlog = vegas_backlog(window, *least_this_round_, *base_);
  if (in_slow_start()) {
    if (backlog > kVegasGamma) {
      const double rate_window =
          std::floor(window * to_seconds(*base_) / to_seconds(*least_this_round_));
      state_.window = std::min(window, rate_window + 1.0);
      state_.threshold = std::min(state_.threshold, state_.window);
    } else {
      grow_as_reno(ack);
    }
  } else if (backlog > kVegasBeta) {
    state_.window -= 1.0;
    state_.threshold = std::min(state_.threshold, state_.window);
  } else if (backlog < kVegasAlpha) {
    state_.window += 1.0;
  }
  state_.window = std::max(state_.window, kWindowMin);
  // As Linux: whatever follows, three quarters of this window are known to be safe.
  state_.threshold = std::max(state_.threshold, 0.75 * state_.window);
}

void Vegas::on_ack(const AckEvent& ack) {
  if (ack.round_trip) {
    base_ = std::min(base_.value_or(*ack.round_trip), *ack.round_trip);
    least_this_round_ = std::min(least_this_round_.value_or(*ack.round_trip), *ack.round_trip);
    ++samples_;
  }
  if (ack.in_recovery || ack.repairing) {
    judging_ = false;
    grow_as_reno(ack);
    return;
  }
  if (!judging_) {
    judging_ = true;
    start_round(ack);
  }
  if (!ack.advanced) {
    return;
  }
  if (ack.acknowledged > round_end_) {
    if (samples_ >= kRoundSamplesMin) {
      adjust(ack);
    } else {
      grow_as_reno(ack);
    }
    start_round(ack);
  } else if (in_slow_start()) {
    grow_as_reno(ack);
  }
}

void Vegas::on_loss(TimePoint /*now*/) {
  before_loss_ = state_;
  state_.threshold = std::max(state_.window / 2.0, kWindowMin);
  state_.window = state_.threshold;
}

void Vegas::on_timeout(TimePoint /*now*/, bool repeated) {
  if (!repeated) {
    before_loss_ = state_;
    state_.threshold = std::max(state_.window / 2.0, kWindowMin);
  }
  state_.window = 1.0;
}

void Vegas::on_spurious_loss(TimePoint /*now*/) {
  state_.window = std::max(state_.window, before_loss_.window);
  state_.threshold = std::max(state_.threshold, before_loss_.threshold);
}

DataSize Vegas::window() const {
  return kTcpPayloadMax * static_cast<int64_t>(std::floor(state_.window));
}

}  // namespace cress::schemes
