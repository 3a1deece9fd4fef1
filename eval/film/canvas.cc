#include "eval/film/canvas.hh"

#include <algorithm>
#include <cstring>

#include "transport/base/check.hh"

namespace cress::film {
namespace {

using media::Picture;

uint8_t blend(uint8_t under, uint8_t over, unsigned alpha) {
  return static_cast<uint8_t>((under * (255U - alpha) + over * alpha + 127U) / 255U);
}

Box cut(const Box& box, const Picture& canvas) {
  Box inside{std::max(box.x, 0), std::max(box.y, 0), 0, 0};
  inside.width = std::min(box.right(), canvas.width) - inside.x;
  inside.height = std::min(box.bottom(), canvas.height) - inside.y;
  return inside;
}

// `alpha_at(x, y)`: of a luma pixel in `box`.
template <class Alpha>
void lay(Picture& canvas, const Box& asked, Colour colour, Alpha alpha_at) {
  const Box box = cut(asked, canvas);
  if (box.is_empty()) {
    return;
  }
  for (int y = box.y; y < box.bottom(); ++y) {
    uint8_t* row = canvas.y() + static_cast<ptrdiff_t>(y) * canvas.width;
    for (int x = box.x; x < box.right(); ++x) {
      row[x] = blend(row[x], colour.y, alpha_at(x, y));
    }
  }
  const auto alpha_or_none = [&](int x, int y) -> unsigned {
    const bool inside = x >= box.x && x < box.right() && y >= box.y && y < box.bottom();
    return inside ? alpha_at(x, y) : 0U;
  };
  for (int y = box.y / 2; y < (box.bottom() + 1) / 2; ++y) {
    const ptrdiff_t row = static_cast<ptrdiff_t>(y) * canvas.chroma_width();
    for (int x = box.x / 2; x < (box.right() + 1) / 2; ++x) {
      const unsigned sum = alpha_or_none(2 * x, 2 * y) + alpha_or_none(2 * x + 1, 2 * y) +
                           alpha_or_none(2 * x, 2 * y + 1) + alpha_or_none(2 * x + 1, 2 * y + 1);
      const unsigned alpha = (sum + 2) / 4;
      canvas.u()[row + x] = blend(canvas.u()[row + x], colour.u, alpha);
      canvas.v()[row + x] = blend(canvas.v()[row + x], colour.v, alpha);
    }
  }
}

struct PlaneSize {
  int width = 0;
  int height = 0;
};

void place_plane(uint8_t* to, PlaneSize to_size, int x, int y, const uint8_t* from,
                 PlaneSize from_size) {
  const int begin_x = std::max(x, 0);
  const int end_x = std::min(x + from_size.width, to_size.width);
  const int end_y = std::min(y + from_size.height, to_size.height);
  if (end_x <= begin_x) {
    return;
  }
  for (int row = std::max(y, 0); row < end_y; ++row) {
    std::memcpy(to + static_cast<ptrdiff_t>(row) * to_size.width + begin_x,
                from + static_cast<ptrdiff_t>(row - y) * from_size.width + (begin_x - x),
                static_cast<size_t>(end_x - begin_x));
  }
}

}  // namespace

void fill(Picture& canvas, const Box& box, Colour colour, uint8_t alpha) {
  lay(canvas, box, colour, [alpha](int, int) -> unsigned { return alpha; });
}

void stamp(Picture& canvas, int x, int y, const Mask& mask, Colour colour) {
  lay(canvas, {x, y, mask.width, mask.height}, colour,
      [&mask, x, y](int at_x, int at_y) -> unsigned { return mask.at(at_x - x, at_y - y); });
}

void place(Picture& canvas, int x, int y, const Picture& picture) {
  check(x % 2 == 0 && y % 2 == 0, "place: an odd place");
  place_plane(canvas.y(), {canvas.width, canvas.height}, x, y, picture.y(),
              {picture.width, picture.height});
  const PlaneSize to{canvas.chroma_width(), canvas.chroma_height()};
  const PlaneSize from{picture.chroma_width(), picture.chroma_height()};
  place_plane(canvas.u(), to, x / 2, y / 2, picture.u(), from);
  place_plane(canvas.v(), to, x / 2, y / 2, picture.v(), from);
}

int nearest_even(int length, int numerator, int denominator) {
  const int64_t product = static_cast<int64_t>(length) * numerator;
  return narrow<int>((product + denominator) / (int64_t{2} * denominator) * 2);
}

Box fit(int width, int height, const Box& room) {
  check(width > 0 && height > 0 && room.width >= 2 && room.height >= 2, "fit: nothing to fit");
  check(room.x % 2 == 0 && room.y % 2 == 0, "fit: an odd place");
  Box box{room.x, room.y, room.width & ~1, room.height & ~1};
  if (static_cast<int64_t>(width) * room.height > static_cast<int64_t>(height) * room.width) {
    box.height = std::clamp(nearest_even(room.width, height, width), 2, box.height);
  } else {
    box.width = std::clamp(nearest_even(room.height, width, height), 2, box.width);
  }
  box.x += (room.width - box.width) / 4 * 2;
  box.y += (room.height - box.height) / 4 * 2;
  return box;
}

}  // namespace cress::film
