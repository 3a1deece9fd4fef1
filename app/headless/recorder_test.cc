#include "app/headless/recorder.hh"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "media/source/synthetic_camera.hh"
#include "transport/runtime/file_descriptor.hh"

namespace cress::headless {
namespace {

namespace fs = std::filesystem;

struct RecorderTest : ::testing::Test {
  RecorderTest() { fs::remove(file); }
  ~RecorderTest() override { fs::remove(file); }
  static media::MovieOptions options(int width, int height) {
    return {.width = width, .height = height, .frame_rate = {10, 1}};
  }
  const fs::path file = fs::path{testing::TempDir()} / "cress-recorder.y4m";
};

TEST_F(RecorderTest, WritesEverythingQueuedAtTheEnd) {
  media::SyntheticCamera camera{{.width = 32, .height = 16}};
  Recorder recorder{file, options(32, 16)};
  for (uint64_t i = 0; i < 5; ++i) {
    recorder.add_picture(static_cast<int64_t>(i) * 100ms, camera.picture(i));
  }
  recorder.finish(1s);
  EXPECT_EQ(recorder.left_out(), 0U);
  const size_t picture = 32 * 16 * 3 / 2 + std::string{"FRAME\n"}.size();
  const auto size = fs::file_size(file);
  EXPECT_GE(size, 10 * picture);  // a second at 10 frames per second, and a header
  EXPECT_LT(size, 11 * picture);
}

TEST_F(RecorderTest, FullDiskIsReportedAtTheEnd) {
  fs::create_symlink("/dev/full", file);
  Recorder recorder{file, options(640, 360)};
  media::SyntheticCamera camera{{.width = 640, .height = 360}};
  for (uint64_t i = 0; i < 5; ++i) {
    recorder.add_picture(static_cast<int64_t>(i) * 100ms, camera.picture(0));
  }
  try {
    recorder.finish(1s);
    FAIL() << "nothing was written";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string{error.what()}.find(file.string() + ": "), 0U) << error.what();
  }
}

TEST_F(RecorderTest, ADiskThatIsTooSlowHolds128PicturesAndNoCall) {
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  const runtime::FileDescriptor pipe{::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  Recorder recorder{file, options(640, 360)};
  media::SyntheticCamera camera{{.width = 640, .height = 360}};
  const media::PicturePtr picture = camera.picture(0);
  constexpr size_t kPictures = 200;
  for (size_t i = 0; i < kPictures; ++i) {
    recorder.add_picture(static_cast<int64_t>(i) * 100ms, picture);  // returns at once
  }
  // The writer holds one or two while the pipe is not read.
  const size_t kept = kPictures - recorder.left_out();
  EXPECT_GE(kept, Recorder::kWaitingMax);
  EXPECT_LE(kept, Recorder::kWaitingMax + 3);
  EXPECT_EQ(Recorder::kWaitingMax, 128U);
  std::thread reader{[&] {
    ::fcntl(pipe.get(), F_SETFL, 0);
    std::array<char, 1 << 16> bytes{};
    while (::read(pipe.get(), bytes.data(), bytes.size()) > 0) {
    }
  }};
  EXPECT_NO_THROW(recorder.finish(kPictures * 100ms));
  reader.join();
}

}  // namespace
}  // namespace cress::headless
