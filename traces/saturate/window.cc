#include "traces/saturate/window.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::traces {
namespace {

constexpr Duration kRateOver = 1s;
// Feedback comes every 10 ms: a second and some.
constexpr size_t kArrivedMax = 256;
// Best rates, at most one a tenth of a second.
constexpr Duration kBestEvery = 100ms;

}  // namespace

void SaturatingWindow::measure_rate(TimePoint now, const Feedback& feedback) {
  arrived_.push_back({feedback.newest_arrived, feedback.newest});
  while (arrived_.size() > kArrivedMax ||
         (arrived_.size() > 2 && arrived_[1].at <= feedback.newest_arrived - kRateOver)) {
    arrived_.pop_front();
  }
  const Duration over = feedback.newest_arrived - arrived_.front().at;
  if (over < 20ms) {
    return;
  }
  rate_ = static_cast<double>(feedback.newest - arrived_.front().newest) / to_seconds(over);
  while (!best_.empty() && best_.front().at < now - kMemory) {
    best_.pop_front();
  }
  while (!best_.empty() && best_.back().rate <= rate_) {
    best_.pop_back();
  }
  if (best_.empty() || best_.back().at <= now - kBestEvery) {
    best_.push_back({now, rate_});
  }
}

size_t SaturatingWindow::floor() const {
  const double best = best_.empty() ? 0 : best_.front().rate;
  const double needed = best * to_seconds(kDelayMin);
  return std::max(kPacketsMin,
                  static_cast<size_t>(std::min(needed, static_cast<double>(kPacketsMax))));
}

void SaturatingWindow::end_round(const Feedback& feedback, uint64_t next) {
  const uint64_t sent = feedback.newest - round_newest_;
  const uint64_t arrived =
      feedback.arrived > round_arrived_ ? feedback.arrived - round_arrived_ : 0;
  const double loss = 1 - std::min(1.0, static_cast<double>(arrived) / static_cast<double>(sent));
  // A few packets give no reliable share.
  overflows_ = sent >= kPacketsMin && loss > kLossMax;
  has_filled_ = has_filled_ || overflows_;
  calm_rounds_ = overflows_ ? 0 : std::min(calm_rounds_ + 1, kCalmRounds);
  if (overflows_) {
    // Gently: a short queue would be empty before a large step is corrected.
    packets_ = std::max(kPacketsMin, packets_ - packets_ / 8);
  }
  round_newest_ = feedback.newest;
  round_arrived_ = feedback.arrived;
  round_end_ = next;
}

void SaturatingWindow::on_feedback(TimePoint now, const Feedback& feedback, uint64_t next) {
  if (feedback.known_at >= known_at_) {
    known_at_ = feedback.known_at;
  }
  if (feedback.newest <= newest_) {
    return;
  }
  const uint64_t delivered = feedback.newest - newest_;
  newest_ = feedback.newest;
  measure_rate(now, feedback);
  has_filled_ = has_filled_ || feedback.delay >= kDelayMin;
  if (newest_ > round_end_) {
    end_round(feedback, next);
  }
  if (feedback.delay < kDelayMin && !overflows_) {
    // Where the queue was full recently, its size is known well enough to go slowly.
    const uint64_t more = calm_rounds_ == kCalmRounds ? delivered : (delivered + 7) / 8;
    packets_ = std::min<size_t>(kPacketsMax, packets_ + more);
  } else if (feedback.delay > kDelayMax && newest_ > shrink_from_) {
    const double share = std::max(0.5, to_seconds(kDelayMax) / to_seconds(feedback.delay));
    const auto wanted = static_cast<size_t>(share * static_cast<double>(packets_));
    packets_ = std::max(std::min(packets_, floor()), wanted);
    shrink_from_ = next;
  }
}

uint64_t SaturatingWindow::allowed(TimePoint now) const {
  const Duration age = std::clamp(now - known_at_, Duration{}, kAgeMax);
  const double meanwhile = known_at_ == TimePoint{} ? 0 : rate_ * to_seconds(age);
  return std::min<uint64_t>(kPacketsMax, packets_ + static_cast<uint64_t>(meanwhile));
}

}  // namespace cress::traces
