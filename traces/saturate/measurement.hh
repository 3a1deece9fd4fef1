#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/trace.hh"

namespace cress::traces {

/// A datagram that arrived over the link under test.
struct SaturateArrival {
  uint64_t sequence = 0;  ///< in order of sending, without duplicates
  TimePoint sent{};       ///< on the sender's clock
  TimePoint
      arrived{};  ///< on the receiver's clock: the offset between the clocks is taken as constant
  DataSize size;  ///< of the IP packet
};

struct MeasuredWindow {
  TimePoint from{};  ///< on the receiver's clock
  TimePoint to{};    ///< not before `from`
  /// The round trip without load: the paper's 750 ms are a round trip's.
  Duration round_trip{};
};

/// An interval, counted from the window's start.
struct Stretch {
  Duration from{};
  Duration to{};
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// One direction of a saturated link.
///
/// The bottleneck's queue was provably not empty at an instant if a packet in transit at that time
/// took longer than the fastest packet: it waited for the difference, at the end of its transit. So
/// each packet that waited longer than kWaitMin proves saturation for that time before its arrival,
/// independent of feedback. Drift between the clocks (36 ms an hour for ten parts per million) is
/// counted as waiting; that is small compared with 750 ms within an hour.
struct DirectionMeasurement {
  static constexpr Duration kWaitMin = 20ms;
  /// Gaps in the proven time shorter than this are due to clock resolution.
  static constexpr Duration kStretchMin = 1ms;

  /// Whole milliseconds from the window's start, one per kOpportunitySize bytes of IP packets. Not
  /// a valid trace until something has arrived: see has_trace().
  sim::DeliveryTrace trace;
  Duration length{};
  DataSize delivered;
  Duration longest_gap{};  ///< without any arrival, including the window's ends
  uint64_t arrived = 0;
  uint64_t lost = 0;            ///< of those sent between the first and the last arrival
  uint64_t reordered = 0;       ///< arrived after one that was sent later
  double saturated_share = 0;   ///< of time: the queue was provably not empty
  double over_delay_share = 0;  ///< of time: the latest arrival had a round trip over 750 ms
  /// Median and 95th percentile of the packets' queueing delays.
  Duration delay_p50{};
  Duration delay_p95{};
  std::vector<Stretch> unsaturated;  ///< the remaining time

  bool has_trace() const { return !trace.opportunities.empty() && trace.period() > Duration{}; }
  DataRate capacity() const {
    return length > Duration{} ? DataRate::from(delivered, length) : DataRate{};
  }
};

/// `arrivals`: ascending by `arrived`; those outside of the window are used too, as information
/// about the path.
DirectionMeasurement measure_direction(std::span<const SaturateArrival> arrivals,
                                       const MeasuredWindow& window);

}  // namespace cress::traces
