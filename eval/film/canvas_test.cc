#include "eval/film/canvas.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "transport/base/rng.hh"

namespace cress::film {
namespace {

using media::make_picture;
using media::Picture;

TEST(Canvas, ColoursAreStudioRangeBt601) {
  EXPECT_EQ(from_rgb(0, 0, 0), (Colour{16, 128, 128}));
  EXPECT_EQ(from_rgb(255, 255, 255), (Colour{235, 128, 128}));
  EXPECT_EQ(from_rgb(255, 0, 0), (Colour{82, 90, 240}));
  EXPECT_EQ(mix({10, 20, 30}, {20, 40, 60}, 0), (Colour{10, 20, 30}));
  EXPECT_EQ(mix({10, 20, 30}, {20, 40, 60}, 256), (Colour{20, 40, 60}));
  EXPECT_EQ(mix({10, 20, 30}, {20, 40, 60}, 128), (Colour{15, 30, 45}));
}

TEST(Canvas, ABoxWithoutWidthOrHeightIsEmpty) {
  EXPECT_TRUE((Box{1, 1, 0, 2}).is_empty());
  EXPECT_TRUE((Box{1, 1, 2, 0}).is_empty());
  EXPECT_FALSE((Box{1, 1, 1, 1}).is_empty());
}

TEST(Canvas, BoxColoursItsPixelsAndChromaByCoverage) {
  Picture canvas = make_picture(8, 6);
  fill(canvas, {0, 0, 8, 6}, {50, 100, 200});
  fill(canvas, {1, 2, 2, 2}, {150, 180, 40});
  int coloured = 0;
  for (size_t i = 0; i < canvas.luma_size(); ++i) {
    coloured += canvas.y()[i] == 150 ? 1 : 0;
  }
  EXPECT_EQ(coloured, 4);
  EXPECT_EQ(canvas.y()[2 * 8 + 1], 150);
  // Its two columns are in two chroma samples, of which it covers half each.
  EXPECT_EQ(canvas.u()[4 + 0], 140);
  EXPECT_EQ(canvas.u()[4 + 1], 140);
  EXPECT_EQ(canvas.v()[4 + 1], 120);
  EXPECT_EQ(canvas.u()[4 + 2], 100);
  EXPECT_EQ(canvas.u()[0], 100);
}

TEST(Canvas, HalfAnAlphaIsHalfTheColour) {
  Picture canvas = make_picture(4, 4);
  fill(canvas, {0, 0, 4, 4}, {100, 100, 100});
  fill(canvas, {0, 0, 4, 4}, {200, 50, 150}, 128);
  EXPECT_NEAR(canvas.y()[5], 150, 1);
  EXPECT_NEAR(canvas.u()[1], 75, 1);
  EXPECT_NEAR(canvas.v()[1], 125, 1);
}

TEST(Canvas, PartsOutsideAreClipped) {
  Picture canvas = make_picture(7, 5);
  Picture small = make_picture(5, 5);
  std::fill(small.data.begin(), small.data.end(), uint8_t{77});
  const Mask mask{3, 3, std::vector<uint8_t>(9, 255)};
  for (int y = -8; y <= 8; y += 2) {
    for (int x = -8; x <= 8; x += 2) {
      fill(canvas, {x, y, 5, 5}, {1, 2, 3});
      place(canvas, x, y, small);
      stamp(canvas, x + 1, y + 1, mask, {4, 5, 6});
    }
  }
  canvas = make_picture(7, 5);
  place(canvas, -2, 2, small);
  EXPECT_EQ(canvas.y()[2 * 7 + 2], 77);
  EXPECT_NE(canvas.y()[2 * 7 + 3], 77);
  EXPECT_NE(canvas.y()[1 * 7 + 2], 77);
}

TEST(Canvas, AFittedBoxIsEvenInsideAndOfThePicturesShape) {
  Rng rng{7};
  for (int i = 0; i < 2000; ++i) {
    const int width = 1 + static_cast<int>(rng.below(2000));
    const int height = 1 + static_cast<int>(rng.below(2000));
    const Box room{2 * static_cast<int>(rng.below(50)), 2 * static_cast<int>(rng.below(50)),
                   2 + static_cast<int>(rng.below(900)), 2 + static_cast<int>(rng.below(900))};
    const Box box = fit(width, height, room);
    EXPECT_EQ((box.x | box.y | box.width | box.height) & 1, 0);
    EXPECT_GE(box.x, room.x);
    EXPECT_GE(box.y, room.y);
    EXPECT_LE(box.right(), room.right());
    EXPECT_LE(box.bottom(), room.bottom());
    EXPECT_TRUE(box.width > room.width - 2 || box.height > room.height - 2) << "as large as can be";
    // Either side is the requested one, except for rounding to even pixels.
    const double shape = static_cast<double>(width) / height;
    EXPECT_LE(std::min(std::abs(box.width - box.height * shape),
                       std::abs(box.height - box.width / shape)),
              3.0)
        << width << "x" << height << " in " << room.width << "x" << room.height;
  }
}

}  // namespace
}  // namespace cress::film
