#pragma once

#include <cstdint>
#include <optional>

#include "eval/schemes/tcp/tcp_congestion.hh"

namespace cress::schemes {

/// RFC 9438 §4.1, §4.6.
inline constexpr double kCubicC = 0.4;  // segments/s³
inline constexpr double kCubicBeta = 0.7;

/// Third root of `value` >= 0, to about the last bit. std::cbrt may differ between C libraries;
/// this uses only operations that IEEE 754 rounds correctly, so that all machines agree.
double cube_root(double value);

/// W_cubic(t) = C (t - K)³ + W_max, RFC 9438 figure 1. Windows in segments, times in seconds.
struct CubicCurve {
  double maximum = 0;     ///< W_max
  double inflection = 0;  ///< K = third root of ((W_max - cwnd_epoch) / C)

  /// From `window` at an epoch's start towards `maximum`; above it the curve starts at its
  /// inflection.
  static CubicCurve from(double window, double maximum);
  double at(double seconds) const;
};

/// When slow start ends before the first loss. Against the kernel's own delay95 over eight recorded
/// links (tcp_world_test.cc): kAtLoss is up to 62 % too high, so the kernel's flows did leave
/// early; kHyStart and kHyStartPlusPlus are both within 11 %, the first closer on Verizon LTE, the
/// second on T-Mobile UMTS. kHyStart is the default because it is what Linux runs.
enum class SlowStartExit {
  kAtLoss,          ///< never before a loss (RFC 5681)
  kHyStart,         ///< Ha and Rhee 2008, as in Linux: acknowledgement train or rising delay
  kHyStartPlusPlus  ///< RFC 9406: rising delay, then five conservative rounds that may be reverted
};

/// Observes slow start round by round. Threads: none inside; one owner.
class SlowStartWatch {
 public:
  explicit SlowStartWatch(SlowStartExit kind) : kind_(kind) {}
  struct Verdict {
    bool leave = false;
    double growth = 1.0;  ///< segments of window per segment acknowledged
  };
  /// Call for each acknowledgement in slow start; `window` in segments.
  Verdict on_ack(const AckEvent& ack, double window);
  void reset();

 private:
  void start_round(const AckEvent& ack);
  Verdict hystart(const AckEvent& ack, double window);
  Verdict hystart_plus_plus(const AckEvent& ack, double window);

  SlowStartExit kind_;
  bool round_open_ = false;
  TimePoint round_start_{};
  TimePoint last_ack_{};
  DataSize round_end_;  // the round is over once this much is acknowledged
  int samples_ = 0;
  std::optional<Duration> least_ever_;
  std::optional<Duration> least_this_round_;
  std::optional<Duration> least_last_round_;
  std::optional<Duration>
      cautious_since_;  // HyStart++: the delay at which the conservative phase began
  int cautious_rounds_ = 0;
};

/// CUBIC (RFC 9438): fast convergence (§4.7), the Reno-friendly region (§4.3), HyStart.
/// Differs from RFC 9438 §4.2 as Linux does: the curve is read one *least* round trip ahead, not
/// one smoothed round trip, which would be seconds ahead in a bloated queue. Units: a fractional
/// number of segments inside, whole ones outside. Threads: none inside; one owner.
class Cubic final : public CongestionControl {
 public:
  struct Options {
    SlowStartExit slow_start_exit = SlowStartExit::kHyStart;
  };
  Cubic() : Cubic(Options{}) {}
  explicit Cubic(const Options& options) : watch_(options.slow_start_exit) {}

  void on_ack(const AckEvent& ack) override;
  void on_loss(TimePoint now) override;
  void on_timeout(TimePoint now, bool repeated) override;
  void on_spurious_loss(TimePoint now) override;
  DataSize window() const override;
  bool in_slow_start() const { return state_.window < state_.threshold; }

 private:
  struct State {
    double window = 10.0;       // segments (kTcpInitialWindow)
    double threshold = 1.0e12;  // no loss yet
    double maximum = 0;         // W_max
  };
  struct Epoch {
    TimePoint start{};
    CubicCurve curve;
    double friendly = 0;  // W_est, RFC 9438 §4.3
    double prior = 0;     // the window before the last reduction
  };
  void avoid_congestion(const AckEvent& ack, double acked);
  void reduce();

  State state_;
  State before_loss_;
  std::optional<Epoch> epoch_;
  std::optional<Duration> least_round_trip_;
  SlowStartWatch watch_;
};

}  // namespace cress::schemes
