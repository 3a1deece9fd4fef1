#pragma once

#include <optional>

#include "eval/schemes/congestion/reno.hh"

namespace cress::schemes {

/// Packets that Vegas keeps in the bottleneck's queue, as Linux sets them.
inline constexpr int kVegasAlpha = 2;  // fewer: adds one segment
inline constexpr int kVegasBeta = 4;   // more: removes one segment
inline constexpr int kVegasGamma = 1;  // more: slow start ends

/// The backlog that Vegas compares with its bounds (Brakmo and Peterson 1995, §3.2): the window
/// minus what it would be at this rate without a queue, in whole segments, rounded down as in
/// Linux.
int vegas_backlog(double window, Duration round_trip, Duration base_round_trip);

/// TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
/// Internet", IEEE JSAC 13:8, 1995), with Linux's choices: slow start grows every round trip and
/// ends at the rate of the acknowledgements; a round is judged by its least round trip, and by
/// Reno's rule if it had fewer than three samples; the base round trip is the minimum ever
/// observed; losses are handled as in Reno. Units: a fractional number of segments inside, whole
/// ones outside. Threads: none inside; one owner.
class Vegas final : public Reno {
 public:
  void on_ack(const AckEvent& ack) override;
  std::optional<Duration> base_round_trip() const { return base_; }

 private:
  void start_round(const AckEvent& ack);
  void shrink_to(double window);
  void adjust(const AckEvent& ack);

  std::optional<Duration> base_;
  std::optional<Duration> least_this_round_;
  int samples_ = 0;
  bool judging_ = false;  // not during recovery from losses, nor in the round after
  DataSize round_end_;
};

}  // namespace cress::schemes
