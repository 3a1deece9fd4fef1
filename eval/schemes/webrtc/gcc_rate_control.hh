#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "eval/schemes/webrtc/gcc_arrival_filter.hh"
#include "eval/schemes/webrtc/gcc_overuse_detector.hh"
#include "eval/schemes/webrtc/gcc_trendline.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::schemes {

/// The result of one packet, from the peer's feedback. Sizes are of whole IP packets.
struct GccPacketResult {
  TimePoint sent{};                    ///< our clock
  std::optional<TimePoint> arrived{};  ///< the peer's clock; empty: lost
  DataSize size{};
};

/// R_hat: the rate of arrivals in the last kWindow of the peer's clock (draft-ietf-rmcat-gcc-02,
/// §5.5). Threads: none inside; one owner.
class GccIncomingRate {
 public:
  static constexpr Duration kWindow = 500ms;

  void handle_arrival(TimePoint arrived, DataSize size);
  /// Empty until half a window of arrivals is known. Over less than a window: of the available
  /// part.
  std::optional<DataRate> rate() const;

 private:
  struct Arrival {
    TimePoint at{};
    DataSize size{};
  };
  std::deque<Arrival> arrivals_;
  DataSize sum_;
  std::optional<TimePoint> first_;
};

/// Shape: 0 < floor <= start <= ceiling; factors as in §5.5: 1 < increase, 0 < decrease < 1.
struct GccDelayControlOptions {
  DataRate start = DataRate::kilobits_per_second(300);
  DataRate floor = DataRate::kilobits_per_second(30);
  DataRate ceiling = DataRate::kilobits_per_second(30'000);
  double increase_per_second = 1.08;  ///< eta
  double decrease = 0.85;             ///< beta
  double incoming_cap = 1.5;          ///< upper bound of the estimate, in multiples of R_hat
};

/// The draft's rate controller (§5.5): additive increase near the rate of the last over-use,
/// multiplicative increase elsewhere, decrease to a share of the arriving rate. Threads: none
/// inside; one owner.
class GccDelayControl {
 public:
  enum class State { kHold, kIncrease, kDecrease };

  explicit GccDelayControl(const GccDelayControlOptions& options = {});

  /// Call once per feedback. `incoming` empty: not known yet. `now` never goes back.
  DataRate update(TimePoint now, GccUsage usage, std::optional<DataRate> incoming,
                  Duration round_trip);
  /// Sets the estimate from outside: a probe found that the link carries this much.
  void set_estimate(DataRate estimate);

  DataRate estimate() const { return estimate_; }
  State state() const { return state_; }
  /// The last over-use was near this rate, and the arriving rate has not exceeded it since.
  bool near_convergence() const { return peak_kbps_.has_value(); }

 private:
  void change_state(TimePoint now, GccUsage usage);
  void increase(TimePoint now, std::optional<DataRate> incoming, Duration round_trip);
  void decrease(TimePoint now, std::optional<DataRate> incoming, Duration round_trip);
  double peak_deviation_kbps() const;
  void learn_peak(DataRate incoming);

  GccDelayControlOptions options_;
  DataRate estimate_;
  State state_ = State::kHold;
  std::optional<TimePoint> last_change_;
  std::optional<TimePoint> last_decrease_;
  // Mean of R_hat at the decreases, and its variance relative to that mean.
  std::optional<double> peak_kbps_;
  double peak_variance_ = 0.4;
};

/// §6: the loss of one report, and its effect on the rate.
struct GccLossControlOptions {
  double low = 0.02;
  double high = 0.10;
  double increase = 1.05;
  /// A report covers at least this many packets and this much time: the draft's RTCP reports.
  int64_t packets_min = 20;
  Duration interval = 500ms;
};

/// The draft's loss-based controller (§6). Threads: none inside; one owner.
class GccLossControl {
 public:
  explicit GccLossControl(DataRate start, const GccLossControlOptions& options = {});

  /// Counts `lost` of `packets`; moves the estimate when they make a report. It never rises above
  /// `limit`, the delay-based estimate.
  void handle_feedback(TimePoint now, int64_t lost, int64_t packets, DataRate limit);
  /// There is no loss yet and the other controller jumped: follows it.
  void set_estimate(DataRate estimate) { estimate_ = estimate; }

  DataRate estimate() const { return estimate_; }
  /// Of the last report.
  double loss() const { return loss_; }

 private:
  GccLossControlOptions options_;
  DataRate estimate_;
  double loss_ = 0;
  int64_t lost_ = 0;
  int64_t packets_ = 0;
  std::optional<TimePoint> report_started_;
};

struct GccEstimatorOptions {
  /// The draft's arrival-time filter, or its replacement in libwebrtc since 2017.
  enum class Filter { kKalman, kTrendline };
  Filter filter = Filter::kTrendline;
  GccArrivalFilterOptions kalman;
  GccTrendlineOptions trendline;
  GccDetectorOptions detector;
  GccDelayControlOptions delay;
  GccLossControlOptions loss;
  /// Without feedback for this long while packets are outstanding, the rate falls by
  /// `silence_factor` every `silence_interval`, as in libwebrtc; not in the draft.
  Duration silence_patience = 3s;
  Duration silence_interval = 1s;
  double silence_factor = 0.8;
};

/// The sender's complete congestion control: transport-wide feedback in, target out (the lower of
/// the two controllers' rates). Threads: none inside; one owner.
class GccEstimator {
 public:
  explicit GccEstimator(const GccEstimatorOptions& options = {});

  /// One feedback: its packets in the order of sending, and its measured round trip.
  void handle_feedback(TimePoint now, std::span<const GccPacketResult> packets,
                       Duration round_trip);
  void handle_sent(TimePoint now);
  void handle_timeout(TimePoint now);
  TimePoint poll_timeout() const { return silence_due_; }
  /// A probe measured this much (gcc_probe.hh).
  void handle_probe(DataRate measured);

  /// The rate that may be sent, counting whole IP packets.
  DataRate target() const;
  Duration round_trip() const { return round_trip_; }
  double loss() const { return loss_.loss(); }
  GccUsage usage() const { return detector_.usage(); }
  std::optional<DataRate> incoming() const { return incoming_.rate(); }

 private:
  double scaled_gradient(const GccGroupVariation& variation);

  GccEstimatorOptions options_;
  GccPacketGroups groups_;
  GccArrivalFilter kalman_;
  GccTrendline trendline_;
  GccOveruseDetector detector_;
  GccIncomingRate incoming_;
  GccDelayControl delay_;
  GccLossControl loss_;
  Duration round_trip_ = 200ms;  // until it is measured, as in libwebrtc
  TimePoint silence_due_ = kNever;
};

}  // namespace cress::schemes
