#include "eval/schemes/congestion/ledbat.hh"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace cress::schemes {
namespace {

double segments_in(DataSize size) {
  return static_cast<double>(size.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
}

}  // namespace

void LedbatDelays::add(TimePoint now, Duration one_way_delay) {
  const int64_t minute = now.time_since_epoch() / 1min;
  if (minute_ != minute) {
    minute_ = minute;
    minutes_.push_back(one_way_delay);
    if (minutes_.size() > kLedbatBaseHistory) {
      minutes_.pop_front();
    }
  }
  minutes_.back() = std::min(minutes_.back(), one_way_delay);
  current_.push_back(one_way_delay);
  if (current_.size() > kLedbatCurrentFilter) {
    current_.pop_front();
  }
}

Duration LedbatDelays::base() const { return *std::min_element(minutes_.begin(), minutes_.end()); }

Duration LedbatDelays::queueing() const {
  return *std::min_element(current_.begin(), current_.end()) - base();
}

void Ledbat::on_ack(const AckEvent& ack) {
  if (ack.one_way_delay) {
    delays_.add(ack.now, *ack.one_way_delay);
    has_delay_ = true;
  }
  if (!has_delay_ || ack.in_recovery) {
    return;
  }
  const double off_target =
      to_seconds(kLedbatTarget - delays_.queueing()) / to_seconds(kLedbatTarget);
  const double most = segments_in(ack.in_flight) + kLedbatAllowedIncrease;
  const double wanted = window_ + kLedbatGain * off_target * segments_in(ack.delivered) / window_;
  window_ = std::max(std::min(wanted, most), static_cast<double>(kLedbatWindowMin));
}

void Ledbat::on_loss(TimePoint /*now*/) {
  before_loss_ = window_;
  window_ = std::min(window_, std::max(window_ / 2.0, static_cast<double>(kLedbatWindowMin)));
}

void Ledbat::on_timeout(TimePoint /*now*/, bool repeated) {
  before_loss_ = repeated ? before_loss_ : window_;
  window_ = 1.0;
}

void Ledbat::on_spurious_loss(TimePoint /*now*/) { window_ = std::max(window_, before_loss_); }

DataSize Ledbat::window() const {
  return kTcpPayloadMax * static_cast<int64_t>(std::floor(window_));
}

}  // namespace cress::schemes
