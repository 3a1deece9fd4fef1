#include "app/headless/recording.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"

namespace cress::headless {
namespace {

namespace fs = std::filesystem;

/// All of one grey.
media::PicturePtr grey(int level) {
  auto picture = std::make_shared<media::Picture>(media::make_picture(64, 48));
  std::fill_n(picture->y(), picture->luma_size(), static_cast<uint8_t>(level));
  return picture;
}

class RecordingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  RecordingOptions options(const fs::path& path, bool of_room) const {
    return {.path = path, .size = {64, 48}, .rate = {10, 1}, .of_room = of_room};
  }
  /// The grey of each picture in a file of 10 pictures a second.
  static std::vector<int> greys_in(const fs::path& path) {
    const auto video = media::open_video(path);
    std::vector<int> greys;
    const uint64_t count = fs::file_size(path) / (std::string{"FRAME\n"}.size() + 64 * 48 * 3 / 2);
    for (uint64_t i = 0; i < count; ++i) {
      greys.push_back(video->picture(i)->y()[0]);
    }
    return greys;
  }

  media::GstRuntime gst_;
  const fs::path folder_ = fs::path{testing::TempDir()} / "cress-recording";
};

TEST_F(RecordingTest, InACallThePeersPicturesAreKeptToTheLast) {
  Recording recording{options(folder_ / "call.y4m", false)};
  recording.add_picture(0ms, room::kNobody, grey(40));
  recording.add_picture(100ms, room::kNobody, grey(60));
  recording.add_picture(300ms, room::kNobody, grey(80));
  EXPECT_EQ(recording.finish(), 0U);
  // A picture is repeated until the next.
  EXPECT_EQ(greys_in(folder_ / "call.y4m"), (std::vector<int>{40, 60, 60, 80}));
}

TEST_F(RecordingTest, InARoomTheSpeakerIsKeptUntilAnotherSpeaks) {
  Recording recording{options(folder_ / "room.y4m", true)};
  const auto all_send = [&](Duration at) {
    recording.add_picture(at, 1, grey(40));
    recording.add_picture(at, 2, grey(80));
    recording.add_picture(at, 3, grey(120));
  };
  all_send(0ms);  // nobody has spoken: the first one
  recording.set_speaker(2);
  all_send(100ms);
  recording.set_speaker(7);  // without video
  all_send(200ms);
  recording.handle_left(3);
  all_send(300ms);
  recording.set_speaker(3);
  all_send(400ms);
  recording.handle_left(3);
  recording.set_speaker(room::kNobody);
  recording.add_picture(500ms, 1, grey(40));
  recording.add_picture(600ms, 1, grey(40));
  recording.finish();
  const std::vector<int> greys = greys_in(folder_ / "room.y4m");
  ASSERT_GE(greys.size(), 6U);
  EXPECT_EQ((std::vector<int>{greys.begin(), greys.begin() + 6}),
            (std::vector<int>{40, 80, 80, 80, 120, 40}));
}

TEST_F(RecordingTest, AFolderGetsAFileForEachOfTheFirst64Members) {
  Recording recording{options(folder_ / "new" / "", true)};
  for (room::MemberNumber member = 1; member <= 66; ++member) {
    recording.add_picture(0ms, member, grey(40));
  }
  recording.add_picture(100ms, 66, grey(40));
  recording.add_sound(0ms, {});
  EXPECT_EQ(recording.finish(), 0U);
  EXPECT_TRUE(fs::exists(folder_ / "new" / "member-1.webm"));
  EXPECT_TRUE(fs::exists(folder_ / "new" / "member-64.webm"));
  EXPECT_FALSE(fs::exists(folder_ / "new" / "member-65.webm"));
  EXPECT_FALSE(fs::exists(folder_ / "new" / "member-66.webm"));
}

TEST_F(RecordingTest, AnExistingFolderIsOneWithoutASlashTooButNotInACall) {
  Recording recording{options(folder_, true)};
  recording.add_picture(0ms, 5, grey(40));
  recording.finish();
  EXPECT_TRUE(fs::exists(folder_ / "member-5.webm"));
  EXPECT_THROW(Recording(options(folder_, false)), std::runtime_error);
}

TEST_F(RecordingTest, OnlyAWebmFileHasSound) {
  const auto size_of = [&](const char* name, bool with_sound) {
    Recording recording{options(folder_ / name, false)};
    media::AudioFrame loud;
    for (size_t i = 0; i < loud.size(); ++i) {
      loud[i] = static_cast<int16_t>(i * 7919 % 20'000);
    }
    for (int i = 0; i <= 10; ++i) {
      recording.add_picture(i * 20ms, room::kNobody, grey(40));
      if (with_sound) {
        recording.add_sound(i * 20ms, loud);
      }
    }
    recording.finish();
    return fs::file_size(folder_ / name);
  };
  EXPECT_GT(size_of("a.webm", true), size_of("b.webm", false) + 200);
  EXPECT_EQ(size_of("a.y4m", true), size_of("b.y4m", false));
}

TEST_F(RecordingTest, WithoutAPathNothingIsWritten) {
  Recording recording{options({}, true)};
  recording.add_picture(0ms, 1, grey(40));
  recording.add_sound(0ms, {});
  EXPECT_EQ(recording.finish(), 0U);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace cress::headless
