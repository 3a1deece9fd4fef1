#include "eval/schemes/omniscient.hh"

#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {

OmniscientSender::OmniscientSender(std::shared_ptr<const sim::DeliveryTrace> trace)
    : trace_(std::move(trace)) {
  check(trace_ != nullptr && !trace_->opportunities.empty() && trace_->period() > Duration{},
        "OmniscientSender: needs a trace with a positive period");
}

TimePoint OmniscientSender::poll_timeout() const {
  return kTimeZero + period_start_ + trace_->opportunities[opportunity_].at;
}

std::optional<sim::Datagram> OmniscientSender::poll_transmit(TimePoint now) {
  if (now < poll_timeout()) {
    return std::nullopt;
  }
  if (++opportunity_ == trace_->opportunities.size()) {
    opportunity_ = 0;
    period_start_ += trace_->period();
  }
  const DataSize payload = sim::kOpportunitySize - sim::kUdpIpOverhead;
  return sim::Datagram{std::vector<std::byte>(static_cast<size_t>(payload.bytes())),
                       sim::kOpportunitySize};
}

void CountingReceiver::handle_datagram(TimePoint /*now*/, const sim::Datagram& datagram) {
  delivered_ += DataSize{static_cast<int64_t>(datagram.bytes.size())};
}

}  // namespace cress::schemes
