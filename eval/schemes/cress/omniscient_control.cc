#include "eval/schemes/cress/omniscient_control.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

// A message's header within a datagram, as CressControl counts it.
constexpr DataSize kMessageFraming{4};

}  // namespace

OmniscientControl::OmniscientControl(std::shared_ptr<const sim::DeliveryTrace> trace,
                                     const Options& options)
    : trace_(std::move(trace)), options_(options), queue_{kTimeZero, {}} {
  check(trace_ != nullptr && !trace_->opportunities.empty() && trace_->period() > Duration{},
        "OmniscientControl: needs a trace with a positive period");
}

TimePoint OmniscientControl::opportunity_after(TimePoint at) const {
  const Duration period = trace_->period();
  const Duration passed = at - kTimeZero;
  const Duration start = passed / period * period;
  const auto next = std::ranges::upper_bound(trace_->opportunities, passed - start, {},
                                             &sim::DeliveryOpportunity::at);
  return kTimeZero + start +
         (next != trace_->opportunities.end() ? next->at
                                              : period + trace_->opportunities.front().at);
}

OmniscientControl::Queue OmniscientControl::queue_at(TimePoint now) const {
  // All opportunities in which something waited were used fully except the last: the capacity gives
  // them. [from, to) of capacity is (at, now] here: times are whole nanoseconds.
  const DataSize drained = trace_->capacity(queue_.at + 1ns, now + 1ns);
  return {now, queue_.size - std::min(queue_.size, drained)};
}

void OmniscientControl::on_sent(TimePoint now, uint64_t /*sequence*/, DataSize payload) {
  queue_ = queue_at(now);
  queue_.size += payload + options_.datagram_overhead;
}

DataSize OmniscientControl::window(TimePoint now) const {
  const DataSize room = trace_->capacity(now + 1ns, now + options_.delay_target + 1ns);
  return room - std::min(room, queue_at(now).size);
}

DataSize OmniscientControl::outstanding(TimePoint now) const { return queue_at(now).size; }

DataSize OmniscientControl::message_overhead() const {
  return options_.datagram_overhead + kMessageFraming;
}

DataSize OmniscientControl::forecast_total() const {
  return trace_->capacity(queue_.at, queue_.at + kPromise);
}

std::optional<DataRate> OmniscientControl::forecast_rate() const {
  return DataRate::from(forecast_total(), kPromise);
}

Duration OmniscientControl::heartbeat_interval(TimePoint now, Duration usual) const {
  return window(now) > DataSize{} ? usual
                                  : std::max(usual, next_change(now) + options_.delay_target - now);
}

TimePoint OmniscientControl::next_change(TimePoint now) const {
  return opportunity_after(now + options_.delay_target) - options_.delay_target;
}

}  // namespace cress::schemes
