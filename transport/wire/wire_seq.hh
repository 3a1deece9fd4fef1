#pragma once

#include <cstdint>

namespace cress::wire {

/// The low 32 bits of a byte sequence, as sent on the wire. It has no `<`; unwrap is the only
/// conversion to 64 bits.
class WireSeq {
 public:
  constexpr explicit WireSeq(uint32_t raw) : raw_(raw) {}
  static constexpr WireSeq wrap(uint64_t sequence) {
    return WireSeq{static_cast<uint32_t>(sequence)};
  }

  constexpr uint32_t raw() const { return raw_; }

  /// The 64-bit value with these low bits that is nearest to `checkpoint` (never negative).
  constexpr uint64_t unwrap(uint64_t checkpoint) const {
    constexpr uint64_t kSpan = uint64_t{1} << 32U;
    const uint64_t base = (checkpoint & ~(kSpan - 1)) | raw_;
    if (base + kSpan / 2 < checkpoint && base <= UINT64_MAX - kSpan) {
      return base + kSpan;
    }
    if (base > checkpoint && base - checkpoint > kSpan / 2 && base >= kSpan) {
      return base - kSpan;
    }
    return base;
  }

  friend constexpr bool operator==(WireSeq, WireSeq) = default;

 private:
  uint32_t raw_;
};

}  // namespace cress::wire
