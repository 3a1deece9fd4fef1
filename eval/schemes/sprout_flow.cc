#include "eval/schemes/sprout_flow.hh"

#include <algorithm>
#include <utility>

namespace cress::schemes {

SproutFlow::SproutFlow(TimePoint start, SproutFlowOptions options,
                       std::unique_ptr<sprout::Forecaster> forecaster)
    : options_(options), endpoint_(start, options.endpoint, std::move(forecaster)), now_(start) {
  endpoint_.open_flow(session::kBulkFlow,
                      {.priority = session::Priority::kBulk, .report_outcomes = false});
}

void SproutFlow::handle_datagram(TimePoint now, const sim::Datagram& datagram) {
  now_ = now;
  (void)endpoint_.handle_datagram(now, datagram.bytes);  // the endpoint counts bad ones itself
  while (const auto message = endpoint_.poll_message()) {
    delivered_ += DataSize{static_cast<int64_t>(message->bytes.size())};
  }
}

void SproutFlow::handle_timeout(TimePoint now) {
  now_ = now;
  endpoint_.handle_timeout(now);
}

void SproutFlow::fill_window(TimePoint now) {
  DataSize rest = endpoint_.available_window(now);
  while (rest > DataSize{}) {
    const DataSize size = std::min(rest, options_.packet_size);
    endpoint_.send(now, session::kBulkFlow,
                   std::vector<std::byte>(static_cast<size_t>(size.bytes())));
    rest -= size;
  }
}

std::optional<sim::Datagram> SproutFlow::poll_transmit(TimePoint now) {
  if (options_.sends_data) {
    fill_window(now);
  }
  auto bytes = endpoint_.poll_transmit(now);
  if (!bytes) {
    return std::nullopt;
  }
  const DataSize size{static_cast<int64_t>(bytes->size())};
  return sim::Datagram{*std::move(bytes), size + sim::kUdpIpOverhead};
}

TimePoint SproutFlow::poll_timeout() const {
  const TimePoint window_grows =
      options_.sends_data ? endpoint_.send_window().next_change(now_) : kNever;
  return std::min(endpoint_.poll_timeout(), window_grows);
}

}  // namespace cress::schemes
