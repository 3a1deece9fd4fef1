#include "eval/schemes/cress/omniscient.hh"

#include <utility>

#include "transport/base/check.hh"
#include "transport/sim/datagram.hh"

namespace cress::schemes {

OmniscientSender::OmniscientSender(std::shared_ptr<const sim::DeliveryTrace> trace)
    : trace_(std::move(trace)) {
  check(trace_ != nullptr && !trace_->opportunities.empty() && trace_->period() > Duration{},
        "OmniscientSender: needs a trace with a positive period");
}

TimePoint OmniscientSender::poll_timeout() const {
  return kTimeZero + period_start_ + trace_->opportunities[opportunity_].at;
}

std::optional<Transmit> OmniscientSender::poll_transmit(TimePoint now) {
  if (now < poll_timeout()) {
    return std::nullopt;
  }
  if (++opportunity_ == trace_->opportunities.size()) {
    opportunity_ = 0;
    period_start_ += trace_->period();
  }
  const DataSize payload = sim::kOpportunitySize - sim::kUdpIpOverhead;
  return Transmit{.to = {}, .bytes = std::vector<std::byte>(static_cast<size_t>(payload.bytes()))};
}

void CountingReceiver::handle_datagram(TimePoint /*now*/, const Address& /*from*/,
                                       std::span<const std::byte> bytes) {
  delivered_ += DataSize{static_cast<int64_t>(bytes.size())};
}

}  // namespace cress::schemes
