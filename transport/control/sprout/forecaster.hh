#pragma once

#include <memory>
#include <string_view>

#include "transport/control/sprout/forecast_table.hh"
#include "transport/control/sprout/rate_belief.hh"

namespace cress::control {

/// A forecast and the tick in which it was made.
struct DeliveryForecast {
  TimePoint tick_start{};
  ForecastCounts counts;
  friend bool operator==(const DeliveryForecast&, const DeliveryForecast&) = default;
};

/// The estimate behind a forecaster: it is advanced tick by tick, given arrivals, and asked for a
/// forecast.
class TickEstimator {
 public:
  virtual ~TickEstimator() = default;
  /// One tick has passed from which nothing can be learned: the sender had announced silence.
  virtual void skip_tick() = 0;
  /// One tick has passed with `packets` arrivals (in units of kModelPacketSize, fractions count).
  virtual void observe_tick(double packets) = 0;
  virtual ForecastCounts forecast() = 0;
};

/// Sprout's estimator: a Bayesian belief over the rate (paper §3).
class BayesianEstimator final : public TickEstimator {
 public:
  /// Borrows both; they must belong to the same model.
  BayesianEstimator(const BeliefDynamics& dynamics, const ForecastTable& table);
  void skip_tick() override;
  void observe_tick(double packets) override;
  ForecastCounts forecast() override;
  const RateBelief& belief() const { return belief_; }

 private:
  const ForecastTable& table_;
  RateBelief belief_;
  ForecastCounts last_;
};

struct EwmaOptions {
  double weight = 1.0 / 8;  ///< of the newest tick (paper §4.2)
  /// Packets per tick at the start. The original starts at 0 and never leaves it: the forecast is
  /// 0, only heartbeats are sent, and they never raise it.
  double initial = 1.0;
  /// The forecast is never below this many packets per tick. The original has no floor (0) and
  /// stays at zero on a slow link once the average fell below 1/6; the measured "floor" rows used
  /// 0.25.
  double floor = 0.25;
  int forecast_ticks = kForecastTicks;
};

/// Sprout-EWMA's estimator: an exponentially weighted moving average, no caution (paper §4.2).
class EwmaEstimator final : public TickEstimator {
 public:
  explicit EwmaEstimator(EwmaOptions options) : options_(options), average_(options.initial) {}
  void skip_tick() override {}
  void observe_tick(double packets) override;
  ForecastCounts forecast() override;

 private:
  EwmaOptions options_;
  double average_;  // packets per tick
};

/// Receives arrivals, counts ticks, queries the estimator (paper §3.3). Ticks begin with the first
/// arrival; a tick is observed when something arrived in it or when the sender had not announced
/// silence over it (time-to-next, paper §3.4). Threads: none inside; one owner. `now` never goes
/// back.
class Forecaster {
 public:
  struct Options {
    Duration tick = kTickLength;
    /// Unobserved ticks before the first arrival. A session of the original asks for its first
    /// forecast 49 ticks into its clock, so its prior has drifted that long.
    int prior_ticks = 49;
  };

  Forecaster(std::unique_ptr<TickEstimator> estimator, Options options);

  /// A datagram of `size` arrived; the sender will be silent for `time_to_next` after it (0:
  /// another follows at once).
  void handle_arrival(TimePoint now, DataSize size, Duration time_to_next);
  /// The current forecast: made once per tick, constant until the next tick begins.
  const DeliveryForecast& forecast(TimePoint now);

 private:
  void advance(TimePoint now);

  std::unique_ptr<TickEstimator> estimator_;
  Options options_;
  bool started_ = false;
  TimePoint tick_start_{};
  TimePoint silent_until_{};  // ticks before this are skipped when empty ("score time")
  double arrived_ = 0;        // kModelPacketSize units, in this tick
  bool forecast_is_fresh_ = false;
  DeliveryForecast forecast_;
};

}  // namespace cress::control
