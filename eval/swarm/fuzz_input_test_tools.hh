#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::swarm {

/// The bytes of a fuzzer, one after the other, and after their end as many more as are asked for,
/// drawn from them: a short input is a whole attack too, and one changed byte another. Threads:
/// none inside; one owner.
class FuzzInput {
 public:
  explicit FuzzInput(std::span<const std::byte> bytes) : rest_(bytes), more_(seed_of(bytes)) {}

  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    for (; bytes > 0; --bytes) {
      value = value << 8U | next();
    }
    return value;
  }
  /// 0..bound-1; bound at most 65536.
  size_t below(size_t bound) { return static_cast<size_t>(number(bound > 256 ? 2 : 1)) % bound; }
  bool one_in(size_t cases) { return below(cases) == 0; }
  std::vector<std::byte> bytes(size_t most) {
    std::vector<std::byte> taken(below(most + 1));
    std::ranges::generate(taken, [this] { return static_cast<std::byte>(next()); });
    return taken;
  }

 private:
  static uint64_t seed_of(std::span<const std::byte> bytes) {
    uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
    for (const std::byte byte : bytes) {
      hash = (hash ^ std::to_integer<uint64_t>(byte)) * 1'099'511'628'211U;
    }
    return hash;
  }
  uint8_t next() {
    if (rest_.empty()) {
      return static_cast<uint8_t>(more_.next());
    }
    const auto byte = std::to_integer<uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return byte;
  }

  std::span<const std::byte> rest_;
  Rng more_;
};

}  // namespace cress::swarm
