#pragma once

#include <deque>
#include <optional>

#include "eval/schemes/congestion/verus_profile.hh"
#include "eval/schemes/tcp/tcp_congestion.hh"

namespace cress::schemes {

// Zaki, Pötsch, Chen, Subramanian, Görg, "Adaptive Congestion Control for Unpredictable Cellular
// Networks", SIGCOMM 2015, §4 and §6; details that the paper leaves open are as in the authors'
// program.
inline constexpr Duration kVerusEpoch = 5ms;
inline constexpr double kVerusDelta1 = 1.0;            // ms, down when the delay rises
inline constexpr double kVerusDelta2 = 2.0;            // ms, up when it falls, down above R
inline constexpr double kVerusDecrease = 0.5;          // M, of the window after a loss
inline constexpr Duration kVerusCurveInterval = 1s;    // between two curves
inline constexpr double kVerusSlowStartDelay = 500.0;  // ms: above it slow start ends

/// The delay that the next epoch aims at (equation 4), in ms. `largest`: the smoothed largest
/// delay; `change`: of the largest delay over the last epoch.
double verus_aim(double aim, double largest, double change, double least, double ratio_max);
/// How many segments the next epoch sends (equation 5): `window` minus the part of `in_flight` that
/// remains after one of the ceil(round trip / epoch) epochs, at least 0.
int verus_quota(double window, double in_flight, double round_trip_ms);

/// Verus (SIGCOMM 2015): every 5 ms it changes its target delay, looks up the window for it in the
/// learned delay profile, and sends the difference. `ratio_max` (R = 2, 4 or 6) bounds the largest
/// delay relative to the least. Starts as TCP does; a loss halves the window and begins a phase
/// without learning; a timeout restarts everything. Needs every segment acknowledged. Units:
/// segments, milliseconds. Threads: none inside; one owner.
class Verus final : public CongestionControl {
 public:
  explicit Verus(double ratio_max) : ratio_max_(ratio_max) {}

  void on_ack(const AckEvent& ack) override;
  void on_loss(TimePoint now) override;
  void on_timeout(TimePoint now, bool repeated) override;
  void on_spurious_loss(TimePoint now) override;
  DataSize window() const override;
  bool governs_recovery() const override { return true; }
  bool may_send(DataSize in_flight) const override;
  void on_sent(TimePoint now, DataSize in_flight) override;
  void handle_timeout(TimePoint now) override;
  TimePoint poll_timeout() const override;

  bool in_slow_start() const { return state_.slow_start; }
  bool recovers() const { return state_.recovers; }
  double aim_ms() const { return state_.aim_ms; }
  double window_segments() const { return state_.window; }
  std::optional<double> least_ms() const { return state_.least_ms; }

 private:
  struct State {
    bool slow_start = true;
    bool recovers = false;           // after a loss, until a segment of the smaller window arrives
    bool left_start = false;         // and that loss ended slow start
    double window = 1.0;             // W
    double aim_ms = 0;               // D_est
    double round_trip_ms = 0;        // smoothed
    std::optional<double> least_ms;  // D_min
    std::optional<double> largest_ms;        // D_max, smoothed
    std::optional<double> epoch_largest_ms;  // of the delays observed in this epoch
    int quota = 0;
    TimePoint epoch_end{};
    TimePoint curve_due{};
    VerusProfile profile;
  };
  struct Sent {
    TimePoint from{};
    double window = 0;
  };
  double window_when_sent(TimePoint sent);
  void learn(double window, double delay_ms);
  void leave_slow_start(TimePoint now, double window);
  void end_epoch(TimePoint now);
  void note_window(TimePoint now);

  double ratio_max_;
  State state_;
  double in_flight_ = 0;
  TimePoint last_ack_{};
  std::deque<Sent> sent_;  // the window since each time, while something sent then may be in flight
};

}  // namespace cress::schemes
