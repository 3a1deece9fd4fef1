#include "eval/schemes/cress/tunnel_scheme.hh"

#include <algorithm>
#include <cstring>
#include <utility>

#include "eval/schemes/cress/sprout_flow.hh"
#include "transport/base/check.hh"
#include "transport/sim/datagram.hh"
#include "transport/wire/datagram.hh"

namespace cress::schemes {
namespace {

// A packet: IPv4 and UDP headers, as far as a tunnel reads them; its send time (8 bytes), the
// program's wire size and its number of bytes (2 each); those bytes.
constexpr size_t kPortAt = 20;
constexpr size_t kSentAt = 28;
constexpr size_t kSizeAt = 36;
constexpr size_t kLengthAt = 38;
constexpr size_t kBytesAt = 40;
constexpr size_t kPacketMax = 65'535;

void put_word(std::vector<std::byte>& packet, size_t at, size_t value) {
  packet[at] = static_cast<std::byte>(value >> 8U);
  packet[at + 1] = static_cast<std::byte>(value & 0xffU);
}

size_t word_at(std::span<const std::byte> packet, size_t at) {
  return std::to_integer<size_t>(packet[at]) << 8U | std::to_integer<size_t>(packet[at + 1]);
}

std::vector<std::byte> wrap(TimePoint now, size_t flow, const sim::Datagram& datagram) {
  const auto wire_size = narrow<size_t>(datagram.wire_size.bytes());
  const size_t size = std::max(wire_size, kBytesAt + datagram.bytes.size());
  check(size <= kPacketMax, "CarriedFlows: a datagram beyond IP");
  std::vector<std::byte> packet(size);
  constexpr std::byte kIpv4{0x45};
  constexpr std::byte kUdp{17};
  packet[0] = kIpv4;
  put_word(packet, 2, size);
  packet[9] = kUdp;
  packet[12] = packet[16] = std::byte{10};
  put_word(packet, kPortAt, flow + 1);
  const int64_t sent = now.time_since_epoch().count();
  std::memcpy(&packet[kSentAt], &sent, sizeof sent);
  put_word(packet, kSizeAt, wire_size);
  put_word(packet, kLengthAt, datagram.bytes.size());
  std::ranges::copy(datagram.bytes, packet.begin() + kBytesAt);
  return packet;
}

}  // namespace

CarriedFlows::CarriedFlows(std::vector<std::unique_ptr<SchemeHost>> flows,
                           std::unique_ptr<tunnel::Tunnel> tunnel)
    : flows_(std::move(flows)), tunnel_(std::move(tunnel)), arrivals_(flows_.size()) {
  constexpr size_t kFlowsMax = 255;
  check(!flows_.empty() && flows_.size() <= kFlowsMax, "CarriedFlows: no flows, or too many");
}

void CarriedFlows::handle_datagram(TimePoint now, const Address& /*from*/,
                                   std::span<const std::byte> bytes) {
  if (!tunnel_) {
    take(now, bytes, std::nullopt);
    return;
  }
  (void)tunnel_->handle_datagram(now, bytes);  // the endpoint counts bad ones itself
  while (const auto packet = tunnel_->poll_packet()) {
    take(now, *packet, DataSize{static_cast<int64_t>(packet->size())});
  }
}

/// An invalid packet is dropped. `size`: the size that the link carried; the program's own if
/// unknown.
void CarriedFlows::take(TimePoint now, std::span<const std::byte> packet,
                        std::optional<DataSize> size) {
  if (packet.size() < kBytesAt || packet.size() < kBytesAt + word_at(packet, kLengthAt) ||
      word_at(packet, kPortAt) - 1 >= flows_.size()) {
    return;
  }
  const size_t flow = word_at(packet, kPortAt) - 1;
  int64_t sent = 0;
  std::memcpy(&sent, &packet[kSentAt], sizeof sent);
  const DataSize own{static_cast<int64_t>(word_at(packet, kSizeAt))};
  arrivals_[flow].push_back({kTimeZero + Duration{sent}, now, size.value_or(own)});
  const auto bytes = packet.subspan(kBytesAt, word_at(packet, kLengthAt));
  flows_[flow]->handle_datagram(now, {}, bytes);
}

void CarriedFlows::handle_timeout(TimePoint now) {
  for (const auto& flow : flows_) {
    if (flow->poll_timeout() <= now) {
      flow->handle_timeout(now);
    }
  }
  if (tunnel_ && tunnel_->poll_timeout() <= now) {
    tunnel_->handle_timeout(now);
  }
}

std::optional<Transmit> CarriedFlows::poll_transmit(TimePoint now) {
  for (size_t flow = 0; flow < flows_.size(); ++flow) {
    while (auto transmit = flows_[flow]->poll_transmit(now)) {
      const sim::Datagram datagram = sim::datagram_of(*std::move(transmit), {});
      auto packet = wrap(now, flow, datagram);
      if (!tunnel_) {
        return Transmit{.to = {}, .bytes = std::move(packet), .wire_size = datagram.wire_size};
      }
      tunnel_->send(now, packet);
    }
  }
  auto bytes = tunnel_ ? tunnel_->poll_transmit(now) : std::nullopt;
  if (!bytes) {
    return std::nullopt;
  }
  const DataSize size{static_cast<int64_t>(bytes->size())};
  return Transmit{.to = {},
                  .bytes = *std::move(bytes),
                  .wire_size = size + wire::kTagSize + sim::kUdpIpOverhead};
}

TimePoint CarriedFlows::poll_timeout() const {
  TimePoint next = tunnel_ ? tunnel_->poll_timeout() : kNever;
  for (const auto& flow : flows_) {
    next = std::min(next, flow->poll_timeout());
  }
  return next;
}

DataSize CarriedFlows::delivered() const {
  DataSize sum;
  for (const auto& flow : flows_) {
    sum += flow->delivered();
  }
  return sum;
}

HostSample CarriedFlows::sample(TimePoint now) const {
  return tunnel_ ? sample_of(tunnel_->endpoint(), now) : flows_.front()->sample(now);
}

}  // namespace cress::schemes
