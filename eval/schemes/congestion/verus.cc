#include "eval/schemes/congestion/verus.hh"

#include <algorithm>
#include <cmath>

namespace cress::schemes {
namespace {

constexpr double kDelayOldWeight = 0.875;  // of the smoothed round trip
constexpr double kLargestOldWeight = 0.2;  // of the smoothed largest delay
constexpr double kStartAim = 0.75;         // of R * D_min, after slow start
constexpr double kStarvedStep = 10.0;      // ms: the least delay is no longer reached
constexpr double kStillMs = 1e-4;          // a change smaller than this is none
// The window changes each epoch; delays of more than this many epochs are read at the oldest.
constexpr size_t kSentMax = 20'000;

double segments_in(DataSize size) {
  return static_cast<double>(size.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
}

}  // namespace

double verus_aim(double aim, double largest, double change, double least, double ratio_max) {
  if (largest / least > ratio_max) {
    return std::max(least, aim - kVerusDelta2);
  }
  return change > kStillMs ? std::max(least, aim - kVerusDelta1) : aim + kVerusDelta2;
}

int verus_quota(double window, double in_flight, double round_trip_ms) {
  const double epochs = std::ceil(round_trip_ms / to_milliseconds(kVerusEpoch));
  const double missing =
      epochs > 1 ? window + in_flight * (2.0 - epochs) / (epochs - 1.0) : window - in_flight;
  return static_cast<int>(std::max(0.0, missing));
}

void Verus::note_window(TimePoint now) {
  if (sent_.empty() || sent_.back().window != state_.window) {
    sent_.push_back({now, state_.window});
    if (sent_.size() > kSentMax) {
      sent_.pop_front();
    }
  }
}

double Verus::window_when_sent(TimePoint sent) {
  while (sent_.size() > 1 && sent_[1].from <= sent) {
    sent_.pop_front();
  }
  return sent_.empty() ? state_.window : sent_.front().window;
}

void Verus::learn(double window, double delay_ms) {
  State& s = state_;
  s.epoch_largest_ms = std::max(s.epoch_largest_ms.value_or(delay_ms), delay_ms);
  s.round_trip_ms = kDelayOldWeight * s.round_trip_ms + (1.0 - kDelayOldWeight) * delay_ms;
  s.least_ms = std::min(s.least_ms.value_or(delay_ms), delay_ms);
  if (!s.recovers) {
    s.profile.observe(window, delay_ms);
    return;
  }
  s.window += 1.0 / s.window;
  if (!s.profile.empty()) {
    s.aim_ms = std::min(s.aim_ms, s.profile.delay_for(s.window));
  }
}

void Verus::leave_slow_start(TimePoint now, double window) {
  State& s = state_;
  s.window = std::max(kVerusDecrease * window, 1.0);
  s.aim_ms = kStartAim * s.least_ms.value_or(to_milliseconds(kVerusEpoch)) * ratio_max_;
  s.recovers = true;
  s.left_start = true;
  s.slow_start = false;
  s.quota = 0;
  s.profile.rebuild();
  s.curve_due = now + kVerusCurveInterval;
  s.epoch_end = now + kVerusEpoch;
}

void Verus::on_ack(const AckEvent& ack) {
  in_flight_ = segments_in(ack.in_flight_now);
  last_ack_ = ack.now;
  if (ack.round_trip) {
    const double delay_ms = to_milliseconds(*ack.round_trip);
    const double window = window_when_sent(ack.now - *ack.round_trip);
    if (state_.slow_start && delay_ms > kVerusSlowStartDelay) {
      leave_slow_start(ack.now, window);
    }
    if (state_.recovers && window <= state_.window) {
      state_.recovers = false;
      state_.left_start = false;
      state_.epoch_largest_ms.reset();
    }
    learn(window, delay_ms);
  }
  if (state_.slow_start) {
    state_.window += segments_in(ack.delivered);
  }
  note_window(ack.now);
}

void Verus::end_epoch(TimePoint now) {
  State& s = state_;
  const double silent_ms = to_milliseconds(now - last_ack_);
  const double largest =
      s.epoch_largest_ms.value_or(std::max(s.largest_ms.value_or(silent_ms), silent_ms));
  s.epoch_largest_ms.reset();
  const double before = s.largest_ms.value_or(largest);
  const double least = *s.least_ms;
  bool still = false;
  if (before / least <= ratio_max_ || !s.left_start) {
    s.aim_ms = verus_aim(s.aim_ms, before, largest - before, least, ratio_max_);
    if (before / least > ratio_max_ && s.aim_ms <= least) {
      // At its minimum. With hardly anything in flight, that least delay is obsolete.
      const bool is_starved = in_flight_ < 2.0;
      s.least_ms = is_starved ? least + kStarvedStep : least;
      still = !is_starved;
    }
  }
  if (now >= s.curve_due) {
    s.profile.rebuild();
    s.curve_due = now + kVerusCurveInterval;
  }
  if (!s.recovers) {
    s.window = s.profile.empty() ? 1.0 : std::max(1.0, s.profile.window_for(s.aim_ms));
  }
  s.quota = still ? 0 : verus_quota(s.window, in_flight_, s.round_trip_ms);
  s.largest_ms = kLargestOldWeight * before + (1.0 - kLargestOldWeight) * largest;
  note_window(now);
}

void Verus::handle_timeout(TimePoint now) {
  while (!state_.slow_start && state_.epoch_end <= now) {
    end_epoch(state_.epoch_end);
    state_.epoch_end += kVerusEpoch;
  }
}

TimePoint Verus::poll_timeout() const { return state_.slow_start ? kNever : state_.epoch_end; }

bool Verus::may_send(DataSize in_flight) const {
  return state_.slow_start ? segments_in(in_flight) + 1.0 <= state_.window : state_.quota > 0;
}

void Verus::on_sent(TimePoint now, DataSize in_flight) {
  in_flight_ = segments_in(in_flight);
  state_.quota = std::max(state_.quota - 1, 0);
  note_window(now);
}

void Verus::on_loss(TimePoint now) {
  if (state_.slow_start) {
    leave_slow_start(now, state_.window);
    return;
  }
  state_.window = std::max(kVerusDecrease * state_.window, 1.0);
  state_.recovers = true;
  if (!state_.profile.empty()) {
    state_.aim_ms = state_.profile.delay_for(state_.window);
  }
  note_window(now);
}

void Verus::on_timeout(TimePoint now, bool /*repeated*/) {
  state_ = State{};
  in_flight_ = 0;
  sent_.clear();
  last_ack_ = now;
  note_window(now);
}

void Verus::on_spurious_loss(TimePoint /*now*/) {
  // Nothing to undo: the authors' program has no spurious losses either.
}

DataSize Verus::window() const {
  return kTcpPayloadMax * std::max<int64_t>(static_cast<int64_t>(state_.window), 1);
}

}  // namespace cress::schemes
