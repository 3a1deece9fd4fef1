#include "media/source/synthetic_camera.hh"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace cress::media {
namespace {

// FNV-1a: a picture's fingerprint.
uint64_t fingerprint(const Picture& picture) {
  uint64_t hash = 0xCBF29CE484222325U;
  for (const uint8_t value : picture.data) {
    hash = (hash ^ value) * 0x100000001B3U;
  }
  return hash;
}

double mean_square_difference(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.luma_size(); ++i) {
    const double difference = static_cast<double>(a.y()[i]) - b.y()[i];
    sum += difference * difference;
  }
  return sum / static_cast<double>(a.luma_size());
}

TEST(SyntheticCamera, AnyOrderOfAskingGivesTheSamePictures) {
  const SyntheticCameraOptions options{.width = 160, .height = 90, .seed = 7};
  SyntheticCamera forwards{options};
  SyntheticCamera backwards{options};
  std::vector<PicturePtr> pictures;
  for (uint64_t i = 0; i < 20; ++i) {
    pictures.push_back(forwards.picture(i));
  }
  for (uint64_t i = 20; i-- > 0;) {
    EXPECT_EQ(*backwards.picture(i), *pictures[i]) << i;
  }
}

TEST(SyntheticCamera, PicturesAreTheSameOnEveryMachine) {
  // Fingerprints of the current code; a change of the picture changes every measured number.
  SyntheticCamera camera;
  EXPECT_EQ(fingerprint(*camera.picture(0)), 4914940068223074181U);
  EXPECT_EQ(fingerprint(*camera.picture(100'000)), 16371087281509285472U);
}

TEST(SyntheticCamera, SeedsAndMomentsDiffer) {
  SyntheticCamera one{{.width = 320, .height = 180, .seed = 1}};
  SyntheticCamera two{{.width = 320, .height = 180, .seed = 2}};
  EXPECT_NE(*one.picture(0), *two.picture(0));
  const double step = mean_square_difference(*one.picture(0), *one.picture(1));
  const double second = mean_square_difference(*one.picture(0), *one.picture(30));
  EXPECT_GT(step, 2.0) << "noise alone is twice its variance";
  EXPECT_LT(step, 80.0) << "the next picture is not another scene";
  EXPECT_GT(second, step) << "and a second later things have moved";
}

TEST(SyntheticCamera, SensorNoiseDiffersFromFrameToFrame) {
  // A corner of the wall, over pictures among which some have no pan between them.
  SyntheticCamera camera{{.width = 320, .height = 180, .frame_rate = {10'000, 1}}};
  const PicturePtr a = camera.picture(0);
  const PicturePtr b = camera.picture(1);  // 0.1 ms later: nothing moves
  double sum = 0;
  for (size_t i = 0; i < 300; ++i) {
    sum += std::abs(a->y()[i] - b->y()[i]);
  }
  EXPECT_GT(sum / 300, 1.0);
  EXPECT_LT(sum / 300, 4.0);
}

TEST(SyntheticCamera, EverySizeIsDrawnInsideItsPlanes) {
  for (const auto& [width, height] :
       {std::pair{16, 16}, {17, 33}, {400, 16}, {16, 400}, {641, 361}}) {
    SyntheticCamera camera{{.width = width, .height = height}};
    for (uint64_t i = 0; i < 60; i += 7) {
      const PicturePtr picture = camera.picture(i);
      ASSERT_EQ(picture->data.size(), picture->luma_size() + 2 * picture->chroma_size());
    }
  }
}

TEST(SyntheticCamera, WorksForAnIndexAWeekIntoACall) {
  SyntheticCamera camera{{.width = 64, .height = 48}};
  const uint64_t week = 7ULL * 24 * 3600 * 30;
  EXPECT_NE(*camera.picture(week), *camera.picture(week + 15));
}

}  // namespace
}  // namespace cress::media
