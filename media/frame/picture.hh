#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cress::media {

inline constexpr int kPictureSideMax = 16'383;  // VP8: 14 bits (RFC 6386 §9.1)

/// An uncompressed picture, I420: planes Y (width × height), then U and V (each half, rounded up),
/// rows without padding. Shape invariants hold for every Picture made by `make_picture`.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> data;

  int chroma_width() const { return (width + 1) / 2; }
  int chroma_height() const { return (height + 1) / 2; }
  size_t luma_size() const { return static_cast<size_t>(width) * static_cast<size_t>(height); }
  size_t chroma_size() const {
    return static_cast<size_t>(chroma_width()) * static_cast<size_t>(chroma_height());
  }
  uint8_t* y() { return data.data(); }
  uint8_t* u() { return data.data() + luma_size(); }
  uint8_t* v() { return data.data() + luma_size() + chroma_size(); }
  const uint8_t* y() const { return data.data(); }
  const uint8_t* u() const { return data.data() + luma_size(); }
  const uint8_t* v() const { return data.data() + luma_size() + chroma_size(); }

  friend bool operator==(const Picture&, const Picture&) = default;
};

/// Shared, because one decoded picture of a looping clip is encoded, displayed and scored by
/// several parts at different times; it is immutable.
using PicturePtr = std::shared_ptr<const Picture>;

/// A grey picture. `width`, `height` in 1..kPictureSideMax.
Picture make_picture(int width, int height);

}  // namespace cress::media
