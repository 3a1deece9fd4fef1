#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "media/frame/picture.hh"

/// Drawing into an I420 picture: boxes, masks and other pictures. Parts outside are clipped. A
/// chroma sample covers 2 × 2 pixels and gets the mean colour of what covers those. Integers only:
/// the same bytes on every machine. Threads: pure functions.
namespace cress::film {

/// Y'CbCr, 8 bit, studio range.
struct Colour {
  uint8_t y = 16;
  uint8_t u = 128;
  uint8_t v = 128;
  friend bool operator==(Colour, Colour) = default;
};

/// From red, green and blue, 0..255 each, by ITU-R BT.601, VP8's default.
constexpr Colour from_rgb(int red, int green, int blue) {
  return {static_cast<uint8_t>(16 + ((66 * red + 129 * green + 25 * blue + 128) >> 8)),
          static_cast<uint8_t>(128 + ((-38 * red - 74 * green + 112 * blue + 128) >> 8)),
          static_cast<uint8_t>(128 + ((112 * red - 94 * green - 18 * blue + 128) >> 8))};
}

/// `share` (0..256) of `b`, the rest of `a`.
constexpr Colour mix(Colour a, Colour b, int share) {
  const auto part = [share](uint8_t from, uint8_t to) {
    return static_cast<uint8_t>((from * (256 - share) + to * share + 128) >> 8);
  };
  return {part(a.y, b.y), part(a.u, b.u), part(a.v, b.v)};
}

/// In luma pixels.
struct Box {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  int right() const { return x + width; }
  int bottom() const { return y + height; }
  bool is_empty() const { return width <= 0 || height <= 0; }
  friend bool operator==(Box, Box) = default;
};

/// How much of each pixel is covered, 0..255.
struct Mask {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> alpha;

  uint8_t at(int x, int y) const {
    return alpha[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
};

/// `alpha`: 255 covers, 0 has no effect.
void fill(media::Picture& canvas, const Box& box, Colour colour, uint8_t alpha = 255);
/// A mask's top left corner at (x, y).
void stamp(media::Picture& canvas, int x, int y, const Mask& mask, Colour colour);
/// `x`, `y`: even.
void place(media::Picture& canvas, int x, int y, const media::Picture& picture);
/// The even number nearest to length · numerator / denominator; all > 0.
int nearest_even(int length, int numerator, int denominator);
/// The largest box with the aspect ratio of a `width` × `height` picture, centred in `room` (even x
/// and y); all of the result is even, too.
Box fit(int width, int height, const Box& room);

}  // namespace cress::film
