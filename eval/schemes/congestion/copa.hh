#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "eval/schemes/congestion/windowed_best.hh"
#include "eval/schemes/tcp/tcp_congestion.hh"

namespace cress::schemes {

inline constexpr double kCopaDelta = 0.5;  // default mode

/// Copa's target rate 1 / (delta * d_q), in segments per second (Arun and Balakrishnan, NSDI 2018,
/// equation 1); nullopt without a queue, when it is infinite.
std::optional<double> copa_target_rate(double delta, Duration queueing);

/// Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
/// NSDI 2018), §2.1 rules 1 to 4, §2.2: slow start until the rate passes the target, velocity that
/// doubles from the third round trip in one direction on, pacing at two windows per round trip, and
/// the competitive mode if the queue has not been nearly empty for five round trips. Differs from
/// §2.1 in two limits to the velocity: the window at most doubles or empties in a round trip, and a
/// high velocity ends at once when the rate passes the target, because after an outage it would
/// overshoot for seconds. Losses change only delta in the competitive mode. The paper does not
/// define timeouts: the window restarts at two segments, in slow start. Needs every segment
/// acknowledged. Units: a fractional number of segments inside, whole ones outside. Threads: none
/// inside; one owner.
class Copa final : public CongestionControl {
 public:
  struct Options {
    double delta = kCopaDelta;
    bool switches_mode = true;
  };
  Copa() : Copa(Options{}) {}
  explicit Copa(const Options& options) : options_(options), inverse_delta_(1.0 / options.delta) {}

  void on_ack(const AckEvent& ack) override;
  void on_loss(TimePoint now) override;
  void on_timeout(TimePoint now, bool repeated) override;
  void on_spurious_loss(TimePoint now) override;
  DataSize window() const override;
  std::optional<DataRate> pacing_rate() const override;
  bool governs_recovery() const override { return true; }

  bool in_slow_start() const { return state_.slow_start; }
  bool competes() const { return competes_; }
  double delta() const { return 1.0 / inverse_delta_; }
  double velocity() const { return state_.velocity; }
  double window_segments() const { return state_.window; }

 private:
  using Least = WindowedBest<TimePoint, Duration, std::less_equal<>>;
  using Largest = WindowedBest<TimePoint, Duration, std::greater_equal<>>;
  struct State {
    double window = 10.0;  // segments (kTcpInitialWindow)
    bool slow_start = true;
    double velocity = 1.0;
    int direction = 0;       // +1 up, -1 down
    int rounds_one_way = 0;  // round trips in that direction
  };
  void sample(TimePoint now, Duration round_trip);
  void update_velocity();
  void update_mode(TimePoint now);
  void end_round(const AckEvent& ack);

  Options options_;
  State state_;
  std::optional<State> before_timeout_;
  std::optional<Duration> smoothed_;
  Least standing_;  // over half a smoothed round trip
  Least least_;     // over ten seconds
  Largest most_;    // over four round trips
  DataSize round_end_;
  double window_at_round_start_ = 10.0;
  double inverse_delta_;
  bool competes_ = false;
  bool lost_this_round_ = false;
  TimePoint nearly_empty_at_{};
};

}  // namespace cress::schemes
