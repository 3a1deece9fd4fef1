#include "media/gst/sound_writer.hh"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace cress::media {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kHeader = 44;

class SoundFile : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream{path_} << "the older one";
  }
  void TearDown() override { fs::remove_all(folder_); }

  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator{folder_}, fs::directory_iterator{}));
  }

  fs::path folder_ =
      fs::temp_directory_path() /
      (std::string{"cress_sound_"} + testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::path path_ = folder_ / "call.wav";
};

TEST_F(SoundFile, ReplacesTheOlderOneOnceItIsFinished) {
  {
    SoundWriter writer{path_};
    writer.add_sound(0ms, AudioFrame{});
    EXPECT_EQ(fs::file_size(path_), 13U);
    writer.finish(1s);
    EXPECT_EQ(fs::file_size(path_), kHeader + 2 * 48'000U);
  }
  EXPECT_EQ(fs::file_size(path_), kHeader + 2 * 48'000U);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SoundFile, UnfinishedItLeavesTheOlderOneAlone) {
  {
    SoundWriter writer{path_};
    writer.add_sound(0ms, AudioFrame{});
    EXPECT_EQ(files(), 2U);
  }
  EXPECT_EQ(fs::file_size(path_), 13U);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SoundFile, AnotherExtensionIsRejected) {
  EXPECT_THROW(SoundWriter{folder_ / "call.mp3"}, std::runtime_error);
  EXPECT_EQ(files(), 1U);
}

using SoundFileDeathTest = SoundFile;

TEST_F(SoundFileDeathTest, NothingIsAddedOnceItIsFinished) {
  SoundWriter writer{path_};
  writer.finish();
  EXPECT_DEATH(writer.finish(), "it is finished");
  EXPECT_DEATH(writer.add_sound(1s, AudioFrame{}), "after the end");
}

}  // namespace
}  // namespace cress::media
