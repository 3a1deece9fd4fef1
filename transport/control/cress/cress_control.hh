#pragma once

#include "transport/base/fifo.hh"
#include "transport/control/control.hh"
#include "transport/control/cress/exposure_history.hh"
#include "transport/control/cress/gamma_belief.hh"
#include "transport/control/cress/marked_queue.hh"
#include "transport/control/cress/reverse_path.hh"
#include "transport/control/cress/shared_queue.hh"
#include "transport/control/cress/silences.hh"
#include "transport/control/cress/transit_watch.hh"

namespace cress::control {

/// Report interval in rooms, where each end receives many reports: the relay's and its members'.
inline constexpr Duration kSparingReports = 25ms;

/// Cress's own scheme (docs/method.md, "The Cress forecast"). The receiver reports when each
/// datagram arrived. The sender knows when it sent each datagram, so it can find when the link was
/// busy (ExposureHistory). It estimates the rate from busy time alone (GammaBelief), and sends what
/// will arrive within the delay target with high probability, with a resolution of bytes and
/// nanoseconds.
class CressControl final : public Control {
 public:
  struct Options {
    GammaBelief::Options belief{};
    /// Standard normal quantile of the forecast: −0.674 is the lower quartile, 0 the median.
    double caution_normal = -0.674;
    /// The same on a link that is silent for 22 % of its time or more (Silences); it begins to
    /// count at a tenth. Caution gains nothing there: data waits for the silences to end, not for
    /// our queue. Only values above caution_normal have an effect.
    double caution_when_silent = caution_normal;
    /// Data sent now shall have left the bottleneck, with high probability, this long after it
    /// could have arrived there.
    Duration delay_target = 60ms;
    /// After this many expected packets did not arrive, with none in between, the link counts as
    /// down until the next arrival.
    double outage_packets = 15;
    /// What the link carries in addition to each datagram's payload.
    DataSize datagram_overhead = kDatagramOverhead;
    /// Without a report for this long, the forecast promises nothing more: missing reports are
    /// taken as an outage. At least the round trip plus kLifeBeyondTrip, up to kLifeMost.
    Duration forecast_life = 260ms;
    /// Has an effect only above forecast_life, as in calls and rooms. If reports were lately held
    /// up on the reverse path although the forward path worked, the forecast lasts for as long as
    /// the longest such silence, up to this limit. Behind a queue that stands on the reverse path
    /// it lasts longer by twice that queue's delay, without this limit. Beyond its usual life it
    /// counts half of the mean rate or more. In a call, a frame not sent in time is lost; a bulk
    /// flow would pay for the longer life in delay.
    Duration forecast_life_max = forecast_life;
    /// The window is never below this while nothing is outstanding: a probe.
    DataSize probe{300};
    /// On a link so slow that a message exceeds the window, messages are sent this far apart.
    Duration patience = 120ms;
    /// How often arrivals are reported while datagrams arrive.
    Duration report_interval = 10ms;
    /// Report interval while arriving datagrams show no queueing delay: a report with little
    /// content then waits this long for a datagram to carry it. Values below report_interval have
    /// no effect.
    Duration report_interval_clear{};
    /// The longest interval between reports or heartbeats, however long the queue or the silence.
    Duration report_interval_max = 250ms;
    /// Reports also wait while nothing that this end sends is known to arrive. For an end that
    /// sends media, as in a call: on a slow link reports would fill the queue before its media. An
    /// end that only sends reports must not wait: its reports are the only sign that the link is
    /// back.
    bool spares_silent_link = false;
    /// On a path that reorders, losses are also known by the time since a later arrival. For media,
    /// which are sent again while that is in time.
    bool knows_losses_by_time = false;
    /// While data is in flight, heartbeats are sent at this fraction of the age of the newest
    /// arrival (40 ms to report_interval_max), whatever the usual interval. The first datagram
    /// after an outage is then recent, and a link that carries one packet per second is not filled
    /// with heartbeats. Zero: the usual interval, longer where reports are further apart.
    int heartbeats_per_age = 0;
  };

  explicit CressControl(const Options& options);

  void handle_arrival(TimePoint now, const ArrivedDatagram& datagram) override;
  std::optional<Feedback> poll_feedback(TimePoint now) override;
  TimePoint feedback_due() const override { return report_due_; }

  void on_sent(TimePoint now, uint64_t sequence, DataSize payload) override;
  void handle_feedback(TimePoint now, const Feedback& feedback, uint64_t next_sequence,
                       uint64_t received_or_lost) override;
  DataSize window(TimePoint now) const override;
  DataSize outstanding(TimePoint now) const override;
  DataSize message_overhead() const override;
  DataSize forecast_total() const override;
  std::optional<DataRate> forecast_rate() const override;
  /// A mean that forgets half in half a second of busy time. Not known in a shared queue.
  std::optional<DataRate> usual_rate() const override;
  double steadiness() const override {
    return 1 - belief_.burstiness() / options_.belief.burstiness;
  }
  /// Longer than usual when reports wait in a queue, or by heartbeats_per_age.
  Duration heartbeat_interval(TimePoint now, Duration usual) const override;
  Duration patience(TimePoint now) const override;
  TimePoint next_change(TimePoint now) const override;
  bool is_shared(TimePoint now) const override;
  Duration spacing(TimePoint now, DataSize size) const override;
  Duration reordering_max() const override;
  bool answers_marks() const override { return true; }
  uint64_t decided_before(TimePoint now) const override { return overtaking_.decided_before(now); }

  const GammaBelief& belief() const { return belief_; }
  const ExposureHistory& history() const { return history_; }

 private:
  struct Reported {
    ArrivalStamp stamp;
    uint64_t next = 0;  // the sequence of the datagram sent after it
    int times = 0;
  };
  /// The forecast backlog of the bottleneck's queue at a time of the receiver's clock.
  struct Backlog {
    TimePoint at{};
    double bytes = 0;
    double delivered = 0;  // deliveries(at)
  };

  /// Time since anything sent was last known to arrive.
  Duration no_news(TimePoint now) const;
  /// Interval between reports that nothing else requires. A report arrives late by the queue ahead
  /// of it and by the outage it may meet; reporting at a fraction of that delay is often enough.
  Duration pace(TimePoint now) const;
  /// The same, while nothing that was sent is known to arrive.
  Duration spacing_in_silence(TimePoint now) const;
  void forget_oldest_arrival(TimePoint now);
  /// How long a report waits for a datagram to carry it.
  Duration report_interval(TimePoint now) const;
  void learn(TimePoint now, const Exposure& exposure);
  /// Standard normal quantile of the forecast, by how often the link is silent.
  double caution() const;
  /// Do others fill the queue? Then the forecast rests: all time is busy, whatever we send.
  void watch_queue(TimePoint now);
  /// How long after the newest report the forecast remains valid.
  Duration forecast_life() const;
  /// Without the exception of forecast_life_max.
  Duration sure_life() const;
  /// Bytes delivered with high probability between the newest report and `at` (receiver's clock).
  double deliveries(TimePoint at) const;
  Backlog drained(Backlog backlog, TimePoint until) const;
  /// Bytes taken to be delivered from the end of the forecast until what leaves `now` reaches the
  /// link, `base` later: perhaps only reports are missing. After a long burst of losses it is also
  /// counted while reports say that nothing arrives: that may be the next one.
  DataSize delivered_in_doubt(TimePoint now, Duration base) const;
  /// What the forecast allows, whoever else fills the link.
  DataSize forecast_window(TimePoint now, Duration base) const;
  /// Recomputes what depends on deliveries() after a new report.
  void look_ahead();

  Options options_;
  // Receiving.
  Fifo<Reported> arrivals_;  // at most kArrivalsMax, ascending by sequence
  size_t unreported_ = 0;    // of these, not yet reported
  // With everything else in a datagram of 1200 bytes, this many stamps fit whatever their values.
  static constexpr size_t kArrivalsMax = 64;
  // Once this many arrivals are unreported, they are reported at once.
  static constexpr size_t kUnreportedMax = 24;
  std::optional<uint64_t> forgotten_before_;  // `next` of the last that left arrivals_
  TimePoint report_due_ = kNever;
  TimePoint asked_until_ = kTimeZero;  // reports go on until then
  TimePoint reported_at_ = kTimeZero - 1h;
  TransitWatch transit_;
  Overtaking overtaking_;
  // Sending.
  GammaBelief belief_;
  GammaBelief belief_at_delivery_;  // the last one
  double missed_packets_ = 0;  // packets expected while the link was busy since the last delivery
  double missed_packets_most_ = 0;       // the largest such number that the newest report covers
  std::optional<double> usual_packets_;  // a second; see usual_rate
  ReversePath reverse_path_;
  TimePoint lost_at_ = kTimeZero - 1h;  // when a loss was last known, in either direction
  // When a silence of kDoubtfulPackets and more last turned out to be a burst of losses.
  TimePoint burst_at_ = kTimeZero - 1h;
  ExposureHistory history_;
  Silences silences_;
  Silences silences_at_delivery_;
  SharedQueue queue_;
  MarkedQueue marks_;
  DataSize forecast_total_;
  Backlog backlog_;
};

/// Options for both ends of a flow that always has more to send. With a measured burstiness it
/// fills more of recorded links, at more delay than is aimed at (docs/experiments/0018).
inline CressControl::Options flow_control() {
  return {.belief = {.busy_half_life = 170ms, .burstiness_min = 1.5},
          .caution_when_silent = 0.5,
          .forecast_life = 220ms,
          .report_interval = 8ms,
          .heartbeats_per_age = 16};
}
/// Options for both ends of a call.
inline CressControl::Options call_control() {
  CressControl::Options options;
  options.spares_silent_link = true;
  options.knows_losses_by_time = true;
  options.forecast_life_max = 1s;
  return options;
}
/// Options for a member of a room.
inline CressControl::Options room_control() {
  CressControl::Options options = call_control();
  options.report_interval_clear = kSparingReports;
  return options;
}

}  // namespace cress::control
