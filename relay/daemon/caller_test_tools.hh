#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "relay/members/load_member.hh"
#include "transport/base/address.hh"
#include "transport/secure/handshake/credential.hh"

namespace cress::relay {

// Members of a RelayMachine with their connections. For tests and benchmarks.

inline Address address_of(uint32_t n) {
  Address address;
  address.ip = {0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0xff,
                0xff,
                10,
                1,
                static_cast<uint8_t>(n >> 8U),
                static_cast<uint8_t>(n)};
  address.port = 4000;
  return address;
}

inline secure::Secret access_of(uint8_t fill) {
  return secure::derive_room(std::vector<std::byte>(16, std::byte{fill})).access;
}

/// A member with its connection to the relay, which is at address_of(0).
struct Caller final : LoadMember {
  Caller(TimePoint now, uint32_t n, const secure::Secret& access, bool speaks, uint64_t chance)
      : LoadMember(now, {.access = access,
                         .relay = address_of(0),
                         .member = {.speaks = speaks},
                         .seed = chance}),
        address(address_of(n)),
        seed(chance) {}

  std::set<room::MemberNumber> seen() const {
    std::set<room::MemberNumber> numbers;
    for (const SeenFrame& frame : member()->shown()) {
      numbers.insert(frame.from);
    }
    return numbers;
  }

  Address address;
  uint64_t seed;
};

}  // namespace cress::relay
