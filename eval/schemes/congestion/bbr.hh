#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "eval/schemes/congestion/windowed_best.hh"
#include "eval/schemes/tcp/tcp_congestion.hh"
#include "transport/base/rng.hh"

namespace cress::schemes {

// Constants of Linux's tcp_bbr.c.
inline constexpr double kBbrHighGain = 2885.0 / 1000.0 + 1.0 / 256.0;  // 2/ln 2, as rounded there
inline constexpr double kBbrDrainGain = 1000.0 / 2885.0;
inline constexpr double kBbrWindowGain = 2.0;
inline constexpr std::array<double, 8> kBbrPacingCycle = {1.25, 0.75, 1, 1, 1, 1, 1, 1};
inline constexpr double kBbrPacingMargin = 0.99;  // a little under the estimate
inline constexpr int kBbrRateRounds = 10;         // of the rate's maximum
inline constexpr Duration kBbrLeastWindow = 10s;  // of the round trip's minimum
inline constexpr Duration kBbrProbeRoundTripTime = 200ms;
inline constexpr int kBbrWindowMin = 4;  // segments
inline constexpr double kBbrFullPipeGrowth = 1.25;
inline constexpr int kBbrFullPipeRounds = 3;

enum class BbrMode { kStartup, kDrain, kProbeRate, kProbeRoundTrip };

/// How much acknowledgements are aggregated: the most that was acknowledged beyond the estimated
/// rate, over five to ten round trips (tcp_bbr.c, "ack aggregation"). Units: segments. Threads:
/// none inside; one owner.
class BbrAggregation {
 public:
  void start_round();
  void observe(TimePoint now, double acked, double rate, double window);
  double most() const { return std::max(most_[0], most_[1]); }

 private:
  std::array<double, 2> most_{};
  size_t slot_ = 0;
  int rounds_ = 0;
  TimePoint epoch_{};
  double epoch_acked_ = 0;
};

/// BBR, version 1 (Cardwell, Cheng, Gunn, Yeganeh, Jacobson, ACM Queue 14:5, 2016), rule by rule as
/// in Linux's tcp_bbr.c: the largest delivery rate of ten round trips, the least round trip of ten
/// seconds, start-up at 2/ln 2 until the rate has not grown by a quarter for three rounds, drain, a
/// cycle of eight gains that starts at a phase drawn from the seed, and 200 ms at four segments
/// when the least round trip is ten seconds old. Left out: detection of policers (it needs losses
/// over 20 %), pacing in groups of several segments. Units: segments, segments per second. Threads:
/// none inside; one owner.
class Bbr final : public CongestionControl {
 public:
  explicit Bbr(uint64_t seed) : rng_(seed) {}

  void on_ack(const AckEvent& ack) override;
  void on_loss(TimePoint now) override;
  void on_timeout(TimePoint now, bool repeated) override;
  void on_spurious_loss(TimePoint now) override;
  DataSize window() const override;
  std::optional<DataRate> pacing_rate() const override;
  bool governs_recovery() const override { return true; }

  BbrMode mode() const { return mode_; }
  double pacing_gain() const;
  /// The estimated bottleneck rate in segments per second; 0 before the first sample.
  double rate() const { return rates_.empty() ? 0.0 : rates_.best(); }
  std::optional<Duration> least_round_trip() const { return least_; }

 private:
  void update_rate(const AckEvent& ack);
  void update_cycle(const AckEvent& ack);
  void check_full_pipe(const AckEvent& ack);
  void check_drained(const AckEvent& ack);
  void update_least_round_trip(const AckEvent& ack);
  void hold_at_least_window(const AckEvent& ack);
  void set_pacing(const AckEvent& ack);
  void set_window(const AckEvent& ack);
  bool repair_window(const AckEvent& ack);
  void probe_rate(TimePoint now);
  void save_window();
  double in_flight_target(double gain) const;
  double with_quantization(double window) const;
  int burst_goal() const;

  Rng rng_;
  BbrMode mode_ = BbrMode::kStartup;
  double window_ = 10.0;  // kTcpInitialWindow
  double prior_window_ = 0;
  double pacing_ = 0;  // bytes per second
  bool has_round_trip_ = false;
  WindowedBest<int64_t, double, std::greater_equal<>> rates_;  // by round
  int64_t round_ = 0;
  bool round_start_ = false;
  DataSize round_end_;
  bool full_pipe_ = false;
  double full_rate_ = 0;
  int full_rounds_ = 0;
  size_t phase_ = 0;
  TimePoint phase_start_{};
  std::optional<Duration> least_;
  TimePoint least_at_{};
  std::optional<TimePoint> probe_until_;
  bool probe_round_done_ = false;
  // Segments sent while four were in flight give no information about the rate.
  DataSize limited_from_;
  DataSize limited_until_{-1};
  bool was_repairing_ = false;
  bool conserves_ = false;
  BbrAggregation aggregation_;
};

}  // namespace cress::schemes
