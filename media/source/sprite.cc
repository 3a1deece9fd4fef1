#include "media/source/sprite.hh"

#include <algorithm>
#include <cmath>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

struct Weights {
  // Weights of the four neighbours; their sum is 256, so that sums of products fit 16 bits.
  uint16_t here, right, below, diagonal;
};

Weights weights_of(int x16, int y16) {
  const int right = x16 & (kSubpixels - 1);
  const int below = y16 & (kSubpixels - 1);
  const auto product = [](int a, int b) { return static_cast<uint16_t>(a * b); };
  return {product(kSubpixels - right, kSubpixels - below), product(right, kSubpixels - below),
          product(kSubpixels - right, below), product(right, below)};
}

uint16_t blend(const uint8_t* top, const uint8_t* bottom, int i, const Weights& w) {
  return static_cast<uint16_t>((top[i] * w.here + top[i + 1] * w.right + bottom[i] * w.below +
                                bottom[i + 1] * w.diagonal + 128) >>
                               8);
}

struct Rows {
  const uint8_t* top;
  const uint8_t* bottom;
};

void draw_row(uint8_t* to, Rows colour, Rows alpha, int count, const Weights w) {
  for (int i = 0; i < count; ++i) {
    const unsigned c = blend(colour.top, colour.bottom, i, w);
    const unsigned a = blend(alpha.top, alpha.bottom, i, w);
    const unsigned rest = to[i] * (256U - a - (a >> 7U)) >> 8U;
    to[i] = static_cast<uint8_t>(std::min(255U, c + rest));
  }
}

uint8_t to_byte(double value) {
  return static_cast<uint8_t>(std::floor(std::clamp(value, 0.0, 255.0) + 0.5));
}

void fill_plane(uint8_t* to, int width, int height, const Ellipse& e, double value) {
  const int left = std::max(0, static_cast<int>(e.x - e.radius_x) - 1);
  const int right = std::min(width - 1, static_cast<int>(e.x + e.radius_x) + 1);
  const int top = std::max(0, static_cast<int>(e.y - e.radius_y) - 1);
  const int bottom = std::min(height - 1, static_cast<int>(e.y + e.radius_y) + 1);
  for (int row = top; row <= bottom; ++row) {
    uint8_t* line = to + static_cast<ptrdiff_t>(row) * width;
    for (int column = left; column <= right; ++column) {
      const double alpha = ellipse_coverage(e, column, row);
      line[column] = to_byte(line[column] * (1.0 - alpha) + value * alpha);
    }
  }
}

}  // namespace

void Coverage::lay(const Colour& over, double over_alpha) {
  const double under = alpha * (1.0 - over_alpha);
  const double total = under + over_alpha;
  if (total <= 0) {
    return;
  }
  colour.y = (colour.y * under + over.y * over_alpha) / total;
  colour.u = (colour.u * under + over.u * over_alpha) / total;
  colour.v = (colour.v * under + over.v * over_alpha) / total;
  alpha = total;
}

Sprite::Sprite(int width, int height)
    : width_(width),
      height_(height),
      pixels_(static_cast<size_t>(width) * static_cast<size_t>(height)) {
  check(width > 0 && height > 0 && width % 2 == 0 && height % 2 == 0, "Sprite: odd size");
}

void Sprite::seal() {
  y_ = make_plane(1, &Colour::y);
  u_ = make_plane(2, &Colour::u);
  v_ = make_plane(2, &Colour::v);
  pixels_.clear();
  pixels_.shrink_to_fit();
}

Sprite::Plane Sprite::make_plane(int step, double Colour::*component) const {
  Plane plane{width_ / step + 2, height_ / step + 2, {}, {}};
  const size_t size = static_cast<size_t>(plane.width) * static_cast<size_t>(plane.height);
  plane.colour.assign(size, 0);
  plane.alpha.assign(size, 0);
  for (int row = 0; row < height_; row += step) {
    for (int column = 0; column < width_; column += step) {
      double colour = 0;
      double alpha = 0;
      for (int i = 0; i < step * step; ++i) {
        const Coverage& pixel =
            pixels_[static_cast<size_t>(row + i / step) * static_cast<size_t>(width_) +
                    static_cast<size_t>(column + i % step)];
        colour += pixel.colour.*component * pixel.alpha;
        alpha += pixel.alpha;
      }
      const size_t at = static_cast<size_t>(row / step + 1) * static_cast<size_t>(plane.width) +
                        static_cast<size_t>(column / step + 1);
      plane.colour[at] = to_byte(colour / (step * step));
      plane.alpha[at] = to_byte(255.0 * alpha / (step * step));
    }
  }
  return plane;
}

void Sprite::draw(Picture& picture, int x16, int y16) const {
  y_.draw(picture.y(), picture.width, picture.height, x16, y16);
  u_.draw(picture.u(), picture.chroma_width(), picture.chroma_height(), x16 >> 1, y16 >> 1);
  v_.draw(picture.v(), picture.chroma_width(), picture.chroma_height(), x16 >> 1, y16 >> 1);
}

void Sprite::Plane::draw(uint8_t* to, int to_width, int to_height, int x16, int y16) const {
  // Pixel i of a drawn row lies between columns i and i + 1 of the plane. The border's column 0 is
  // left of the corner; negating turns "moved right by f" into "read f further left".
  const int x_whole = -((-x16) >> 4) - 1;
  const int y_whole = -((-y16) >> 4) - 1;
  const Weights w = weights_of(-x16, -y16);
  const int first = std::max(0, -x_whole);
  const int count = std::min(width - 1, to_width - x_whole) - first;
  if (count <= 0) {
    return;
  }
  for (int row = std::max(0, -y_whole); row < std::min(height - 1, to_height - y_whole); ++row) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(row) * width + first;
    uint8_t* line = to + static_cast<ptrdiff_t>(y_whole + row) * to_width + x_whole + first;
    draw_row(line, {colour.data() + at, colour.data() + at + width},
             {alpha.data() + at, alpha.data() + at + width}, count, w);
  }
}

double ellipse_coverage(const Ellipse& e, double x, double y, double softness) {
  const double dx = (x - e.x) / e.radius_x;
  const double dy = (y - e.y) / e.radius_y;
  const double outside = (std::sqrt(dx * dx + dy * dy) - 1.0) * std::min(e.radius_x, e.radius_y);
  return std::clamp(0.5 - outside / softness, 0.0, 1.0);
}

void fill_ellipse(Picture& picture, const Ellipse& ellipse, const Colour& colour) {
  fill_plane(picture.y(), picture.width, picture.height, ellipse, colour.y);
  const Ellipse half{ellipse.x / 2 - 0.25, ellipse.y / 2 - 0.25, ellipse.radius_x / 2,
                     ellipse.radius_y / 2};
  fill_plane(picture.u(), picture.chroma_width(), picture.chroma_height(), half, colour.u);
  fill_plane(picture.v(), picture.chroma_width(), picture.chroma_height(), half, colour.v);
}

}  // namespace cress::media
