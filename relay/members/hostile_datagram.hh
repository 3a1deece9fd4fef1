#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::relay {

/// The next datagram, plain, as from its endpoint, of a member that sends what none may send: wrong
/// messages, frames that refer to anything, false reports. `frame_id` and `sequence` are its state.
std::vector<std::byte> hostile_datagram(Rng& rng, uint32_t& frame_id, uint64_t& sequence);

}  // namespace cress::relay
