#pragma once

#include "transport/base/fifo.hh"
#include "transport/control/control.hh"
#include "transport/control/cress/exposure_history.hh"
#include "transport/control/cress/gamma_belief.hh"
#include "transport/control/cress/transit_watch.hh"
#include "transport/control/cress/way_back.hh"

namespace cress::control {

/// Between those of whom one hears many, as in a room: the relay's and its members' reports.
inline constexpr Duration kSparingReports = 25ms;

/// Cress's own scheme (docs/method.md, "The Cress forecast"). The receiver reports when each
/// datagram arrived; the sender knows when it sent what, so it can tell in which time the link was
/// busy (ExposureHistory), believes in a rate by that alone (GammaBelief), and lets go what will
/// surely arrive within the delay target, to the byte and the moment.
class CressControl final : public Control {
 public:
  struct Options {
    GammaBelief::Options belief{};
    /// Standard normal quantile of the forecast: −0.674 is the lower quartile, 0 the median.
    double caution_normal = -0.674;
    /// What is sent now shall surely have left the bottleneck this long after it could have.
    Duration delay_target = 60ms;
    /// So many packets that should have come and did not, with none in between, and the link is
    /// taken for dead until the next one comes.
    double outage_packets = 15;
    /// What the link carries beside each datagram's payload.
    DataSize datagram_overhead = kDatagramOverhead;
    /// No report for this long and the forecast promises no more: no news is bad news.
    Duration forecast_life = 260ms;
    /// But where reports were lately held up on the way back for nothing, it goes on for as long as
    /// they were, at half its mean rate, at most until this. For calls, where a picture not made is
    /// lost; a flow that always has more to send pays for it in delay.
    Duration forecast_life_max = forecast_life;
    /// The window is never below this while nothing is outstanding: a probe.
    DataSize probe{300};
    /// On a link so slow that a message is more than a window, messages go this far apart.
    Duration patience = 120ms;
    /// How often arrivals are reported while they come, and how seldom when what is told waits in a
    /// queue.
    Duration report_interval = 10ms;
    /// The same while what arrives has not waited on the way: a report that says little then waits
    /// this long for a datagram to ride on. Below report_interval: no longer than that.
    Duration report_interval_clear{};
    Duration report_interval_max = 250ms;
    /// Reports wait for a way out from which nothing is heard to arrive, too. For an end that sends
    /// for itself, as in a call: on a slow link reports would fill the queue before its media. An
    /// end that only answers must not wait: its reports alone tell that the link is back.
    bool spares_silent_link = false;
    /// While something is on its way, heartbeats come this fraction of the age of the newest
    /// arrival apart (40 ms to report_interval_max), whatever is usual: what comes first when an
    /// outage ends is fresh, and a link that carries a packet a second is not filled with them.
    /// Zero: the usual interval, longer where reports are further apart.
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
  DataSize forecast_total() const override { return forecast_total_; }
  std::optional<DataRate> forecast_rate() const override;
  /// Longer where what is told waits in a queue, or by heartbeats_per_age.
  Duration heartbeat_interval(TimePoint now, Duration usual) const override;
  Duration patience(TimePoint now) const override;
  TimePoint next_change(TimePoint now) const override;
  Duration reordering_max() const override;

  const GammaBelief& belief() const { return belief_; }
  const ExposureHistory& history() const { return history_; }

 private:
  struct Told {
    ArrivalStamp stamp;
    int times = 0;
  };
  /// The bottleneck's queue as forecast, at a time of the receiver's clock.
  struct Backlog {
    TimePoint at{};
    double bytes = 0;
    double delivered = 0;  // deliveries(at)
  };

  /// How long nothing has been heard to arrive that was sent.
  Duration no_news(TimePoint now) const;
  /// How far apart to speak without being asked. What is told will be late by the queue before it
  /// and by the silence it may meet: a part of that is often enough.
  Duration pace(TimePoint now) const;
  /// How long a report waits for something to ride on.
  Duration report_interval(TimePoint now) const;
  void learn(const Exposure& exposure);
  /// How long after the newest report the forecast goes on.
  Duration forecast_life() const;
  /// Bytes surely delivered between the newest report and `at` (receiver's clock).
  double deliveries(TimePoint at) const;
  Backlog drained(Backlog backlog, TimePoint until) const;
  /// What follows from a new report: all deliveries() are others now.
  void look_ahead();

  Options options_;
  // Receiving.
  Fifo<Told> arrivals_;  // at most kArrivalsMax, ascending by sequence
  size_t untold_ = 0;    // of these
  // With all else that a datagram of 1200 bytes tells, this many fit whatever their numbers are.
  static constexpr size_t kArrivalsMax = 64;
  // So many that nobody has been told of yet are told at once.
  static constexpr size_t kUntoldMax = 24;
  TimePoint report_due_ = kNever;
  TimePoint asked_until_ = kTimeZero;  // reports go on until then
  TimePoint reported_at_ = kTimeZero - 1h;
  TransitWatch transit_;
  // Sending.
  GammaBelief belief_;
  double missed_packets_ = 0;       // expected while busy since the last delivery
  double missed_packets_most_ = 0;  // the most of those that the newest report told of
  WayBack way_back_;
  ExposureHistory history_;
  DataSize forecast_total_;
  Backlog backlog_;
};

/// For both ends of a flow that always has more to send.
inline CressControl::Options flow_control() {
  return {.belief = {.busy_half_life = 170ms},
          .forecast_life = 220ms,
          .report_interval = 8ms,
          .heartbeats_per_age = 16};
}
/// For both ends of a call.
inline CressControl::Options call_control() {
  CressControl::Options options;
  options.spares_silent_link = true;
  options.forecast_life_max = 1s;
  return options;
}
/// For a member of a room.
inline CressControl::Options room_control() {
  CressControl::Options options = call_control();
  options.report_interval_clear = kSparingReports;
  return options;
}

}  // namespace cress::control
