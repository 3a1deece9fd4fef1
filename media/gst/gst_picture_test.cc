#include "media/gst/gst_picture.hh"

#include <gtest/gtest.h>

#include <utility>

#include "media/gst/gst_runtime.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

TEST(GstPicture, APictureComesBackFromItsBufferPlaneByPlane) {
  const GstRuntime gst;
  Rng rng{5};
  // GStreamer's rows have whole words, ours do not.
  for (const auto& [width, height] : {std::pair{64, 48}, {66, 50}, {34, 2}}) {
    Picture picture = make_picture(width, height);
    for (uint8_t& byte : picture.data) {
      byte = static_cast<uint8_t>(rng.next());
    }
    const GstVideoInfo info = video_info(width, height, {30, 1});
    GstOwned<GstBuffer> buffer = to_buffer(picture, info);
    GstSample* sample = gst_sample_new(buffer.get(), nullptr, nullptr, nullptr);
    const PicturePtr back = to_picture(sample, info);
    gst_sample_unref(sample);
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(*back, picture) << width << " x " << height;
  }
}

}  // namespace
}  // namespace cress::media
