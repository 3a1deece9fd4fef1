#include "eval/schemes/congestion/bbr.hh"

#include <algorithm>
#include <cmath>

namespace cress::schemes {
namespace {

constexpr double kSegmentBytes = static_cast<double>(kTcpPayloadMax.bytes());
constexpr Duration kNominalRoundTrip = 1ms;  // before the first sample
constexpr int kAggregationRounds = 5;
constexpr double kAggregationReset = 1 << 20;  // segments
constexpr Duration kAggregationMax = 100ms;
// Below it one segment leaves at a time; above, two, or a millisecond's worth.
constexpr double kSmallRate = 1'200'000.0 / 8.0;  // bytes/s

double segments_in(DataSize size) { return static_cast<double>(size.bytes()) / kSegmentBytes; }

}  // namespace

void BbrAggregation::start_round() {
  if (++rounds_ >= kAggregationRounds) {
    rounds_ = 0;
    slot_ = 1 - slot_;
    most_[slot_] = 0;
  }
}

void BbrAggregation::observe(TimePoint now, double acked, double rate, double window) {
  double expected = rate * to_seconds(now - epoch_);
  if (epoch_acked_ <= expected || epoch_acked_ + acked >= kAggregationReset) {
    epoch_acked_ = 0;
    epoch_ = now;
    expected = 0;
  }
  epoch_acked_ += acked;
  most_[slot_] = std::max(most_[slot_], std::min(epoch_acked_ - expected, window));
}

double Bbr::pacing_gain() const {
  switch (mode_) {
    case BbrMode::kStartup:
      return kBbrHighGain;
    case BbrMode::kDrain:
      return kBbrDrainGain;
    case BbrMode::kProbeRate:
      return kBbrPacingCycle[phase_];
    case BbrMode::kProbeRoundTrip:
      break;
  }
  return 1.0;
}

int Bbr::burst_goal() const {
  const int least = pacing_ < kSmallRate ? 1 : 2;
  return std::clamp(static_cast<int>(pacing_ / 1024.0 / kSegmentBytes), least, 0x7F);
}

double Bbr::with_quantization(double window) const {
  window = std::ceil(window) + 3.0 * burst_goal();
  window = 2.0 * std::ceil(window / 2.0);
  return mode_ == BbrMode::kProbeRate && phase_ == 0 ? window + 2.0 : window;
}

double Bbr::in_flight_target(double gain) const {
  if (!least_) {
    return with_quantization(segments_in(kTcpInitialWindow));
  }
  return with_quantization(rate() * to_seconds(*least_) * gain);
}

void Bbr::update_rate(const AckEvent& ack) {
  round_start_ = false;
  if (!ack.round_trip) {
    return;
  }
  if (ack.delivered_when_sent >= round_end_) {
    round_end_ = ack.delivered_total;
    ++round_;
    round_start_ = true;
    conserves_ = false;
    aggregation_.start_round();
  }
  if (!ack.delivery_rate) {
    return;
  }
  const double sample =
      static_cast<double>(ack.delivery_rate->bits_per_second()) / 8.0 / kSegmentBytes;
  const bool limited =
      ack.delivered_when_sent >= limited_from_ && ack.delivered_when_sent <= limited_until_;
  if (!limited || sample >= rate()) {
    rates_.add(round_, sample);
  }
  rates_.forget_before(round_ - kBbrRateRounds);
}

void Bbr::update_cycle(const AckEvent& ack) {
  if (mode_ != BbrMode::kProbeRate) {
    return;
  }
  const double gain = pacing_gain();
  const bool full_length = ack.now - phase_start_ > *least_;
  const double before = segments_in(ack.in_flight);
  bool next = full_length;
  if (gain > 1.0) {
    next =
        full_length && (ack.lost > DataSize{} || before + burst_goal() >= in_flight_target(gain));
  } else if (gain < 1.0) {
    next = full_length || before <= in_flight_target(1.0);
  }
  if (next) {
    phase_ = (phase_ + 1) % kBbrPacingCycle.size();
    phase_start_ = ack.now;
  }
}

void Bbr::check_full_pipe(const AckEvent& ack) {
  const bool limited =
      ack.delivered_when_sent >= limited_from_ && ack.delivered_when_sent <= limited_until_;
  if (full_pipe_ || !round_start_ || limited) {
    return;
  }
  if (rate() >= full_rate_ * kBbrFullPipeGrowth) {
    full_rate_ = rate();
    full_rounds_ = 0;
    return;
  }
  full_pipe_ = ++full_rounds_ >= kBbrFullPipeRounds;
}

void Bbr::probe_rate(TimePoint now) {
  mode_ = BbrMode::kProbeRate;
  // Anywhere but in the draining phase: flows that start together shall not probe together.
  const size_t last = kBbrPacingCycle.size() - 1;
  phase_ = (last - rng_.below(last) + 1) % kBbrPacingCycle.size();
  phase_start_ = now;
}

void Bbr::check_drained(const AckEvent& ack) {
  if (mode_ == BbrMode::kStartup && full_pipe_) {
    mode_ = BbrMode::kDrain;
  }
  if (mode_ == BbrMode::kDrain && segments_in(ack.in_flight_now) <= in_flight_target(1.0)) {
    probe_rate(ack.now);
  }
}

void Bbr::save_window() {
  prior_window_ = was_repairing_ || mode_ == BbrMode::kProbeRoundTrip
                      ? std::max(prior_window_, window_)
                      : window_;
}

void Bbr::update_least_round_trip(const AckEvent& ack) {
  const bool expired = least_ && ack.now - least_at_ > kBbrLeastWindow;
  if (ack.round_trip && (!least_ || *ack.round_trip <= *least_ || expired)) {
    least_ = ack.round_trip;
    least_at_ = ack.now;
  }
  if (expired && mode_ != BbrMode::kProbeRoundTrip) {
    save_window();
    mode_ = BbrMode::kProbeRoundTrip;
    probe_until_.reset();
    limited_from_ = ack.delivered_total;
  }
  if (mode_ == BbrMode::kProbeRoundTrip) {
    hold_at_least_window(ack);
  }
}

void Bbr::hold_at_least_window(const AckEvent& ack) {
  limited_until_ = ack.delivered_total + ack.in_flight_now;
  if (!probe_until_) {
    if (segments_in(ack.in_flight_now) <= kBbrWindowMin) {
      probe_until_ = ack.now + kBbrProbeRoundTripTime;
      probe_round_done_ = false;
      round_end_ = ack.delivered_total;
    }
    return;
  }
  probe_round_done_ |= round_start_;
  if (!probe_round_done_ || ack.now <= *probe_until_) {
    return;
  }
  least_at_ = ack.now;
  window_ = std::max(window_, prior_window_);
  if (full_pipe_) {
    probe_rate(ack.now);
  } else {
    mode_ = BbrMode::kStartup;
  }
}

void Bbr::set_pacing(const AckEvent& ack) {
  if (!has_round_trip_ && ack.round_trip) {
    has_round_trip_ = true;
    pacing_ = kBbrHighGain * kBbrPacingMargin * window_ * kSegmentBytes /
              to_seconds(std::max<Duration>(*ack.round_trip, 1us));
  }
  const double wanted = rate() * kSegmentBytes * pacing_gain() * kBbrPacingMargin;
  if (full_pipe_ || wanted > pacing_) {
    pacing_ = wanted;
  }
}

bool Bbr::repair_window(const AckEvent& ack) {
  const double acked = segments_in(ack.delivered);
  const double in_flight = segments_in(ack.in_flight_now);
  if (ack.lost > DataSize{}) {
    window_ = std::max(window_ - segments_in(ack.lost), 1.0);
  }
  if (ack.in_recovery && !was_repairing_) {
    conserves_ = true;
    round_end_ = ack.delivered_total;
    window_ = in_flight + acked;
  } else if (was_repairing_ && !ack.repairing) {
    window_ = std::max(window_, prior_window_);
    conserves_ = false;
  }
  was_repairing_ = ack.repairing;
  if (conserves_) {
    window_ = std::max(window_, in_flight + acked);
  }
  return conserves_;
}

void Bbr::set_window(const AckEvent& ack) {
  const double acked = segments_in(ack.delivered);
  if (!repair_window(ack)) {
    double target = least_ ? rate() * to_seconds(*least_) *
                                 (full_pipe_ && mode_ == BbrMode::kProbeRate ? kBbrWindowGain
                                  : mode_ == BbrMode::kProbeRoundTrip        ? 1.0
                                                                             : kBbrHighGain)
                           : segments_in(kTcpInitialWindow);
    target = std::ceil(target);
    if (full_pipe_) {
      target += std::min(aggregation_.most(), rate() * to_seconds(kAggregationMax));
    }
    target = with_quantization(target);
    if (full_pipe_) {
      window_ = std::min(window_ + acked, target);
    } else if (window_ < target || ack.delivered_total < kTcpInitialWindow) {
      window_ += acked;
    }
    window_ = std::max(window_, static_cast<double>(kBbrWindowMin));
  }
  if (mode_ == BbrMode::kProbeRoundTrip) {
    window_ = std::min(window_, static_cast<double>(kBbrWindowMin));
  }
}

void Bbr::on_ack(const AckEvent& ack) {
  update_rate(ack);
  if (ack.round_trip) {
    aggregation_.observe(ack.now, segments_in(ack.delivered), rate(), window_);
  }
  update_cycle(ack);
  check_full_pipe(ack);
  check_drained(ack);
  update_least_round_trip(ack);
  set_pacing(ack);
  set_window(ack);
}

void Bbr::on_loss(TimePoint /*now*/) { save_window(); }

void Bbr::on_timeout(TimePoint /*now*/, bool repeated) {
  if (!repeated) {
    save_window();
  }
  // One segment: all others count as lost. The path's capacity has to be found again.
  window_ = 1.0;
  was_repairing_ = true;
  conserves_ = false;
  full_rate_ = 0;
  full_rounds_ = 0;
}

void Bbr::on_spurious_loss(TimePoint /*now*/) {
  window_ = std::max(window_, prior_window_);
  was_repairing_ = false;
  conserves_ = false;
  full_rate_ = 0;
  full_rounds_ = 0;
}

DataSize Bbr::window() const {
  return kTcpPayloadMax * std::max<int64_t>(static_cast<int64_t>(window_), 1);
}

std::optional<DataRate> Bbr::pacing_rate() const {
  const double bytes_per_second = pacing_ > 0 ? pacing_
                                              : kBbrHighGain * segments_in(kTcpInitialWindow) *
                                                    kSegmentBytes / to_seconds(kNominalRoundTrip);
  // Never zero: a rate of zero would stop the flow.
  return DataRate::bits_per_second(
      std::max<int64_t>(static_cast<int64_t>(8.0 * bytes_per_second), 8));
}

}  // namespace cress::schemes
