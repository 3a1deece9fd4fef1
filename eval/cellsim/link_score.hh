#pragma once

#include <memory>
#include <optional>

#include "eval/cellsim/histogram.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/link.hh"
#include "transport/sim/trace.hh"

namespace cress::cellsim {

/// Iterates over a trace's opportunities, with the trace repeated, in order of time. Threads: none
/// inside; one owner.
class OpportunityWalk {
 public:
  explicit OpportunityWalk(std::shared_ptr<const sim::DeliveryTrace> trace)
      : trace_(std::move(trace)) {}
  /// The next one that has not been taken.
  TimePoint next() const { return kTimeZero + period_start_ + trace_->opportunities[index_].at; }
  void take();

 private:
  std::shared_ptr<const sim::DeliveryTrace> trace_;
  size_t index_ = 0;
  Duration period_start_{};
};

/// d(t) = t - (sent time of the newest packet that has arrived), computed online: the result of
/// metrics::delay_quantile, in bounded memory and to 0.1 ms. Before the first arrival d counts from
/// kTimeZero. Threads: none inside; one owner.
class DelayClock {
 public:
  /// Time before `from` is not counted.
  explicit DelayClock(TimePoint from) : from_(from) {}
  /// In order of arrival.
  void handle_arrival(TimePoint sent, TimePoint arrived);
  /// Time advances to `now`.
  void advance(TimePoint now);
  /// nullopt if nothing arrived or no time was counted.
  std::optional<Duration> quantile(double q) const;

 private:
  TimePoint from_;
  TimePoint counted_to_ = kTimeZero;
  TimePoint newest_sent_ = kTimeZero;
  bool has_arrivals_ = false;
  Histogram histogram_{{.bin = 100us, .value_max = 1000s}};
};

/// The measures of docs/method.md, for one direction.
struct Score {
  double capacity_kbps = 0;
  double throughput_kbps = 0;
  double utilization = 0;
  std::optional<double> delay95_ms, omniscient95_ms, self_inflicted_ms;
  uint64_t packets_delivered = 0;
  uint64_t packets_dropped = 0;
};

/// Scores one direction of a link while it runs, in bounded memory; window [skip, end).
/// Threads: none inside; one owner.
class LinkScore {
 public:
  LinkScore(std::shared_ptr<const sim::DeliveryTrace> trace, Duration propagation, Duration skip);

  void handle_left(const sim::PacketRecord& record);
  void handle_dropped(uint64_t count) { dropped_ += count; }
  /// No further events before `now` will follow.
  void advance(TimePoint now);
  /// The end of the window. No further events may follow.
  Score finish(TimePoint end);

 private:
  std::shared_ptr<const sim::DeliveryTrace> trace_;
  Duration propagation_;
  TimePoint from_;
  OpportunityWalk opportunities_;
  DelayClock delay_;
  DelayClock omniscient_;
  DataSize carried_;
  uint64_t delivered_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace cress::cellsim
