#include "eval/schemes/congestion/reno.hh"

#include <algorithm>
#include <cmath>

namespace cress::schemes {
namespace {
constexpr double kWindowMin = 2.0;  // after a loss (RFC 5681, equation 4)
}

bool may_grow(const AckEvent& ack, DataSize window, bool slow_start) {
  const bool used = ack.in_flight >= window || (slow_start && window < 2 * ack.in_flight);
  return used && ack.advanced && !ack.in_recovery;
}

void Reno::grow(const AckEvent& ack) {
  if (!may_grow(ack, window(), in_slow_start())) {
    return;
  }
  double acked =
      static_cast<double>(ack.delivered.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
  if (in_slow_start()) {
    const double step = std::min(acked, state_.threshold - state_.window);
    state_.window += step;
    acked -= step;
  }
  if (acked > 0) {
    state_.window += acked / std::floor(state_.window);
  }
}

void Reno::on_loss(TimePoint /*now*/) {
  before_loss_ = state_;
  state_.threshold = std::max(state_.window / 2.0, kWindowMin);
  state_.window = state_.threshold;
}

void Reno::on_timeout(TimePoint /*now*/, bool repeated) {
  if (!repeated) {
    before_loss_ = state_;
    state_.threshold = std::max(state_.window / 2.0, kWindowMin);
  }
  state_.window = 1.0;
}

void Reno::on_spurious_loss(TimePoint /*now*/) {
  state_.window = std::max(state_.window, before_loss_.window);
  state_.threshold = std::max(state_.threshold, before_loss_.threshold);
}

DataSize Reno::window() const {
  return kTcpPayloadMax * static_cast<int64_t>(std::floor(state_.window));
}

}  // namespace cress::schemes
