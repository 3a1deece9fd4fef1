#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cress {

/// Numbers in network byte order: the most significant byte first, `size` bytes of 1 to 8. A value
/// that does not fit into `size` bytes is truncated. The caller has checked that `bytes` is long
/// enough.
inline void put_number(std::span<std::byte> bytes, size_t offset, size_t size, uint64_t value) {
  for (size_t i = 0; i < size; ++i) {
    bytes[offset + i] = static_cast<std::byte>(value >> (8 * (size - 1 - i)));
  }
}

inline void append_number(uint64_t value, size_t size, std::vector<std::byte>& out) {
  for (size_t i = size; i-- > 0;) {
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

inline uint64_t number_at(std::span<const std::byte> bytes, size_t offset, size_t size) {
  uint64_t value = 0;
  for (const std::byte byte : bytes.subspan(offset, size)) {
    value = (value << 8U) | std::to_integer<uint64_t>(byte);
  }
  return value;
}

}  // namespace cress
