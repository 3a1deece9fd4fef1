#include "eval/schemes/congestion/vegas.hh"

#include <algorithm>
#include <cmath>

namespace cress::schemes {
namespace {

constexpr double kWindowMin = 2.0;  // segments
// With two samples per round trip both may be of delayed acknowledgements.
constexpr int kRoundSamplesMin = 3;

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

void Vegas::shrink_to(double window) { set(window, std::min(threshold(), window)); }

void Vegas::adjust(const AckEvent& ack) {
  const double window = std::floor(segments());
  const int backlog = vegas_backlog(window, *least_this_round_, *base_);
  if (in_slow_start() && backlog > kVegasGamma) {
    const double rate_window =
        std::floor(window * to_seconds(*base_) / to_seconds(*least_this_round_)) + 1.0;
    shrink_to(std::min(window, rate_window));
  } else if (in_slow_start()) {
    grow(ack);
  } else if (backlog > kVegasBeta) {
    shrink_to(segments() - 1.0);
  } else if (backlog < kVegasAlpha) {
    set(segments() + 1.0, threshold());
  }
  const double least = std::max(segments(), kWindowMin);
  // As in Linux: whatever follows, three quarters of this window are known to be safe.
  set(least, std::max(threshold(), 0.75 * least));
}

void Vegas::on_ack(const AckEvent& ack) {
  if (ack.round_trip) {
    base_ = std::min(base_.value_or(*ack.round_trip), *ack.round_trip);
    least_this_round_ = std::min(least_this_round_.value_or(*ack.round_trip), *ack.round_trip);
    ++samples_;
  }
  if (ack.repairing) {
    judging_ = false;
    grow(ack);
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
      grow(ack);
    }
    start_round(ack);
  } else if (in_slow_start()) {
    grow(ack);
  }
}

}  // namespace cress::schemes
