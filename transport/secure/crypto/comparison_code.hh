#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "transport/base/big_endian.hh"

namespace cress::secure {

/// A secret or a hash as two people can compare it by voice: three groups of four digits, from its
/// first 8 bytes. 40 bits: who wants another one with the same digits has to find it while the two
/// are talking.
inline std::string comparison_code(std::span<const std::byte> bytes) {
  std::string digits = std::to_string(number_at(bytes, 0, 8) % 1'000'000'000'000);
  digits.insert(0, 12 - digits.size(), '0');
  return digits.substr(0, 4) + " " + digits.substr(4, 4) + " " + digits.substr(8);
}

}  // namespace cress::secure
