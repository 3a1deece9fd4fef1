#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/base/time.hh"

namespace cress::secure {

/// For fuzzers: the input is a finding unless this holds.
inline void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

/// Datagrams of strangers, read from a fuzzer's input, at most kStepsMax: a sequence of (1 byte: ms
/// until then, modulo 64; 1 byte: source and destination, whose meaning is the fuzzer's; 1 byte:
/// 255 to take the bytes as they are, otherwise which of the newest real datagrams they are XORed
/// into; 1 byte: length; that many bytes).
class Strangers {
 public:
  struct Step {
    Duration wait{};
    uint8_t route = 0;
    uint8_t base = 255;
    std::span<const std::byte> given;
  };

  Strangers(std::span<const uint8_t> input, size_t seen_max) : rest_(input), seen_max_(seen_max) {}

  /// A real datagram. The newest `seen_max` are kept.
  void see(std::vector<std::byte> bytes) {
    seen_.push_back(std::move(bytes));
    if (seen_.size() > seen_max_) {
      seen_.pop_front();
    }
  }
  std::optional<Step> next() {
    constexpr size_t kHead = 4;
    if (rest_.size() < kHead || steps_ == kStepsMax) {
      return std::nullopt;
    }
    ++steps_;
    const size_t length = std::min<size_t>(rest_[3], rest_.size() - kHead);
    const Step step{std::chrono::milliseconds{rest_[0] % 64}, rest_[1], rest_[2],
                    std::as_bytes(rest_.subspan(kHead, length))};
    rest_ = rest_.subspan(kHead + length);
    return step;
  }
  /// The step's datagram, from what was seen until now.
  std::vector<std::byte> datagram(const Step& step) const {
    std::vector<std::byte> bytes{step.given.begin(), step.given.end()};
    if (step.base != 255 && !seen_.empty()) {
      bytes = seen_[step.base % seen_.size()];
      for (size_t i = 0; i < std::min(bytes.size(), step.given.size()); ++i) {
        bytes[i] ^= step.given[i];
      }
    }
    return bytes;
  }

 private:
  static constexpr int kStepsMax = 64;

  std::span<const uint8_t> rest_;
  size_t seen_max_;
  std::deque<std::vector<std::byte>> seen_;
  int steps_ = 0;
};

}  // namespace cress::secure
