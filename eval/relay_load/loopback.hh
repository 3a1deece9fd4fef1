#pragma once

#include "transport/base/address.hh"

namespace cress::relay_load {

/// On the loopback interface in a network (/24) of its own, with any port: nobody's neighbour.
inline Address loopback_of(int network) {
  Address address{.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
  address.ip[13] = static_cast<uint8_t>(1 + network / 256 % 32);
  address.ip[14] = static_cast<uint8_t>(network);
  return address;
}

}  // namespace cress::relay_load
