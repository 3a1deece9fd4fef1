#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::control {

/// Our share of a queue in which others are, as a rate that follows congestion as TCP's does
/// (additive increase, multiplicative decrease, RFC 5681 §3.1). A plain value. Threads: none
/// inside; one owner. `now` never goes back.
class ShareRate {
 public:
  /// Begins with what was sent lately.
  void begin(TimePoint now) {
    rate_ = std::clamp(sent_lately(), kLeast, kMost);
    limit_.reset();
    credit_ = 0;
    credit_at_ = raised_at_ = now;
  }
  /// Additive increase for the time since the last call: a packet per round trip, each round trip,
  /// while at least kUsed of the rate is used.
  void raise(TimePoint now, Duration round_trip) {
    const double elapsed = to_seconds(now - raised_at_);
    raised_at_ = now;
    const double trip = std::max(to_seconds(round_trip), 0.01);
    if (std::max(sent_[0], sent_[1]) >= kUsed * rate_) {
      rate_ = std::min(rate_ + kPacket * elapsed / (trip * trip), kMost);
    }
  }
  /// The time since the last call adds nothing.
  void hold(TimePoint now) { raised_at_ = now; }
  /// From now on no more than `limit` is sent; nullopt: as much as congestion allows.
  void limit(TimePoint now, std::optional<DataRate> limit) {
    if (limit == limit_) {
      return;
    }
    credit_ = credit(now);
    credit_at_ = now;
    limit_ = limit;
  }
  /// To `share` (0..1) of what it is.
  void lower(double share) { rate_ = std::max(rate_ * share, kLeast); }

  void on_sent(TimePoint now, DataSize size) {
    const auto bytes = static_cast<double>(size.bytes());
    while (now - second_ >= 1s) {
      std::shift_right(sent_.begin(), sent_.end(), 1);
      sent_[0] = 0;
      second_ = now - second_ > kSeconds * 1s ? now : second_ + 1s;
    }
    sent_[0] += bytes;
    credit_ = credit(now) - bytes;
    credit_at_ = now;
  }

  /// Whether a decrease by `share` (0..1) each round trip takes less than the packet that raise()
  /// adds, at the highest rate of the last five seconds.
  bool would_grow(double share, Duration round_trip) const {
    return share * sent_lately() * to_seconds(round_trip) < kPacket;
  }
  DataRate rate() const {
    return DataRate::from(DataSize{static_cast<int64_t>(allowed_rate())}, 1s);
  }
  /// What may be sent now.
  DataSize window(TimePoint now) const {
    return DataSize{static_cast<int64_t>(std::max(credit(now), 0.0))};
  }

 private:
  static constexpr double kPacket = 1500;
  // 300 kbit/s: a picture that moves.
  static constexpr double kLeast = 300e3 / 8;
  static constexpr double kMost = 1e9 / 8;
  // It grows only while this share of it is used.
  static constexpr double kUsed = 0.7;
  static constexpr size_t kSeconds = 5;
  // Unused rate may be used within this time.
  static constexpr Duration kCreditMax = 90ms;

  double allowed_rate() const {
    return limit_ ? std::min(rate_, static_cast<double>(limit_->bits_per_second()) / 8) : rate_;
  }
  double sent_lately() const { return *std::ranges::max_element(sent_); }
  double credit(TimePoint now) const {
    const double rate = allowed_rate();
    const double most = rate * to_seconds(kCreditMax);
    return std::min(credit_ + rate * to_seconds(now - credit_at_), most);
  }

  double rate_ = 0;  // bytes a second
  std::optional<DataRate> limit_;
  double credit_ = 0;  // bytes
  TimePoint credit_at_ = kTimeZero;
  TimePoint raised_at_ = kTimeZero;
  // Sent in the running second and in those before.
  TimePoint second_ = kTimeZero;
  std::array<double, kSeconds> sent_{};
};

}  // namespace cress::control
