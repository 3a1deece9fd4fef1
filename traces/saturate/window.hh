#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "transport/base/time.hh"

namespace cress::traces {

/// The number of packets that a saturator keeps in transit (Sprout, NSDI '13, §4.1): a window that
/// grows while the delay is under 750 ms, so that the link always has load, and shrinks when it is
/// over 3 s, so that the network does not start throttling or dropping. Differs from the paper's
/// program: it shrinks once per round trip, not once per packet, because all packets that waited
/// through a silence of 5 s report 5 s at once; and delay never shrinks it below what 750 ms at the
/// best rate of the last kMemory would need, because that rate may return. If more than a fifth of
/// a round trip's packets is lost, the queue is full however short the delay: the window shrinks by
/// an eighth. Feedback is old when it arrives. If feedback waits behind load it is seconds old, so
/// packets that will have been delivered since, at the last known rate, may be sent too. Threads:
/// none inside; one owner. Units: packets.
class SaturatingWindow {
 public:
  static constexpr Duration kDelayMin = 750ms;
  static constexpr Duration kDelayMax = 3s;
  static constexpr Duration kMemory = 10s;
  static constexpr size_t kPacketsMin = 20;
  /// A second of 750 Mbit/s.
  static constexpr size_t kPacketsMax = 1 << 16;
  /// Above this share of lost packets the queue counts as full.
  static constexpr double kLossMax = 0.2;
  /// Silence for longer than this is due to the link, not to delayed feedback.
  static constexpr Duration kAgeMax = 4s;

  struct Feedback {
    TimePoint known_at{};        ///< the time of the report, on the sender's clock
    TimePoint newest_arrived{};  ///< on the receiver's clock
    uint64_t newest = 0;         ///< one more than the highest sequence that has arrived; ascending
    uint64_t arrived = 0;        ///< number of arrivals; the others below `newest` are lost or late
    Duration delay{};            ///< of that one: forward delay plus the unloaded reverse delay
  };
  /// `next`: the sequence to be sent next.
  void on_feedback(TimePoint now, const Feedback& feedback, uint64_t next);
  /// How many packets may be in transit beyond those known to have arrived.
  uint64_t allowed(TimePoint now) const;

  uint64_t newest() const { return newest_; }
  /// Whether the queue has been observed to be full or to overflow.
  bool has_filled() const { return has_filled_; }
  /// Over the last second in which anything arrived; 0 if unknown.
  double packets_per_second() const { return rate_; }
  size_t packets() const { return packets_; }

 private:
  struct Arrived {
    TimePoint at{};
    uint64_t newest = 0;
  };
  struct Best {
    TimePoint at{};
    double rate = 0;
  };
  static constexpr int kCalmRounds = 8;
  void end_round(const Feedback& feedback, uint64_t next);
  void measure_rate(TimePoint now, const Feedback& feedback);
  size_t floor() const;

  size_t packets_ = kPacketsMin;
  uint64_t newest_ = 0;
  uint64_t shrink_from_ = 0;  // packets before this one were in transit when the window last shrank
  // The end of one round trip's packets, over which losses are counted.
  uint64_t round_end_ = 0;
  uint64_t round_newest_ = 0;
  uint64_t round_arrived_ = 0;
  bool overflows_ = false;
  int calm_rounds_ = kCalmRounds;  // rounds since it last overflowed
  bool has_filled_ = false;
  TimePoint known_at_{};
  double rate_ = 0;
  std::deque<Arrived> arrived_;  // over about the last second
  std::deque<Best> best_;        // decreasing rates of the last kMemory: the front is the best
};

}  // namespace cress::traces
