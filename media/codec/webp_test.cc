#include "media/codec/webp.hh"

#include <gtest/gtest.h>

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "media/codec/vp8_decoder.hh"
#include "media/source/synthetic_camera.hh"

namespace cress::media {
namespace {

std::string text_at(std::span<const std::byte> file, size_t at, size_t length) {
  return {reinterpret_cast<const char*>(file.data()) + at, length};
}

size_t number_at(std::span<const std::byte> file, size_t at) {
  size_t value = 0;
  for (size_t i = 4; i-- > 0;) {
    value = value << 8U | std::to_integer<size_t>(file[at + i]);
  }
  return value;
}

TEST(Webp, IsAKeyFrameOfThePictureInARiffContainer) {
  SyntheticCamera camera{{.width = 160, .height = 96}};
  const PicturePtr picture = camera.picture(7);
  for (const int quantizer : {10, 25, 40, 63}) {
    const auto file = webp_file(*picture, quantizer);
    ASSERT_GT(file.size(), 20U);
    EXPECT_EQ(text_at(file, 0, 4), "RIFF");
    EXPECT_EQ(number_at(file, 4) + 8, file.size());
    EXPECT_EQ(text_at(file, 8, 8), "WEBPVP8 ");
    EXPECT_EQ(file.size() % 2, 0U);
    const size_t size = number_at(file, 16);
    ASSERT_LE(20 + size, file.size());
    ASSERT_LE(file.size(), 20 + size + 1);
    Vp8Decoder decoder;
    const auto decoded = decoder.decode(std::span{file}.subspan(20, size));
    ASSERT_TRUE(decoded.has_value());
    const Picture& shown = **decoded;
    ASSERT_EQ(shown.width, picture->width);
    int64_t off = 0;
    for (size_t i = 0; i < picture->luma_size(); ++i) {
      off += std::abs(int{shown.y()[i]} - int{picture->y()[i]});
    }
    EXPECT_LT(static_cast<double>(off) / static_cast<double>(picture->luma_size()),
              quantizer < 20 ? 4 : 16);
    EXPECT_EQ(file, webp_file(*picture, quantizer)) << "the same bytes";
  }
}

}  // namespace
}  // namespace cress::media
