#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/fifo.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/control/control.hh"
#include "transport/control/cress/longer_path.hh"
#include "transport/control/cress/recent_least.hh"
#include "transport/control/cress/reordering.hh"

namespace cress::control {

/// What a link can carry at one opportunity: Ethernet's payload, as in the paper's links (§4.1).
inline constexpr DataSize kOpportunitySize{1500};
/// What the link carries in addition to the payload: UDP/IPv4 headers and our own header.
inline constexpr DataSize kDatagramOverhead{20 + 8 + 16};

/// An interval of the link's time: whether it was busy, and what it delivered at the end of the
/// interval.
struct Exposure {
  Duration elapsed{};
  bool busy = false;
  double packets = 0;  ///< of kOpportunitySize
  /// The interval begins at the last delivery and replaces what was passed on since: the datagrams
  /// that seemed to wait were lost.
  bool replaces_silence = false;
};

/// The sender's history of sent datagrams and their arrival times (by the receiver's clock). It
/// finds the intervals in which the bottleneck's queue was busy: those in which some datagram had
/// had time to reach the queue and had not yet arrived. A datagram counts as lost, and as never
/// queued, when one arrives that was sent later by Reordering::sent_before_max() or more (zero on a
/// path that keeps the order). Threads: none inside; one owner. Peer data: any values are safe.
class ExposureHistory {
 public:
  /// `overhead`: what the link carries in addition to each payload.
  explicit ExposureHistory(DataSize overhead = kDatagramOverhead) : overhead_(overhead) {}

  struct Sent {
    uint64_t sequence = 0;
    TimePoint at{};
    DataSize size;         // on the wire
    bool arrived = false;  // kept while an earlier datagram may still arrive
  };

  void on_sent(TimePoint now, uint64_t sequence, DataSize payload);
  /// `pass_on` is called with every interval between the last report and this one, in order.
  /// Returns false for a report older than the newest, which is ignored. `in_doubt`: the silence
  /// since the last delivery may be a burst of losses; if it was, it is replaced.
  bool handle_report(TimePoint now, TimePoint made_at, std::span<const ArrivalStamp> arrivals,
                     bool in_doubt, const std::function<void(const Exposure&)>& pass_on);

  /// The least transit time of the last 20 to 40 s, or since the path became longer (receiver's
  /// clock minus sender's clock): a datagram sent at s reaches the link at s + this. nullopt before
  /// the first arrival.
  std::optional<Duration> base_delay() const { return least_delay_.least(); }
  /// The least delay counts as measured now: datagrams wait in a queue that never empties.
  void keep_base_delay(TimePoint now) {
    if (const auto least = least_delay_.least()) {
      least_delay_.add(now, *least);
    }
  }
  const Reordering& reordering() const { return reordering_; }
  /// The receiver's time of the newest report.
  TimePoint reported_until() const { return reported_until_; }
  /// The receiver's time of the newest reported arrival.
  TimePoint last_arrival() const { return last_arrival_; }
  /// The send time (sender's clock) of the newest datagram known to have arrived.
  TimePoint newest_arrived_sent() const { return newest_arrived_sent_; }
  /// Sent datagrams not known to be lost, oldest first. Some have arrived (Sent::arrived) and are
  /// kept while an earlier one may still arrive.
  const Fifo<Sent>& outstanding() const { return outstanding_; }
  DataSize outstanding_size() const { return outstanding_size_; }

  static constexpr size_t kOutstandingMax = 1U << 14U;

  struct Arrived {
    Sent sent;
    TimePoint at{};
    bool marked = false;  ///< congestion experienced
  };
  /// What the newest report said for the first time, in the order of arrival.
  const std::vector<Arrived>& arrived() const { return arrived_; }
  /// How many datagrams the newest report showed to be lost.
  size_t lost() const { return lost_; }

 private:
  void drop_oldest();
  void note_arrivals(TimePoint now, TimePoint made_at, std::span<const ArrivalStamp> arrivals);
  void take_arrived(const Sent& sent);
  /// Was the silence that the link seemed to keep since the delivery at `last` a burst of losses?
  /// That is so if what seemed to wait was sent before the first arrival, and so is lost. `end`:
  /// when that arrival reached the link.
  bool was_burst_of_losses(TimePoint last, TimePoint end) const;
  /// The path has become another one, of this least delay.
  void begin_path(TimePoint now, Duration least_delay);

  DataSize overhead_;
  std::vector<Arrived> arrived_;  // arrivals that the current report contains for the first time
  size_t lost_ = 0;
  Fifo<Sent> outstanding_;
  Fifo<Sent> overtaken_;  // taken for lost; at most kOvertakenMax
  static constexpr size_t kOvertakenMax = 64;
  DataSize outstanding_size_;
  TimePoint reported_until_{};
  TimePoint last_arrival_{};
  TimePoint newest_arrived_sent_{};
  bool has_report_ = false;
  static constexpr Duration kLeastDelaySpan = 20s;
  static constexpr Duration kLeastWaitSpan = 100ms;
  RecentLeast<Duration> least_delay_{kLeastDelaySpan};
  RecentLeast<Duration> least_wait_{kLeastWaitSpan};  // beyond the least delay
  LongerPath longer_path_;
  Reordering reordering_;
};

}  // namespace cress::control
