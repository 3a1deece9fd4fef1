#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "media/frame/picture.hh"

namespace cress::media {

/// A colour in Y'CbCr, 8 bit.
struct Colour {
  double y = 128;
  double u = 128;
  double v = 128;
};

/// A colour and the share (0..1) of the pixel that it covers.
struct Coverage {
  Colour colour;
  double alpha = 0;

  /// Composites `over` on top.
  void lay(const Colour& over, double over_alpha);
};

/// Positions in a picture are counted in sixteenths of a luma pixel.
inline constexpr int kSubpixels = 16;

/// A picture with transparency that can be drawn at subpixel positions. Shape: planes hold colour
/// times alpha; each has a transparent border of one pixel all around, so that drawing may read one
/// pixel further.
class Sprite {
 public:
  /// `width`, `height`: even, in luma pixels.
  Sprite(int width, int height);

  void set(int x, int y, const Coverage& pixel) {
    pixels_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)] = pixel;
  }
  /// Computes the planes from the pixels set before; call once, before drawing.
  void seal();
  /// Draws with the top left corner at (x16, y16), in sixteenths; parts outside the picture are
  /// clipped.
  void draw(Picture& picture, int x16, int y16) const;

 private:
  struct Plane {
    int width = 0;
    int height = 0;
    std::vector<uint8_t> colour;
    std::vector<uint8_t> alpha;
    void draw(uint8_t* to, int to_width, int to_height, int x16, int y16) const;
  };
  Plane make_plane(int step, double Colour::*component) const;

  int width_;
  int height_;
  std::vector<Coverage> pixels_;
  Plane y_;
  Plane u_;
  Plane v_;
};

/// Centre and radii in luma pixels.
struct Ellipse {
  double x = 0;
  double y = 0;
  double radius_x = 1;
  double radius_y = 1;
};
/// Fills `ellipse`, with soft edges, directly into `picture`.
void fill_ellipse(Picture& picture, const Ellipse& ellipse, const Colour& colour);

/// The share of the pixel at (x, y) that `ellipse` covers, its edge softened over `softness`
/// pixels.
double ellipse_coverage(const Ellipse& ellipse, double x, double y, double softness = 1.0);

}  // namespace cress::media
