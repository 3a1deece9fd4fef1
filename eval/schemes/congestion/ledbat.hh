#pragma once

#include <deque>
#include <optional>

#include "eval/schemes/tcp/tcp_congestion.hh"

namespace cress::schemes {

// RFC 6817 §2.5, §3.3: names as there.
inline constexpr Duration kLedbatTarget = 100ms;
inline constexpr double kLedbatGain = 1.0;
inline constexpr int kLedbatBaseHistory = 10;     // minutes
inline constexpr int kLedbatCurrentFilter = 4;    // samples
inline constexpr int kLedbatWindowInitial = 2;    // segments
inline constexpr int kLedbatWindowMin = 2;        // segments
inline constexpr int kLedbatAllowedIncrease = 1;  // segments

/// The two minima of RFC 6817 §2.4.2: of each of the last ten minutes, and of the newest samples.
/// Threads: none inside; one owner.
class LedbatDelays {
 public:
  void add(TimePoint now, Duration one_way_delay);
  /// How far the newest samples are above the minimum of the history; after the first add().
  Duration queueing() const;
  Duration base() const;

 private:
  std::deque<Duration> minutes_;  // at most kLedbatBaseHistory
  std::optional<int64_t> minute_;
  std::deque<Duration> current_;  // at most kLedbatCurrentFilter
};

/// LEDBAT (RFC 6817), the congestion control of uTP: one-way delays control the window towards 100
/// ms of queue. No slow start, as in the RFC. Needs every segment acknowledged. Clocks: the ends'
/// may differ by any constant; drift is not corrected (RFC 6817 leaves that open). Units: a
/// fractional number of segments inside, whole ones outside. Threads: none inside; one owner.
class Ledbat final : public CongestionControl {
 public:
  void on_ack(const AckEvent& ack) override;
  void on_loss(TimePoint now) override;
  void on_timeout(TimePoint now, bool repeated) override;
  void on_spurious_loss(TimePoint now) override;
  DataSize window() const override;
  /// Including its fraction of a segment.
  double window_segments() const { return window_; }
  const LedbatDelays& delays() const { return delays_; }

 private:
  LedbatDelays delays_;
  bool has_delay_ = false;
  double window_ = kLedbatWindowInitial;  // segments
  double before_loss_ = kLedbatWindowInitial;
};

}  // namespace cress::schemes
