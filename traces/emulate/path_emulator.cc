#include "traces/emulate/path_emulator.hh"

#include <algorithm>
#include <utility>
#include <vector>

namespace cress::traces {
namespace {

DataSize ip_size(size_t payload, const Address& peer) {
  return DataSize{static_cast<int64_t>(payload) + (peer.is_ipv4() ? 28 : 48)};
}

}  // namespace

PathEmulator::PathEmulator(TimePoint start, Options options)
    : start_(start),
      server_(options.server),
      forward_(std::move(options.forward)),
      reverse_(std::move(options.reverse)) {}

void PathEmulator::handle_datagram(TimePoint now, const Address& from,
                                   std::span<const std::byte> bytes) {
  const bool from_server = from == server_;
  if (!from_server) {
    client_ = from;
  }
  sim::Link& link = from_server ? reverse_ : forward_;
  link.push(link_time(now),
            {std::vector<std::byte>{bytes.begin(), bytes.end()}, ip_size(bytes.size(), from)});
}

void PathEmulator::handle_timeout(TimePoint now) {
  forward_.handle_timeout(link_time(now));
  reverse_.handle_timeout(link_time(now));
}

std::optional<Transmit> PathEmulator::poll_transmit(TimePoint now) {
  if (auto datagram = forward_.poll_delivered(link_time(now))) {
    return Transmit{server_, std::move(datagram->bytes)};
  }
  while (auto datagram = reverse_.poll_delivered(link_time(now))) {
    if (client_) {
      return Transmit{*client_, std::move(datagram->bytes)};
    }
  }
  return std::nullopt;
}

TimePoint PathEmulator::poll_timeout() const {
  const TimePoint next = std::min(forward_.poll_timeout(), reverse_.poll_timeout());
  return next == kNever ? kNever : start_ + (next - kTimeZero);
}

}  // namespace cress::traces
