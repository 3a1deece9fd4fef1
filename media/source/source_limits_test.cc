#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "media/source/audio_clip.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/recent_pictures.hh"
#include "media/source/sprite.hh"
#include "media/source/synthetic_camera.hh"
#include "media/source/value_noise.hh"
#include "media/source/y4m.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;

// ---- Y4M ----

std::string header_outcome(const std::string& line) {
  const auto header = parse_y4m_header("YUV4MPEG2" + line);
  return header ? std::to_string(header->width) + "x" + std::to_string(header->height) + "@" +
                      std::to_string(header->frame_rate.numerator) + ":" +
                      std::to_string(header->frame_rate.denominator)
                : describe(header.error());
}

TEST(Y4mLimits, SidesAreFromOneToTheLargestPicture) {
  const std::string most = std::to_string(kPictureSideMax);
  const std::string more = std::to_string(kPictureSideMax + 1);
  EXPECT_EQ(header_outcome(" W1 H" + most), "1x" + most + "@25:1");
  EXPECT_EQ(header_outcome(" W" + most + " H1"), most + "x1@25:1");
  EXPECT_EQ(header_outcome(" W1 H" + more), "byte 13: the picture's sides must be 1.." + most);
  EXPECT_EQ(header_outcome(" W-1 H1"), "byte 10: the picture's sides must be 1.." + most);
  EXPECT_EQ(header_outcome(" H1"), "byte 0: the header gives no width or no height");
  EXPECT_EQ(header_outcome(" W1"), "byte 0: the header gives no width or no height");
  EXPECT_EQ(header_outcome("  W3  H2"), "3x2@25:1") << "several spaces";
}

TEST(Y4mLimits, RatesAreFromOneToABillion) {
  EXPECT_EQ(header_outcome(" W1 H1 F1000000000:1000000000"), "1x1@1000000000:1000000000");
  const std::string bad =
      "byte 16: a header tag is malformed; write the file anew, for example "
      "with ffmpeg";
  for (const char* rate : {"1000000001:1", "1:1000000001", "0:1", "1:0", "-1:1", "1:-1", "1",
                           "1:", ":1", "x:1", "1:x"}) {
    EXPECT_EQ(header_outcome(std::string(" W1 H1 F") + rate), bad) << rate;
  }
}

TEST(Y4mLimits, ProgressiveOrUnknownIsRead) {
  EXPECT_EQ(header_outcome(" W1 H1 I?"), "1x1@25:1");
  EXPECT_EQ(header_outcome(" W1 H1 Ib"),
            "byte 16: interlaced video is not read; deinterlace it first");
  EXPECT_EQ(header_outcome(" W1 H1 C422"),
            "byte 16: only 8 bit 4:2:0 is read; convert it, for example with ffmpeg -pix_fmt "
            "yuv420p");
}

/// Reads a stream to its end: how many pictures, or what is wrong.
std::string stream_outcome(const std::string& bytes) {
  std::istringstream stream{bytes};
  Y4mReader reader{stream};
  if (const auto header = reader.read_header(); !header) {
    return describe(header.error());
  }
  for (;;) {
    const auto picture = reader.read_picture();
    if (!picture) {
      return describe(picture.error());
    }
    if (!picture->has_value()) {
      return std::to_string(reader.frames_read()) + " pictures";
    }
  }
}

TEST(Y4mLimits, LinesHaveAtMost1024Bytes) {
  const std::string head = "YUV4MPEG2 W2 H2";
  const std::string rest(kY4mLineMax - head.size() - 2, 'x');
  const std::string frame = "FRAME\nabcdef";
  EXPECT_EQ(stream_outcome(head + " X" + rest + "\n" + frame), "1 pictures");
  EXPECT_EQ(stream_outcome(head + " Xx" + rest + "\n" + frame), "byte 0: not a YUV4MPEG2 file");
  const std::string comment(kY4mLineMax - 7, 'x');
  EXPECT_EQ(stream_outcome(head + "\nFRAME X" + comment + "\nabcdef"), "1 pictures");
  EXPECT_EQ(stream_outcome(head + "\nFRAME Xx" + comment + "\nabcdef"),
            "picture 0, byte 16: something else stands where a picture should begin; the file is "
            "damaged");
}

TEST(Y4mLimits, APictureMayNotBeInterlaced) {
  const std::string head = "YUV4MPEG2 W2 H2\n";
  for (const char* tag : {"Ip", "I?", "I", "XI"}) {
    EXPECT_EQ(stream_outcome(head + "FRAME " + tag + "\nabcdef"), "1 pictures") << tag;
  }
  EXPECT_EQ(stream_outcome(head + "FRAME It\nabcdef"),
            "byte 16: interlaced video is not read; deinterlace it first");
}

TEST(Y4mLimits, TruncationIsNamedWithItsOffset) {
  const std::string whole = "YUV4MPEG2 W2 H2\nFRAME\nabcdefFRAME\nghijkl";
  EXPECT_EQ(stream_outcome(whole), "2 pictures");
  const std::string ends =
      ": the file ends inside this picture; copy it again or cut it before this picture";
  EXPECT_EQ(stream_outcome(whole.substr(0, whole.size() - 1)), "picture 1, byte 34" + ends);
  EXPECT_EQ(stream_outcome(whole.substr(0, 31)), "picture 1, byte 28" + ends);
}

TEST(Y4mLimits, FrameSizesCountHalvesOfOddSidesInFull) {
  EXPECT_EQ((Y4mHeader{.width = 4, .height = 6}).frame_size(), DataSize{36});
  EXPECT_EQ((Y4mHeader{.width = 5, .height = 7}).frame_size(), DataSize{35 + 2 * 12});
}

TEST(Y4mLimits, HeadersAndPicturesAreReadInTheirOrder) {
  std::istringstream stream{"YUV4MPEG2 W2 H2\nFRAME\nabcdef"};
  Y4mReader reader{stream};
  EXPECT_DEATH((void)reader.read_picture(), "header first");
  ASSERT_TRUE(reader.read_header());
  EXPECT_DEATH((void)reader.read_header(), "already");
}

TEST(Y4mLimits, LeastRecentlyUsedPictureIsDiscarded) {
  const fs::path path = fs::temp_directory_path() / "cress_y4m_limits.y4m";
  Y4mWriter writer{path, {2, 2, {30, 1}}};
  EXPECT_DEATH(writer.write(make_picture(2, 4)), "another size");
  EXPECT_DEATH(writer.write(make_picture(4, 2)), "another size");
  for (int i = 0; i < 4; ++i) {
    writer.write(make_picture(2, 2));
  }
  writer.finish();
  std::ifstream file{path, std::ios::binary};
  std::string head;
  std::getline(file, head);
  EXPECT_EQ(head, "YUV4MPEG2 W2 H2 F30:1 Ip A1:1 C420jpeg");
  Y4mSource source{path, {.memory_max = DataSize{2 * 6}}};
  const PicturePtr zero = source.picture(0);
  const PicturePtr one = source.picture(1);
  EXPECT_EQ(source.picture(0), zero);
  (void)source.picture(2);
  EXPECT_EQ(source.picture(0), zero) << "kept: it was looked at after picture 1";
  EXPECT_NE(source.picture(1), one) << "read again";
  EXPECT_EQ(source.pictures_in_memory(), 2U);
  Y4mSource least{path, {.memory_max = DataSize{5}}};
  (void)least.picture(0);
  EXPECT_EQ(least.picture(1), least.picture(1)) << "one is kept, whatever the memory";
  EXPECT_EQ(least.pictures_in_memory(), 1U);
  EXPECT_EQ(source.description(), "cress_y4m_limits.y4m");
  fs::remove(path);
  EXPECT_DEATH(Y4mWriter(path, {0, 2, {30, 1}}), "empty");
  EXPECT_DEATH(Y4mWriter(path, {2, 0, {30, 1}}), "empty");
}

// ---- Drawing and voice ----

TEST(SourceLimits, OptionsAreBounded) {
  EXPECT_DEATH(SyntheticCamera({.width = 15, .height = 16}), "size");
  EXPECT_DEATH(SyntheticCamera({.width = 16, .height = 15}), "size");
  EXPECT_DEATH(SyntheticCamera({.width = kSyntheticCameraSideMax + 1, .height = 16}), "size");
  EXPECT_DEATH(SyntheticCamera({.width = 16, .height = kSyntheticCameraSideMax + 1}), "size");
  EXPECT_NO_THROW(SyntheticCamera({.width = kSyntheticCameraSideMax, .height = 16}));
  EXPECT_DEATH(SyntheticCamera({.width = 16, .height = 16, .frame_rate = {0, 1}}), "rate");
  EXPECT_DEATH(SyntheticCamera({.width = 16, .height = 16, .frame_rate = {1, 0}}), "rate");
  EXPECT_DEATH(SyntheticVoice({.loop = 999ms}), "loop");
  EXPECT_DEATH(SyntheticVoice({.loop = 60s + 1ms}), "loop");
  EXPECT_NO_THROW(SyntheticVoice({.loop = 1s}));
  EXPECT_DEATH(Sprite(3, 2), "odd");
  EXPECT_DEATH(Sprite(2, 3), "odd");
  EXPECT_DEATH(Sprite(0, 2), "odd");
  EXPECT_DEATH(Sprite(2, 0), "odd");
}

TEST(Coverage, TopLayerCoversByItsShare) {
  Coverage pixel;
  pixel.lay({200, 100, 50}, 0);
  EXPECT_EQ(pixel.alpha, 0);
  pixel.lay({200, 100, 50}, 0.5);
  EXPECT_EQ(pixel.alpha, 0.5);
  EXPECT_EQ(pixel.colour.y, 200);
  pixel.lay({100, 40, 20}, 0.5);  // below: 0.25 of the pixel
  EXPECT_EQ(pixel.alpha, 0.75);
  EXPECT_NEAR(pixel.colour.y, (200 * 0.25 + 100 * 0.5) / 0.75, 1e-9);
  EXPECT_NEAR(pixel.colour.u, (100 * 0.25 + 40 * 0.5) / 0.75, 1e-9);
  EXPECT_NEAR(pixel.colour.v, (50 * 0.25 + 20 * 0.5) / 0.75, 1e-9);
}

/// A white square of 4 by 4 on black, at sixteenths of a pixel: the rows of luma as text.
std::vector<int> luma_row(int x16, int y16, int row) {
  Sprite sprite{4, 4};
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      sprite.set(x, y, {.colour = {240, 128, 128}, .alpha = 1});
    }
  }
  sprite.seal();
  Picture picture = make_picture(8, 8);
  std::fill_n(picture.y(), picture.luma_size(), uint8_t{0});
  sprite.draw(picture, x16, y16);
  const uint8_t* begin = picture.y() + static_cast<ptrdiff_t>(row) * 8;
  return {begin, begin + 8};
}

TEST(Sprite, IsDrawnBetweenPixelsAndCutOffAtTheEdges) {
  EXPECT_EQ(luma_row(32, 32, 3), (std::vector<int>{0, 0, 240, 240, 240, 240, 0, 0}));
  EXPECT_EQ(luma_row(36, 32, 3), (std::vector<int>{0, 0, 180, 240, 240, 240, 60, 0}));
  EXPECT_EQ(luma_row(32, 36, 2), (std::vector<int>{0, 0, 180, 180, 180, 180, 0, 0}));
  EXPECT_EQ(luma_row(32, 36, 6), (std::vector<int>{0, 0, 60, 60, 60, 60, 0, 0}));
  EXPECT_EQ(luma_row(-40, 0, 0), (std::vector<int>{240, 120, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(luma_row(104, 0, 0), (std::vector<int>{0, 0, 0, 0, 0, 0, 120, 240}));
  EXPECT_EQ(luma_row(0, -40, 1), (std::vector<int>{120, 120, 120, 120, 0, 0, 0, 0}));
  EXPECT_EQ(luma_row(-200, 0, 0), std::vector<int>(8, 0));
  EXPECT_EQ(luma_row(200, 0, 0), std::vector<int>(8, 0));
}

/// Pictures whose requests are counted.
class CountedPictures final : public VideoSource {
 public:
  explicit CountedPictures(int& asked) : asked_(asked) {}
  int width() const override { return 4; }
  int height() const override { return 2; }
  FrameRate frame_rate() const override { return {7, 2}; }
  std::string description() const override { return "counted"; }
  PicturePtr picture(uint64_t index) override {
    ++asked_;
    Picture picture = make_picture(4, 2);
    picture.y()[0] = static_cast<uint8_t>(index);
    return std::make_shared<const Picture>(std::move(picture));
  }

 private:
  int& asked_;
};

TEST(RecentPictures, KeepsTheNewestAndAsksForNoneTwice) {
  int asked = 0;
  RecentPictures recent{std::make_unique<CountedPictures>(asked), 3};
  for (const uint64_t index : {0U, 1U, 2U, 0U, 1U, 2U}) {
    EXPECT_EQ(recent.picture(index)->y()[0], index);
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(recent.picture(3)->y()[0], 3);
  EXPECT_EQ(recent.picture(1)->y()[0], 1);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(recent.picture(0)->y()[0], 0);
  EXPECT_EQ(asked, 5) << "its place was taken";
  EXPECT_EQ(recent.description(), "counted");
  EXPECT_EQ(recent.frame_rate(), (FrameRate{7, 2}));
  EXPECT_EQ(recent.width(), 4);
  EXPECT_EQ(recent.height(), 2);
}

}  // namespace
}  // namespace cress::media
