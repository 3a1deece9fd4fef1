#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace cress {

/// Buffers of datagrams that have gone, for those that come: the allocator is slow with this size,
/// and a buffer that was just used is still in the processor's cache. Who has none to take from
/// asks the allocator. Threads: none inside; one owner, who outlives all that take and give.
class SpareBuffers {
 public:
  /// What is kept at most: buffers, and bytes of each.
  static constexpr size_t kKeptMax = 256;
  static constexpr size_t kSizeMax = 2048;

  /// Empty, with room for `size` bytes.
  std::vector<std::byte> take(size_t size) {
    std::vector<std::byte> buffer;
    if (!kept_.empty()) {
      buffer = std::move(kept_.back());
      kept_.pop_back();
    }
    buffer.reserve(size);
    return buffer;
  }
  void give(std::vector<std::byte> buffer) {
    if (kept_.size() < kKeptMax && buffer.capacity() > 0 && buffer.capacity() <= kSizeMax) {
      buffer.clear();
      kept_.push_back(std::move(buffer));
    }
  }
  size_t kept() const { return kept_.size(); }

 private:
  std::vector<std::vector<std::byte>> kept_;
};

/// Of whoever may have some to spare, or nobody.
inline std::vector<std::byte> take_buffer(SpareBuffers* spare, size_t size) {
  if (spare != nullptr) {
    return spare->take(size);
  }
  std::vector<std::byte> buffer;
  buffer.reserve(size);
  return buffer;
}
inline void give_buffer(SpareBuffers* spare, std::vector<std::byte> buffer) {
  if (spare != nullptr) {
    spare->give(std::move(buffer));
  }
}

}  // namespace cress
