#include "eval/metrics/picture_quality.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "transport/base/rng.hh"

namespace cress::metrics {
namespace {

media::Picture random_picture(Rng& rng, int width, int height) {
  media::Picture picture = media::make_picture(width, height);
  // From flat to full-range noise, around any level.
  const double level = rng.uniform(0.0, 255.0);
  const double spread = rng.uniform(0.0, 128.0);
  for (size_t i = 0; i < picture.luma_size(); ++i) {
    const double value = level + spread * rng.uniform(-1.0, 1.0);
    picture.data[i] = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
  }
  return picture;
}

/// `original` with noise of the given strength.
media::Picture disturbed(Rng& rng, media::Picture original, double strength) {
  for (size_t i = 0; i < original.luma_size(); ++i) {
    const double value = original.data[i] + strength * rng.normal();
    original.data[i] = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
  }
  return original;
}

/// The slow twin: the definition, window by window, in the order of the means' formula.
double slow_ssim(const media::Picture& a, const media::Picture& b) {
  const double c1 = 0.01 * 255 * 0.01 * 255;
  const double c2 = 0.03 * 255 * 0.03 * 255;
  double sum = 0.0;
  int windows = 0;
  for (int top = 0; top + 8 <= a.height; top += 4) {
    for (int left = 0; left + 8 <= a.width; left += 4) {
      int64_t x = 0;
      int64_t y = 0;
      int64_t xx = 0;
      int64_t yy = 0;
      int64_t xy = 0;
      for (int row = top; row < top + 8; ++row) {
        for (int column = left; column < left + 8; ++column) {
          const int64_t p = a.y()[row * a.width + column];
          const int64_t q = b.y()[row * a.width + column];
          x += p;
          y += q;
          xx += p * p;
          yy += q * q;
          xy += p * q;
        }
      }
      const double mean_x = static_cast<double>(x) / 64;
      const double mean_y = static_cast<double>(y) / 64;
      const double var_x = static_cast<double>(64 * xx - x * x) / 4096;
      const double var_y = static_cast<double>(64 * yy - y * y) / 4096;
      const double covariance = static_cast<double>(64 * xy - x * y) / 4096;
      sum += (2 * mean_x * mean_y + c1) * (2 * covariance + c2) /
             ((mean_x * mean_x + mean_y * mean_y + c1) * (var_x + var_y + c2));
      ++windows;
    }
  }
  return sum / windows;
}

TEST(Ssim, AgreesWithTheDefinitionOnRandomPictures) {
  Rng rng{1};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed 1");
    const int width = 8 + static_cast<int>(rng.below(90));
    const int height = 8 + static_cast<int>(rng.below(60));
    const media::Picture original = random_picture(rng, width, height);
    const media::Picture close = disturbed(rng, original, rng.uniform(0.0, 40.0));
    const media::Picture other = random_picture(rng, width, height);
    EXPECT_NEAR(ssim(close, original), slow_ssim(close, original), 1e-12);
    EXPECT_NEAR(ssim(other, original), slow_ssim(other, original), 1e-12);
  }
}

TEST(Ssim, HoldsAtTheExtremesOfItsWholeNumbers) {
  media::Picture white = media::make_picture(64, 48);
  std::fill_n(white.y(), white.luma_size(), uint8_t{255});
  media::Picture black = white;
  std::fill_n(black.y(), black.luma_size(), uint8_t{0});
  media::Picture stripes = white;
  media::Picture inverse = white;
  for (size_t i = 0; i < stripes.luma_size(); ++i) {
    stripes.data[i] = static_cast<uint8_t>(i % 2 == 0 ? 255 : 0);
    inverse.data[i] = static_cast<uint8_t>(255 - stripes.data[i]);
  }
  EXPECT_NEAR(ssim(white, black), slow_ssim(white, black), 1e-12);
  EXPECT_NEAR(ssim(stripes, inverse), slow_ssim(stripes, inverse), 1e-12);
  EXPECT_LT(ssim(stripes, inverse), -0.99);
  EXPECT_EQ(ssim(white, white), 1.0);
  EXPECT_EQ(ssim(stripes, stripes), 1.0);
}

TEST(Ssim, IsSymmetricAndFallsAsNoiseGrows) {
  Rng rng{2};
  const media::Picture original = random_picture(rng, 120, 80);
  double last = 1.0;
  for (const double strength : {2.0, 8.0, 32.0}) {
    const media::Picture noisy = disturbed(rng, original, strength);
    EXPECT_EQ(ssim(noisy, original), ssim(original, noisy));
    EXPECT_LT(ssim(noisy, original), last);
    last = ssim(noisy, original);
  }
}

TEST(Ssim, IgnoresChroma) {
  Rng rng{3};
  const media::Picture original = random_picture(rng, 32, 32);
  media::Picture tinted = original;
  std::fill_n(tinted.u(), tinted.chroma_size(), uint8_t{7});
  EXPECT_EQ(ssim(tinted, original), 1.0);
  EXPECT_EQ(psnr_db(tinted, original), kPsnrDbMax);
}

TEST(Psnr, IsTheMeanSquaredErrorInDecibels) {
  media::Picture a = media::make_picture(40, 30);
  media::Picture b = a;
  for (size_t i = 0; i < b.luma_size(); ++i) {
    b.data[i] = static_cast<uint8_t>(b.data[i] + 5);
  }
  EXPECT_NEAR(psnr_db(b, a), 20 * std::log10(255.0 / 5), 1e-12);
  std::fill_n(a.y(), a.luma_size(), uint8_t{0});
  std::fill_n(b.y(), b.luma_size(), uint8_t{255});
  EXPECT_EQ(psnr_db(b, a), 0.0);
}

TEST(Psnr, OfEqualPicturesIsItsMaximum) {
  Rng rng{4};
  const media::Picture picture = random_picture(rng, 33, 21);
  EXPECT_EQ(psnr_db(picture, picture), kPsnrDbMax);
}

TEST(PictureQuality, ComputesBothMeasures) {
  Rng rng{5};
  const media::Picture original = random_picture(rng, 64, 64);
  const media::Picture small = random_picture(rng, 24, 40);
  EXPECT_EQ(picture_quality(small, original),
            (PictureQuality{.ssim = ssim(small, original), .psnr_db = psnr_db(small, original)}));
}

TEST(ScaledLuma, OfTheSameSizeIsThePictureItself) {
  Rng rng{6};
  const media::Picture picture = random_picture(rng, 31, 17);
  const media::Picture scaled = scaled_luma(picture, 31, 17);
  EXPECT_TRUE(std::equal(picture.y(), picture.y() + picture.luma_size(), scaled.y()));
}

TEST(ScaledLuma, AgreesWithBilinearInterpolationWithinOneStep) {
  Rng rng{8};
  for (int round = 0; round < 40; ++round) {
    const media::Picture picture = random_picture(rng, 1 + static_cast<int>(rng.below(40)),
                                                  1 + static_cast<int>(rng.below(40)));
    const int width = picture.width + static_cast<int>(rng.below(60));
    const int height = picture.height + static_cast<int>(rng.below(60));
    const media::Picture scaled = scaled_luma(picture, width, height);
    const auto sample = [&](int x, int y) {
      return static_cast<double>(picture.y()[y * picture.width + x]);
    };
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const double u =
            std::clamp((x + 0.5) * picture.width / width - 0.5, 0.0, picture.width - 1.0);
        const double v =
            std::clamp((y + 0.5) * picture.height / height - 0.5, 0.0, picture.height - 1.0);
        const int left = static_cast<int>(u);
        const int top = static_cast<int>(v);
        const int right = std::min(left + 1, picture.width - 1);
        const int bottom = std::min(top + 1, picture.height - 1);
        const double a = u - left;
        const double b = v - top;
        const double exact = (1 - b) * ((1 - a) * sample(left, top) + a * sample(right, top)) +
                             b * ((1 - a) * sample(left, bottom) + a * sample(right, bottom));
        // A weight is truncated to 1/256 in each direction (at most a level each), then rounded.
        ASSERT_NEAR(scaled.y()[y * width + x], exact, 2.5);
      }
    }
  }
}

TEST(ScaledLuma, KeepsAFlatPictureFlat) {
  media::Picture picture = media::make_picture(20, 15);
  std::fill_n(picture.y(), picture.luma_size(), uint8_t{201});
  const media::Picture scaled = scaled_luma(picture, 61, 47);
  EXPECT_TRUE(std::all_of(scaled.y(), scaled.y() + scaled.luma_size(),
                          [](uint8_t value) { return value == 201; }));
}

TEST(SsimToDb, IsBoundedForEqualPictures) {
  EXPECT_NEAR(ssim_to_db(0.99), 20.0, 1e-9);
  EXPECT_NEAR(ssim_to_db(0.0), 0.0, 1e-12);
  EXPECT_EQ(ssim_to_db(1.0), kSsimDbMax);
}

}  // namespace
}  // namespace cress::metrics
