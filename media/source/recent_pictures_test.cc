#include "media/source/recent_pictures.hh"

#include <gtest/gtest.h>

#include "media/source/synthetic_camera.hh"

namespace cress::media {
namespace {

TEST(RecentPictures, GivesTheSourcesOwnPicturesAndMakesRecentOnesOnce) {
  const SyntheticCameraOptions options{.width = 32, .height = 32, .seed = 4};
  RecentPictures recent{std::make_unique<SyntheticCamera>(options), 8};
  SyntheticCamera camera{options};
  for (const uint64_t index : {0U, 1U, 9U, 1U, 0U, 100U}) {
    EXPECT_EQ(*recent.picture(index), *camera.picture(index)) << index;
  }
  const PicturePtr kept = recent.picture(42);
  EXPECT_EQ(recent.picture(42), kept) << "made again";
  EXPECT_EQ(recent.width(), 32);
  EXPECT_EQ(recent.description(), camera.description());
}

}  // namespace
}  // namespace cress::media
