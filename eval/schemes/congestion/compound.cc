#include "eval/schemes/congestion/compound.hh"

#include <algorithm>
#include <cmath>

#include "eval/schemes/congestion/reno.hh"

namespace cress::schemes {
namespace {

constexpr double kWindowMin = 2.0;  // segments, after a loss
constexpr int kRoundSamplesMin = 3;

}  // namespace

double compound_increase(double window) {
  const double root = std::sqrt(window);
  return std::max(kCompoundAlpha * root * std::sqrt(root) - 1.0, 0.0);
}

void Compound::judge_round() {
  const double queued = 1.0 - to_seconds(*base_) / to_seconds(*least_this_round_);
  const double backlog = total() * queued;
  reno_backlog_ = state_.loss * queued;
  if (in_slow_start()) {
    if (backlog >= state_.gamma) {
      state_.threshold = total();
    }
  } else if (backlog < state_.gamma) {
    state_.delay += compound_increase(total());
  } else {
    state_.delay = std::max(state_.delay - kCompoundEta * backlog, 0.0);
  }
}

void Compound::on_ack(const AckEvent& ack) {
  if (ack.round_trip) {
    const Duration sample = *ack.round_trip;
    base_ = std::min(base_.value_or(sample), sample);
    least_this_round_ = std::min(least_this_round_.value_or(sample), sample);
    smoothed_ = smoothed_ ? *smoothed_ + (sample - *smoothed_) / 8 : sample;
    ++samples_;
  }
  if (!may_grow(ack, window(), in_slow_start())) {
    return;
  }
  double acked =
      static_cast<double>(ack.delivered.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
  if (in_slow_start()) {
    const double step = std::min(acked, state_.threshold - total());
    state_.loss += step;
    acked -= step;
  }
  if (acked > 0) {
    state_.loss += acked / total();
  }
  if (ack.acknowledged > round_end_) {
    if (samples_ >= kRoundSamplesMin && !ack.repairing) {
      judge_round();
    }
    round_end_ = ack.sent;
    samples_ = 0;
    least_this_round_.reset();
  }
}

void Compound::retune_gamma() {
  if (!reno_backlog_) {
    return;
  }
  const double sample = 0.75 * *reno_backlog_;
  state_.gamma =
      std::clamp((1.0 - kCompoundGammaWeight) * state_.gamma + kCompoundGammaWeight * sample,
                 kCompoundGammaMin, kCompoundGammaMax);
  reno_backlog_.reset();  // one loss, one sample
}

void Compound::on_loss(TimePoint /*now*/) {
  before_loss_ = state_;
  retune_gamma();
  const double after = std::max(total() * (1.0 - kCompoundBeta), kWindowMin);
  state_.loss = std::max(state_.loss / 2.0, 1.0);
  state_.delay = std::max(after - state_.loss, 0.0);
  state_.threshold = total();
}

void Compound::on_timeout(TimePoint /*now*/, bool repeated) {
  if (!repeated) {
    before_loss_ = state_;
    state_.threshold = std::max(total() / 2.0, kWindowMin);
    // The path may have changed: the draft restarts from the smoothed round trip.
    base_ = smoothed_;
  }
  state_.loss = 1.0;
  state_.delay = 0;
  state_.gamma = kCompoundGammaMax;
  reno_backlog_.reset();
}

void Compound::on_spurious_loss(TimePoint /*now*/) {
  if (total() < before_loss_.loss + before_loss_.delay) {
    state_.loss = before_loss_.loss;
    state_.delay = before_loss_.delay;
  }
  state_.threshold = std::max(state_.threshold, before_loss_.threshold);
  state_.gamma = before_loss_.gamma;
}

DataSize Compound::window() const {
  return kTcpPayloadMax * static_cast<int64_t>(std::floor(total()));
}

}  // namespace cress::schemes
