#pragma once

#include <cstdint>

namespace cress {

/// The ECN field of an IP header (RFC 3168 §5; ECT(1) as in RFC 9331): whether a queue may mark the
/// datagram instead of dropping it, and whether one did.
enum class Ecn : uint8_t {
  kNotEct = 0,  ///< not ECN-capable: congestion is a drop
  kEct1 = 1,    ///< ECN-capable, of a scalable sender: L4S
  kEct0 = 2,    ///< ECN-capable
  kCe = 3,      ///< congestion experienced
};

}  // namespace cress
