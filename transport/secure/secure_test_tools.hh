#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/base/address.hh"

namespace cress::secure {

inline Address test_address(uint8_t last, uint16_t port = 5000) {
  Address address;
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, last, last};
  address.port = port;
  return address;
}

inline std::vector<std::byte> test_secret(uint8_t fill = 7) {
  return std::vector<std::byte>(16, std::byte{fill});
}

/// What an Endpoint would send: header with the low 32 bits of `sequence`, frames of `size` bytes.
inline std::vector<std::byte> plain_datagram(uint64_t sequence, size_t size = 100) {
  std::vector<std::byte> bytes(16 + size);
  bytes[0] = std::byte{0x10};
  for (size_t i = 0; i < 4; ++i) {
    bytes[4 + i] = static_cast<std::byte>((sequence >> (8 * (3 - i))) & 255U);
  }
  for (size_t i = 16; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((sequence + i) & 255U);
  }
  return bytes;
}

}  // namespace cress::secure
