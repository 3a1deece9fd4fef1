#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "transport/base/leak_check.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

/// Reading all of the memory is no business of a program with AddressSanitizer.
#ifdef CRESS_LEAK_CHECK
inline constexpr bool kMemoryCanBeSearched = false;
#else
inline constexpr bool kMemoryCanBeSearched = true;
#endif

/// A secret that is sought in this process's memory; kept masked, so as not to be found here.
class Needle {
 public:
  explicit Needle(std::span<const std::byte> secret) : masked_(secret.begin(), secret.end()) {
    for (std::byte& byte : masked_) {
      byte ^= kMask;
    }
  }
  /// The key that records are sealed with under this secret.
  static Needle record_key(const Secret& secret, size_t size = 16) {
    return Needle{expand(secret, "cress key").bytes().first(size)};
  }

  /// How often it is in what can be written, apart from stacks, which the next calls overwrite.
  size_t times_in_memory() const {
    size_t found = 0;
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
      uintptr_t from = 0;
      uintptr_t to = 0;
      if (line.find(" rw") == std::string::npos || line.find("[stack") != std::string::npos ||
          std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2) {
        continue;
      }
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives numbers
      found += times_in({reinterpret_cast<const std::byte*>(from), to - from});
    }
    return found;
  }

 private:
  static constexpr std::byte kMask{0xA5};

  size_t times_in(std::span<const std::byte> memory) const {
    size_t found = 0;
    const auto is_same = [](std::byte masked, std::byte clear) {
      return masked == (clear ^ kMask);
    };
    for (; memory.size() >= masked_.size(); memory = memory.subspan(1)) {
      found += std::equal(masked_.begin(), masked_.end(), memory.begin(), is_same) ? 1 : 0;
    }
    return found;
  }

  std::vector<std::byte> masked_;
};

}  // namespace cress::secure
