#include "media/frame/scale_picture.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

Picture noise(int width, int height, uint64_t seed) {
  Picture picture = make_picture(width, height);
  Rng rng{seed};
  for (uint8_t& b : picture.data) {
    b = static_cast<uint8_t>(rng.next());
  }
  return picture;
}

// The slow twin: the mean of the covered area in floating point, pixel by pixel.
double area_mean(const Picture& from, int width, int height, int x, int y) {
  const double left = static_cast<double>(x) * from.width / width;
  const double right = static_cast<double>(x + 1) * from.width / width;
  const double top = static_cast<double>(y) * from.height / height;
  const double bottom = static_cast<double>(y + 1) * from.height / height;
  double sum = 0;
  for (int row = static_cast<int>(top); row < bottom && row < from.height; ++row) {
    for (int column = static_cast<int>(left); column < right && column < from.width; ++column) {
      const double area = (std::min(right, column + 1.0) - std::max<double>(left, column)) *
                          (std::min(bottom, row + 1.0) - std::max<double>(top, row));
      sum += area * from.y()[static_cast<ptrdiff_t>(row) * from.width + column];
    }
  }
  return sum / ((right - left) * (bottom - top));
}

TEST(ScalePicture, DownwardsEachPixelIsTheMeanOfItsArea) {
  Rng rng{4};
  for (int round = 0; round < 60; ++round) {
    const int from_width = 1 + static_cast<int>(rng.below(90));
    const int from_height = 1 + static_cast<int>(rng.below(90));
    const int width = 1 + static_cast<int>(rng.below(static_cast<uint64_t>(from_width)));
    const int height = 1 + static_cast<int>(rng.below(static_cast<uint64_t>(from_height)));
    const Picture from = noise(from_width, from_height, rng.next());
    const Picture to = scale_picture(from, width, height);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        // Weights of 8 bits, two axes: an error of up to 1/512 a tap.
        const int taps = from_width / width + from_height / height + 4;
        const double tolerance = 1.0 + 0.5 * taps;
        ASSERT_NEAR(to.y()[y * width + x], area_mean(from, width, height, x, y), tolerance)
            << from_width << " x " << from_height << " to " << width << " x " << height;
      }
    }
  }
}

TEST(ScalePicture, HalvesAreExactMeans) {
  const Picture from = noise(64, 48, 9);
  const Picture to = scale_picture(from, 32, 24);
  for (int y = 0; y < 24; ++y) {
    for (int x = 0; x < 32; ++x) {
      const uint8_t* at = from.y() + (2 * y * 64 + 2 * x);
      ASSERT_EQ(to.y()[y * 32 + x], (at[0] + at[1] + at[64] + at[65] + 2) / 4);
    }
  }
}

TEST(ScalePicture, WeightsAreRounded) {
  Picture from = make_picture(3, 1);
  std::copy_n(std::array<uint8_t, 3>{255, 0, 0}.begin(), 3, from.y());
  EXPECT_EQ(scale_picture(from, 2, 1).y()[0], 170) << "two thirds of 255";
}

TEST(ScalePicture, TheSameSizeIsTheSamePicture) {
  for (const auto& [width, height] : {std::pair{1, 1}, {33, 17}, {64, 48}}) {
    const Picture from = noise(width, height, 3);
    EXPECT_EQ(scale_picture(from, width, height), from);
  }
}

TEST(ScalePicture, AFlatPictureStaysFlatAtEverySize) {
  Rng rng{5};
  for (int round = 0; round < 200; ++round) {
    Picture from =
        make_picture(1 + static_cast<int>(rng.below(70)), 1 + static_cast<int>(rng.below(70)));
    const auto level = static_cast<uint8_t>(rng.below(256));
    std::ranges::fill(from.data, level);
    const Picture to = scale_picture(from, 1 + static_cast<int>(rng.below(140)),
                                     1 + static_cast<int>(rng.below(140)));
    EXPECT_TRUE(std::ranges::all_of(to.data, [&](uint8_t b) { return b == level; }))
        << from.width << " x " << from.height << " to " << to.width << " x " << to.height;
  }
}

TEST(ScalePicture, UpwardsARampStaysARamp) {
  Picture from = make_picture(40, 30);
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) {
      from.y()[y * 40 + x] = static_cast<uint8_t>(4 * x + 2 * y);
    }
  }
  const Picture to = scale_picture(from, 80, 60);
  for (int y = 2; y < 58; ++y) {
    for (int x = 2; x < 78; ++x) {
      ASSERT_NEAR(to.y()[y * 80 + x], 4 * ((x + 0.5) / 2 - 0.5) + 2 * ((y + 0.5) / 2 - 0.5), 0.51);
    }
  }
}

// The slow twin upwards: between the centres of the two nearest pixels, and the edge's pixel
// beyond.
double between_centres(const Picture& from, double x, double y) {
  const auto at = [&](int column, int row) {
    return static_cast<double>(from.y()[std::clamp(row, 0, from.height - 1) * from.width +
                                        std::clamp(column, 0, from.width - 1)]);
  };
  const int column = static_cast<int>(std::floor(x));
  const int row = static_cast<int>(std::floor(y));
  const double right = x - column;
  const double down = y - row;
  return (1 - down) * ((1 - right) * at(column, row) + right * at(column + 1, row)) +
         down * ((1 - right) * at(column, row + 1) + right * at(column + 1, row + 1));
}

TEST(ScalePicture, UpwardsEachPixelLiesBetweenItsNeighboursToTheEdge) {
  for (const auto& [width, height] : {std::pair{17, 12}, {40, 33}, {23, 60}}) {
    const Picture from = noise(17, 12, 6);
    const Picture to = scale_picture(from, width, height);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        ASSERT_NEAR(
            to.y()[y * width + x],
            between_centres(from, (x + 0.5) * 17 / width - 0.5, (y + 0.5) * 12 / height - 0.5), 1.6)
            << x << ", " << y;
      }
    }
  }
}

TEST(ScalePicture, ColourIsScaledAsBrightnessIs) {
  const Picture from = noise(64, 48, 9);
  Picture as_luma = make_picture(32, 24);
  for (const bool v : {false, true}) {
    const uint8_t* plane = v ? from.v() : from.u();
    std::copy(plane, plane + from.chroma_size(), as_luma.y());
    for (const auto& [width, height] : {std::pair{32, 24}, {18, 46}, {80, 60}}) {
      const Picture to = scale_picture(from, width, height);
      const Picture expected = scale_picture(as_luma, width / 2, height / 2);
      EXPECT_TRUE(
          std::equal(expected.y(), expected.y() + expected.luma_size(), v ? to.v() : to.u()));
    }
  }
}

TEST(AtSize, APictureOfThatSizeIsNotCopied) {
  const auto picture = std::make_shared<const Picture>(noise(64, 48, 3));
  EXPECT_EQ(at_size(picture, 64, 48), picture);
  for (const auto& [width, height] : {std::pair{64, 24}, {32, 48}, {32, 24}}) {
    EXPECT_EQ(*at_size(picture, width, height), scale_picture(*picture, width, height));
  }
}

TEST(Picture, IsGreyAndHasRoomForOddSides) {
  const Picture picture = make_picture(3, 5);
  EXPECT_EQ(picture.data, std::vector<uint8_t>(15 + 2 * 6, 128));
  EXPECT_EQ(make_picture(16'383, 1).width, 16'383);
  EXPECT_DEATH(make_picture(16'384, 1), "out of range");
  EXPECT_DEATH(make_picture(1, 16'384), "out of range");
  EXPECT_DEATH(make_picture(0, 1), "out of range");
}

}  // namespace
}  // namespace cress::media
