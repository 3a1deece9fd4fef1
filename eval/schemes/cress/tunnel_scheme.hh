#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eval/schemes/host/scheme_host.hh"
#include "relay/tunnel/tunnel.hh"

namespace cress::schemes {

/// A carried datagram's times from program to program, and its size as an IP packet.
struct CarriedDatagram {
  TimePoint sent{};
  TimePoint arrived{};
  DataSize size{};
};

/// One end of several flows that share a path: the programs of any other schemes, side by side
/// directly or through a tunnel (paper §5.7). The other end has their peers, in the same order.
/// Through a tunnel each datagram becomes an IPv4 packet of its size from a port of its flow, or of
/// the model's own bytes plus 40 if that is more: a bare acknowledgement of TCP counts about 80
/// bytes instead of 52, a datagram of a call 12 more than its size. Threads: none inside; one
/// owner.
class CarriedFlows final : public SchemeHost {
 public:
  /// At most 255 flows. Without a tunnel: side by side.
  CarriedFlows(std::vector<std::unique_ptr<SchemeHost>> flows,
               std::unique_ptr<tunnel::Tunnel> tunnel);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  /// Of all flows together.
  DataSize delivered() const override;
  HostSample sample(TimePoint now) const override;

  const SchemeHost& flow(size_t index) const { return *flows_.at(index); }
  SchemeHost& flow(size_t index) { return *flows_.at(index); }
  /// The arrivals of that flow here, in order.
  std::span<const CarriedDatagram> arrivals(size_t index) const { return arrivals_.at(index); }
  const tunnel::Tunnel* tunnel() const { return tunnel_.get(); }

 private:
  void take(TimePoint now, std::span<const std::byte> packet, std::optional<DataSize> size);

  std::vector<std::unique_ptr<SchemeHost>> flows_;
  std::unique_ptr<tunnel::Tunnel> tunnel_;
  std::vector<std::vector<CarriedDatagram>> arrivals_;
};

}  // namespace cress::schemes
