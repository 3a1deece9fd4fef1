#pragma once

#include <cstddef>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/units.hh"

namespace cress::sim {

/// IPv4 (20) and UDP (8) headers around a datagram's payload.
inline constexpr DataSize kUdpIpOverhead{28};

/// What travels over a link. `bytes` is the UDP payload (or, for a modelled TCP, its header);
/// `wire_size` is what it takes of the link's capacity: the size of the whole IP packet.
struct Datagram {
  std::vector<std::byte> bytes;
  DataSize wire_size;
  Address from{};
  Address to{};
  Ecn ecn = Ecn::kNotEct;
};

/// `transmit` as it leaves a host whose address is `from`.
inline Datagram datagram_of(Transmit transmit, const Address& from) {
  const DataSize size =
      transmit.wire_size != DataSize{}
          ? transmit.wire_size
          : DataSize{static_cast<int64_t>(transmit.bytes.size())} + kUdpIpOverhead;
  return {std::move(transmit.bytes), size, from, transmit.to, transmit.ecn};
}

}  // namespace cress::sim
