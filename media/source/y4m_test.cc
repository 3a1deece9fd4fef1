#include "media/source/y4m.hh"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;

class Y4mFile : public ::testing::Test {
 protected:
  Y4mFile() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::temp_directory_path() / ("cress_" + std::string(info->name()) + ".y4m");
  }
  ~Y4mFile() override { fs::remove(path_); }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string error() const {
    try {
      Y4mSource source{path_};
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "no error";
  }
  fs::path path_;
};

Picture random_picture(Rng& rng, int width, int height) {
  Picture picture = make_picture(width, height);
  for (uint8_t& value : picture.data) {
    value = static_cast<uint8_t>(rng.next());
  }
  return picture;
}

TEST_F(Y4mFile, WhatIsWrittenIsReadBackEqualAndLoops) {
  Rng rng{4};
  for (const auto& [width, height] : {std::pair{16, 8}, {5, 7}, {1, 1}}) {
    std::vector<Picture> pictures;
    const Y4mHeader header{width, height, {30'000, 1001}};
    Y4mWriter writer{path_, header};
    for (int i = 0; i < 5; ++i) {
      pictures.push_back(random_picture(rng, width, height));
      writer.write(pictures.back());
    }
    writer.finish();
    Y4mSource source{path_};
    EXPECT_EQ(source.clip_length(), 5U);
    EXPECT_EQ(source.frame_rate(), (FrameRate{30'000, 1001}));
    for (const uint64_t index : {0U, 4U, 2U, 3U, 1U, 5U, 13U}) {
      EXPECT_EQ(*source.picture(index), pictures[index % 5]) << index;
    }
  }
}

TEST_F(Y4mFile, MemoryIsBoundedAndThePicturesAreTheSame) {
  Rng rng{5};
  std::vector<Picture> pictures;
  Y4mWriter writer{path_, {32, 32, {25, 1}}};
  for (int i = 0; i < 20; ++i) {
    pictures.push_back(random_picture(rng, 32, 32));
    writer.write(pictures.back());
  }
  writer.finish();
  Y4mSource source{path_, {.memory_max = DataSize{3 * 1536 + 100}}};
  for (int i = 0; i < 200; ++i) {
    const uint64_t index = rng.below(60);
    ASSERT_EQ(*source.picture(index), pictures[index % 20]);
    ASSERT_LE(source.pictures_in_memory(), 3U);
  }
}

TEST_F(Y4mFile, TruncatedLastPictureIsNamedWithWhatToDo) {
  write("YUV4MPEG2 W4 H4 F30:1 C420jpeg\nFRAME\n" + std::string(24, 'a') + "FRAME\n" +
        std::string(23, 'b'));
  EXPECT_EQ(error(),
            path_.string() +
                ": picture 1, byte 67: the file ends inside this picture; copy it again or "
                "cut it before this picture");
}

TEST_F(Y4mFile, FilesWithoutAPictureAreRefusedInOneClearLine) {
  write("YUV4MPEG2 W4 H4 F30:1\n");
  EXPECT_EQ(error(), path_.string() + ": holds no picture, only a header; record it again");
  write("");
  EXPECT_EQ(error(), path_.string() + ": byte 0: not a YUV4MPEG2 file");
  write("hello, I am a text\n");
  EXPECT_EQ(error(), path_.string() + ": byte 0: not a YUV4MPEG2 file");
  write("YUV4MPEG2 W4 H4\nFRAME\n" + std::string(24, 'a') + "FRAMES\n");
  EXPECT_EQ(error(),
            path_.string() +
                ": picture 1, byte 46: something else stands where a picture should begin; "
                "the file is damaged");
  fs::remove(path_);
  EXPECT_NE(error().find("cannot be opened: No such file"), std::string::npos) << error();
}

TEST_F(Y4mFile, AFileThatShrinksWhileOpenIsAnErrorNotGarbage) {
  write("YUV4MPEG2 W4 H4\nFRAME\n" + std::string(24, 'a') + "FRAME\n" + std::string(24, 'b'));
  Y4mSource source{path_};
  fs::resize_file(path_, 50);
  EXPECT_EQ(source.picture(0)->data[0], 'a');
  EXPECT_THROW(source.picture(1), std::runtime_error);
}

TEST(Y4mWriterFile, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "this system has no /dev/full";
  }
  Y4mWriter writer{"/dev/full", {64, 64, {25, 1}}};
  const auto write_all = [&] {
    writer.write(make_picture(64, 64));
    writer.finish();
  };
  EXPECT_THROW(write_all(), std::runtime_error);
  EXPECT_THROW((Y4mWriter{"/nonexistent/clip.y4m", {2, 2, {25, 1}}}), std::runtime_error);
}

TEST(Y4mHeaderLine, EachTagOfTheFamilyIsRead) {
  for (const char* colour : {"", " C420", " C420jpeg", " C420mpeg2", " C420paldv"}) {
    const auto header = parse_y4m_header(std::string("YUV4MPEG2 W640 H360 F30000:1001 Ip A1:1") +
                                         colour + " XYSCSS=420JPEG");
    ASSERT_TRUE(header) << colour;
    EXPECT_EQ(*header, (Y4mHeader{640, 360, {30'000, 1001}})) << colour;
  }
  EXPECT_EQ(parse_y4m_header("YUV4MPEG2 H3 W2")->frame_rate, (FrameRate{25, 1}));
  EXPECT_EQ(parse_y4m_header("YUV4MPEG2 H3 W2 F0:0")->frame_rate, (FrameRate{25, 1}));
}

TEST(Y4mHeaderLine, EachWrongHeaderGivesItsErrorAndPlace) {
  using Kind = Y4mError::Kind;
  const std::vector<std::tuple<std::string, Kind, uint64_t>> cases{
      {"", Kind::kNotY4m, 0},
      {"YUV4MPEG3 W2 H2", Kind::kNotY4m, 0},
      {"YUV4MPEG2W2 H2", Kind::kNotY4m, 9},
      {"YUV4MPEG2 W2", Kind::kMissingSize, 0},
      {"YUV4MPEG2 W2 Htwo", Kind::kBadHeader, 13},
      {"YUV4MPEG2 W2 H0", Kind::kSizeOutOfRange, 13},
      {"YUV4MPEG2 W16384 H2", Kind::kSizeOutOfRange, 10},
      {"YUV4MPEG2 W99999999999999999999 H2", Kind::kBadHeader, 10},
      {"YUV4MPEG2 W2 H2 F30", Kind::kBadHeader, 16},
      {"YUV4MPEG2 W2 H2 F0:1", Kind::kBadHeader, 16},
      {"YUV4MPEG2 W2 H2 F-30:1", Kind::kBadHeader, 16},
      {"YUV4MPEG2 W2 H2 It", Kind::kInterlaced, 16},
      {"YUV4MPEG2 W2 H2 C420p10", Kind::kUnsupportedColour, 16},
      {"YUV4MPEG2 W2 H2 C444", Kind::kUnsupportedColour, 16},
      {"YUV4MPEG2 W2 H2 Cmono", Kind::kUnsupportedColour, 16},
  };
  for (const auto& [line, kind, offset] : cases) {
    const auto header = parse_y4m_header(line);
    ASSERT_FALSE(header) << line;
    EXPECT_EQ(header.error(), (Y4mError{kind, offset, 0}))
        << line << ": " << describe(header.error());
  }
}

TEST(Y4mStream, TruncationAtEveryByteIsAnErrorOrAShorterClip) {
  const std::string whole = "YUV4MPEG2 W2 H2\nFRAME\nabcdefFRAME Xcomment\nghijkl";
  for (size_t length = 0; length < whole.size(); ++length) {
    std::istringstream stream{whole.substr(0, length)};
    Y4mReader reader{stream};
    if (!reader.read_header()) {
      EXPECT_LT(length, 16U);
      continue;
    }
    auto picture = reader.read_picture();
    while (picture && picture->has_value()) {
      picture = reader.read_picture();
    }
    const bool between_pictures = length == 16 || length == 28;
    EXPECT_EQ(picture.has_value(), between_pictures) << length;
  }
}

}  // namespace
}  // namespace cress::media
