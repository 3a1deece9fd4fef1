#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "transport/base/time.hh"

namespace cress::traces {

/// How much a saturator keeps on the way (Sprout, NSDI '13, §4.1): a window that grows while the
/// delay is under 750 ms, so that the link never lacks load, and shrinks when it is over 3 s, so
/// that the network does not take to throttling or dropping.
/// Differs from the paper's program: it shrinks once a round trip, not once a packet, because all
/// that waited out a silence of 5 s come back with 5 s at once; and never below what 750 ms at the
/// best rate of the last kMemory would need, because what was possible then may be so again. Nor
/// does it grow against a queue that is full: where every fifth packet is lost, the link has all
/// the load it can take, however short the delay.
/// What it has heard is old by the time it is heard. Where feedback waits behind load that is
/// seconds, so that what will have been delivered since, at the last known rate, may be sent, too.
/// Threads: none inside; one owner. Units: packets.
class SaturatingWindow {
 public:
  static constexpr Duration kDelayMin = 750ms;
  static constexpr Duration kDelayMax = 3s;
  static constexpr Duration kMemory = 10s;
  static constexpr size_t kPacketsMin = 20;
  /// A second of 750 Mbit/s.
  static constexpr size_t kPacketsMax = 1 << 16;
  /// Silence for longer than this is no delay of the feedback, but of the link.
  static constexpr double kLossMax = 0.2;
  static constexpr Duration kAgeMax = 4s;

  struct Feedback {
    TimePoint known_at{};        ///< when it was true, on the sender's clock
    TimePoint newest_arrived{};  ///< on the receiver's clock
    uint64_t newest = 0;         ///< one more than the highest sequence that has arrived; ascending
    uint64_t arrived = 0;        ///< how many have; the others below `newest` are lost or late
    Duration delay{};            ///< of that one: there and, were it not for load, back
  };
  /// `next`: the sequence to be sent next.
  void on_feedback(TimePoint now, const Feedback& feedback, uint64_t next);
  /// How many packets beyond those known to have arrived may be on the way.
  uint64_t allowed(TimePoint now) const;

  uint64_t newest() const { return newest_; }
  /// The queue has been seen to stand, or to overflow.
  bool has_filled() const { return has_filled_; }
  /// Of the last second in which anything arrived; 0 when unknown.
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
  uint64_t shrink_from_ = 0;  // packets before this one were on the way when the window last shrank
  // A round trip's worth of packets, to count losses over.
  uint64_t round_end_ = 0;
  uint64_t round_newest_ = 0;
  uint64_t round_arrived_ = 0;
  bool overflows_ = false;
  int calm_rounds_ = kCalmRounds;  // since it last overflowed
  bool has_filled_ = false;
  TimePoint known_at_{};
  double rate_ = 0;
  std::deque<Arrived> arrived_;  // of about the last second
  std::deque<Best> best_;        // falling rates of the last kMemory: the front is the best
};

}  // namespace cress::traces
