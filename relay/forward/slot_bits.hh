#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cress::relay {

// A set of slots of a room is a number with a bit for each (kLegsMax is 64).

constexpr uint64_t bit(size_t slot) { return uint64_t{1} << slot; }

/// Calls `act(slot)` for each bit set, the lowest first.
template <class Act>
void for_each_slot(uint64_t slots, Act act) {
  for (; slots != 0; slots &= slots - 1) {
    act(static_cast<size_t>(std::countr_zero(slots)));
  }
}

}  // namespace cress::relay
