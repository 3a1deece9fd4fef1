#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::sim {

/// What travels over a link. `bytes` is the UDP payload (or, for a modelled TCP, its header);
/// `wire_size` is what the link is charged: the size of the whole IP packet.
struct Datagram {
  std::vector<std::byte> bytes;
  DataSize wire_size;
};

/// IPv4 (20) and UDP (8) headers around a datagram's payload.
inline constexpr DataSize kUdpIpOverhead{28};

/// One end of a simulated path: the sans-IO shape that every machine here has. After each handle_*
/// the world polls `poll_transmit` until it is empty, then waits for `poll_timeout`.
/// `now` never goes back between calls.
class Host {
 public:
  virtual ~Host() = default;
  virtual void handle_datagram(TimePoint now, const Datagram& datagram) = 0;
  virtual void handle_timeout(TimePoint now) = 0;
  virtual std::optional<Datagram> poll_transmit(TimePoint now) = 0;
  /// When handle_timeout is wanted next; kNever for "only when a datagram arrives".
  virtual TimePoint poll_timeout() const = 0;
};

}  // namespace cress::sim
