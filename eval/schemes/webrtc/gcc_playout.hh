#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::schemes {

/// A complete frame, with the times that the receiver knows.
struct GccFrameArrival {
  TimePoint captured{};     ///< the sender's clock
  TimePoint arrived{};      ///< its last packet, our clock
  DataSize size{};          ///< of the coded frame
  bool sent_again = false;  ///< a packet of it was retransmitted
};

/// How long frames are held so that they can be displayed evenly: the libwebrtc receiver's jitter
/// estimate, from a linear model of delay against frame size (a Kalman filter with two states) and
/// the remaining noise. Threads: none inside; one owner.
class GccJitter {
 public:
  static constexpr Duration kMax = 10s;

  void handle_frame(const GccFrameArrival& frame);
  /// The maximum hold of the next frame, 10 ms..kMax.
  Duration estimate(Duration round_trip) const;

 private:
  void update_model(double size_change, double residual_ms);
  void update_noise(double residual_ms);

  std::optional<GccFrameArrival> previous_;
  double size_mean_ = 500;
  double size_variance_ = 100;
  double size_large_ = 500;  // 95 % of the newest frames are no larger
  std::deque<double> sizes_;
  double slope_ms_per_byte_ = 1.0 / 64;  // 512 kbit/s
  double offset_ms_ = 0;
  double error_slope_ = 1e-4;  // the states' error covariance
  double error_cross_ = 0;
  double error_offset_ = 1e2;
  double noise_mean_ms_ = 0;
  double noise_variance_ = 4;
  int64_t noise_count_ = 1;
  int64_t sent_again_ = 0;
};

/// The display time of each frame: its usual arrival, plus a delay that moves slowly towards what
/// the jitter requires. A late frame is displayed at once. Threads: none inside; one owner.
class GccPlayout {
 public:
  /// Frames in the order of display. Not before `now`.
  TimePoint handle_frame(TimePoint now, const GccFrameArrival& frame, Duration round_trip);
  Duration delay() const { return delay_; }

 private:
  void learn_transit(Duration transit);

  GccJitter jitter_;
  Duration delay_{};
  std::optional<TimePoint> last_captured_;
  double transit_ms_ = 0;  // the usual one
  int64_t transits_ = 0;
  int64_t shifted_ = 0;  // consecutive frames far from the usual transit; negative: early
};

}  // namespace cress::schemes
