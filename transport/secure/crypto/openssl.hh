#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace cress::secure {

// OpenSSL takes bytes as unsigned char.
inline const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* raw_out(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

inline void require(bool condition, const char* what) {
  if (!condition) {
    throw std::runtime_error(std::string{"OpenSSL cannot "} + what +
                             ": is this a build of it without that?");
  }
}

}  // namespace cress::secure
