#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "transport/base/time.hh"

namespace cress {

/// An amount of bytes, signed so that differences are safe. (libwebrtc: DataSize)
class DataSize {
 public:
  constexpr DataSize() = default;
  constexpr explicit DataSize(int64_t bytes) : bytes_(bytes) {}

  constexpr int64_t bytes() const { return bytes_; }
  constexpr int64_t bits() const { return bytes_ * 8; }

  friend constexpr auto operator<=>(DataSize, DataSize) = default;
  constexpr DataSize& operator+=(DataSize o) {
    bytes_ += o.bytes_;
    return *this;
  }
  constexpr DataSize& operator-=(DataSize o) {
    bytes_ -= o.bytes_;
    return *this;
  }
  friend constexpr DataSize operator+(DataSize a, DataSize b) { return a += b; }
  friend constexpr DataSize operator-(DataSize a, DataSize b) { return a -= b; }
  friend constexpr DataSize operator*(DataSize a, int64_t n) { return DataSize{a.bytes_ * n}; }
  friend constexpr DataSize operator*(int64_t n, DataSize a) { return a * n; }

 private:
  int64_t bytes_ = 0;
};

/// A rate in bits per second. (libwebrtc: DataRate)
class DataRate {
 public:
  constexpr DataRate() = default;
  static constexpr DataRate bits_per_second(int64_t bps) { return DataRate{bps}; }
  static constexpr DataRate kilobits_per_second(int64_t kbps) { return DataRate{kbps * 1000}; }
  /// `size` delivered in `elapsed` (> 0).
  static DataRate from(DataSize size, Duration elapsed) {
    return DataRate{std::llround(static_cast<double>(size.bits()) / to_seconds(elapsed))};
  }

  constexpr int64_t bits_per_second() const { return bps_; }
  constexpr double kilobits_per_second() const { return static_cast<double>(bps_) / 1000.0; }

  friend constexpr auto operator<=>(DataRate, DataRate) = default;
  friend constexpr DataRate operator+(DataRate a, DataRate b) { return DataRate{a.bps_ + b.bps_}; }
  friend constexpr DataRate operator-(DataRate a, DataRate b) { return DataRate{a.bps_ - b.bps_}; }
  friend constexpr DataRate operator*(DataRate a, double f) {
    return DataRate{static_cast<int64_t>(static_cast<double>(a.bps_) * f)};
  }

 private:
  constexpr explicit DataRate(int64_t bps) : bps_(bps) {}
  int64_t bps_ = 0;
};

/// Bytes that `rate` carries in `elapsed`, rounded down to whole bytes.
constexpr DataSize operator*(DataRate rate, Duration elapsed) {
  return DataSize{static_cast<int64_t>(static_cast<double>(rate.bits_per_second()) *
                                       to_seconds(elapsed) / 8.0)};
}
/// Time that `rate` (> 0) needs to carry `size`.
constexpr Duration operator/(DataSize size, DataRate rate) {
  return from_seconds(static_cast<double>(size.bits()) /
                      static_cast<double>(rate.bits_per_second()));
}

}  // namespace cress
