#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/trace.hh"

namespace cress::traces {

/// A datagram that came over the link under test.
struct SaturateArrival {
  uint64_t sequence = 0;  ///< in order of sending, none twice
  TimePoint sent{};       ///< on a clock of the sender's
  TimePoint arrived{};    ///< on one of the receiver's: by a constant apart, as far as that goes
  DataSize size;          ///< of the IP packet
};

struct MeasuredWindow {
  TimePoint from{};  ///< on the receiver's clock
  TimePoint to{};    ///< not before `from`
  /// What there and back takes without load: the paper's 750 ms are a round trip's.
  Duration round_trip{};
};

/// Counted from the window's start.
struct Stretch {
  Duration from{};
  Duration to{};
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// One direction of a saturated link.
///
/// The queue at the bottleneck is known to have held something at an instant if a packet that was
/// then on its way took longer than the fastest one of all did: the difference it has waited, and
/// it waited last. So each packet that waited longer than kWaitMin vouches for that time before its
/// arrival, whatever feedback knew. A drift of the clocks against each other (36 ms an hour for ten
/// millionths) is taken for waiting; against 750 ms that is little in an hour.
struct DirectionMeasurement {
  static constexpr Duration kWaitMin = 20ms;
  /// A hole between two packets' words shorter than this is one of our clocks'.
  static constexpr Duration kStretchMin = 1ms;

  /// Whole milliseconds from the window's start, one for each kOpportunitySize bytes of IP packets.
  /// Not yet a valid trace while nothing has arrived: see has_trace().
  sim::DeliveryTrace trace;
  Duration length{};
  DataSize delivered;
  Duration longest_gap{};  ///< without any arrival, the window's ends included
  uint64_t arrived = 0;
  uint64_t lost = 0;            ///< of those sent between the first and the last that arrived
  uint64_t reordered = 0;       ///< arrived after one that was sent later
  double saturated_share = 0;   ///< of time: the queue is known to have held something
  double over_delay_share = 0;  ///< of time: the latest to arrive had over 750 ms there and back
  /// Of the queueing delay, over packets.
  Duration delay_p50{};
  Duration delay_p95{};
  std::vector<Stretch> unsaturated;  ///< the rest of time

  bool has_trace() const { return !trace.opportunities.empty() && trace.period() > Duration{}; }
  DataRate capacity() const {
    return length > Duration{} ? DataRate::from(delivered, length) : DataRate{};
  }
};

/// `arrivals`: ascending by `arrived`; also those outside of the window, which tell of the path.
DirectionMeasurement measure_direction(std::span<const SaturateArrival> arrivals,
                                       const MeasuredWindow& window);

}  // namespace cress::traces
