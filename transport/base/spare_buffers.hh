#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace cress {

/// Reuses the buffers of sent datagrams for received ones: the allocator is slow for this size, and
/// a recently used buffer is still in the processor's cache. When none is spare, take() uses the
/// allocator. Threads: none inside; one owner, which outlives all users.
class SpareBuffers {
 public:
  /// At most this many buffers are kept,
  static constexpr size_t kKeptMax = 256;
  /// each with at most this capacity in bytes; a larger one is freed.
  static constexpr size_t kSizeMax = 2048;

  /// An empty buffer with capacity for `size` bytes.
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

/// A buffer from `spare`, or from the allocator if `spare` is null.
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
