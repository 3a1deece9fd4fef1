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

/// What became of one packet, by the peer's feedback. Sizes are of whole IP packets.
struct GccPacketResult {
  TimePoint sent{};                    ///< our clock
  std::optional<TimePoint> arrived{};  ///< the peer's clock; empty: lost
  DataSize size{};
};

/// R_hat: what arrived in the last kWindow of the peer's clock (draft-ietf-rmcat-gcc-02, §5.5).
/// Threads: none inside; one owner.
class GccIncomingRate {
 public:
  static constexpr Duration kWindow = 500ms;

  void handle_arrival(TimePoint arrived, DataSize size);
  /// Empty until half a window of arrivals is known. Over less than a window: of what there is.
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

/// Shape: 0 < floor <= start <= ceiling; factors as §5.5 says: 1 < increase, 0 < decrease < 1.
struct GccDelayControlOptions {
  DataRate start = DataRate::kilobits_per_second(300);
  DataRate floor = DataRate::kilobits_per_second(30);
  DataRate ceiling = DataRate::kilobits_per_second(30'000);
  double increase_per_second = 1.08;  ///< eta
  double decrease = 0.85;             ///< beta
  double incoming_cap = 1.5;          ///< the estimate stays below so many times R_hat
};

/// The draft's rate controller (§5.5): additive increase near where the link last gave in,
/// multiplicative increase elsewhere, decrease to a share of what arrives. Threads: none inside;
/// one owner.
class GccDelayControl {
 public:
  enum class State { kHold, kIncrease, kDecrease };

  explicit GccDelayControl(const GccDelayControlOptions& options = {});

  /// Once a feedback. `incoming` empty: not known yet. `now` never goes back.
  DataRate update(TimePoint now, GccUsage usage, std::optional<DataRate> incoming,
                  Duration round_trip);
  /// From outside: a probe found that the link carries this much.
  void set_estimate(DataRate estimate);

  DataRate estimate() const { return estimate_; }
  State state() const { return state_; }
  /// The link last gave in near this rate, and what arrives has not left it upwards since.
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
  // Mean of R_hat at the decreases, and its variance in parts of that mean.
  std::optional<double> peak_kbps_;
  double peak_variance_ = 0.4;
};

/// §6: the loss of one report, and what it does to the rate.
struct GccLossControlOptions {
  double low = 0.02;
  double high = 0.10;
  double increase = 1.05;
  /// A report is made of at least so many packets and so much time: the draft's RTCP reports.
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
  /// Nothing is lost yet and the other controller jumped: follow it.
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
  /// The draft's arrival-time filter, or what libwebrtc has in its place since 2017.
  enum class Filter { kKalman, kTrendline };
  Filter filter = Filter::kTrendline;
  GccArrivalFilterOptions kalman;
  GccTrendlineOptions trendline;
  GccDetectorOptions detector;
  GccDelayControlOptions delay;
  GccLossControlOptions loss;
  /// No feedback for so long while packets are out: the rate falls by `silence_factor` every
  /// `silence_interval`, as libwebrtc does; the draft says nothing of it.
  Duration silence_patience = 3s;
  Duration silence_interval = 1s;
  double silence_factor = 0.8;
};

/// The whole of the congestion control at the sender: transport-wide feedback in, target out (the
/// lower of the two controllers' rates). Threads: none inside; one owner.
class GccEstimator {
 public:
  explicit GccEstimator(const GccEstimatorOptions& options = {});

  /// One feedback: its packets in the order they were sent, and the round trip it measured.
  void handle_feedback(TimePoint now, std::span<const GccPacketResult> packets,
                       Duration round_trip);
  void handle_sent(TimePoint now);
  void handle_timeout(TimePoint now);
  TimePoint poll_timeout() const { return silence_due_; }
  /// A probe measured this much (gcc_probe.hh).
  void handle_probe(DataRate measured);

  /// What may be sent, IP packets counted whole.
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
  Duration round_trip_ = 200ms;  // until it is measured, as libwebrtc
  TimePoint silence_due_ = kNever;
};

}  // namespace cress::schemes
