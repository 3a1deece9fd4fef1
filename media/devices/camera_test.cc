#include "media/devices/camera.hh"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "media/devices/camera_modes.hh"
#include "media/devices/device_test_tools.hh"
#include "media/gst/gst_movie_writer.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/y4m.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;
using Kind = DeviceEvent::Kind;

// DISPLAY for one test; X's library reads it when a screen is opened.
class ScopedDisplay {
 public:
  explicit ScopedDisplay(const std::string& name) {
    const char* before = std::getenv("DISPLAY");  // NOLINT(concurrency-mt-unsafe): set-up
    before_ = before == nullptr ? std::optional<std::string>{} : before;
    ::setenv("DISPLAY", name.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~ScopedDisplay() {
    if (before_) {
      ::setenv("DISPLAY", before_->c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    } else {
      ::unsetenv("DISPLAY");  // NOLINT(concurrency-mt-unsafe)
    }
  }
  ScopedDisplay(const ScopedDisplay&) = delete;
  ScopedDisplay& operator=(const ScopedDisplay&) = delete;

 private:
  std::optional<std::string> before_;
};

// An X server without a monitor, on a display of its own choice.
class VirtualScreen {
 public:
  VirtualScreen() {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) {
      return;
    }
    const std::string number_fd = std::to_string(pipe[1]);
    std::array<const char*, 9> arguments{"Xvfb",      "-displayfd", number_fd.c_str(),
                                         "-screen",   "0",          "640x480x24",
                                         "-nolisten", "tcp",        nullptr};
    std::array<const char*, 1> environment{nullptr};
    // posix_spawn wants char*, and changes nothing.
    if (::posix_spawnp(&server_, "Xvfb", nullptr, nullptr, const_cast<char**>(arguments.data()),
                       const_cast<char**>(environment.data())) != 0) {
      server_ = 0;
    }
    ::close(pipe[1]);
    std::string number;
    char digit = 0;
    while (server_ != 0 && ::read(pipe[0], &digit, 1) == 1 && digit != '\n') {
      number += digit;
    }
    ::close(pipe[0]);
    if (!number.empty()) {
      display_.emplace(":" + number);
    }
  }
  ~VirtualScreen() {
    if (server_ != 0) {
      ::kill(server_, SIGTERM);
      ::waitpid(server_, nullptr, 0);
    }
  }
  VirtualScreen(const VirtualScreen&) = delete;
  VirtualScreen& operator=(const VirtualScreen&) = delete;

  bool is_there() const { return display_.has_value(); }

 private:
  pid_t server_ = 0;
  std::optional<ScopedDisplay> display_;
};

class Camera : public ::testing::Test {
 protected:
  Camera() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("cress_camera_" + std::string(info->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Camera() override { fs::remove_all(folder_); }

  static std::optional<CapturedPicture> next(LiveCamera& camera, Duration patience = 20s) {
    return wait_for(
        camera.ready_fd(),
        [&] {
          while (camera.poll_event()) {
          }
          return camera.poll_picture();
        },
        patience);
  }
  static std::optional<DeviceEvent> event(LiveCamera& camera, Kind kind, Duration patience = 20s) {
    return event_of(
        camera, kind, [&] { camera.poll_picture(); }, patience);
  }
  template <class Act>
  static std::string error_of(Act act) {
    try {
      act();
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "no error";
  }
  // Each picture is grey, a step lighter than the one before.
  fs::path write_greys(const char* name, int count, FrameRate rate) const {
    fs::path path = folder_ / name;
    Y4mWriter writer{path, {64, 48, rate}};
    for (int i = 0; i < count; ++i) {
      Picture picture = make_picture(64, 48);
      std::fill_n(picture.y(), picture.luma_size(), static_cast<uint8_t>(40 + 20 * i));
      writer.write(picture);
    }
    writer.finish();
    return path;
  }

  GstRuntime runtime_;
  DeviceClock clock_ = steady_clock();
  fs::path folder_;
};

TEST_F(Camera, TheTestPictureComesAtTheWantedSizeAndRateAndMoves) {
  LiveCamera camera{{.id = "test", .size = {321, 181}, .rate = {30, 1}}, clock_};
  ASSERT_TRUE(event(camera, Kind::kStarted));
  const auto first = next(camera);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->picture->width, 320);
  EXPECT_EQ(first->picture->height, 180);
  TimePoint last = first->captured;
  int changed = 0;
  for (int i = 0; i < 30; ++i) {
    const auto picture = next(camera);
    ASSERT_TRUE(picture);
    EXPECT_GE(picture->captured, last);
    EXPECT_LE(picture->captured, clock_());
    last = picture->captured;
    changed += *picture->picture != *first->picture ? 1 : 0;
  }
  EXPECT_EQ(changed, 30);
  // 30 pictures take a second; the machine may be slow, but never too fast.
  EXPECT_GT(last - first->captured, 800ms);
}

TEST_F(Camera, TheNewestPictureWinsAndTheOthersAreCounted) {
  LiveCamera camera{{.id = "test", .size = {64, 48}, .rate = {30, 1}}, clock_};
  ASSERT_TRUE(next(camera));
  const TimePoint idle_since = clock_();
  while (camera.dropped() < 5) {
    ASSERT_LT(clock_() - idle_since, 20s);
  }
  const auto picture = next(camera);
  ASSERT_TRUE(picture);
  EXPECT_GT(picture->captured, idle_since);
  EXPECT_FALSE(camera.poll_picture());
}

TEST_F(Camera, TheDescriptorIsReadableExactlyWhileSomethingWaits) {
  LiveCamera camera{{.id = "gst:videotestsrc num-buffers=1", .size = {64, 48}}, clock_};
  ASSERT_TRUE(event(camera, Kind::kEnded));
  EXPECT_FALSE(camera.poll_picture());
  EXPECT_FALSE(is_readable(camera.ready_fd()));
  camera.retry();
  ASSERT_TRUE(wait_for(camera.ready_fd(), [&] { return camera.poll_picture(); }));
  EXPECT_TRUE(event(camera, Kind::kEnded)) << "events wait too";
  EXPECT_FALSE(is_readable(camera.ready_fd()));
}

TEST_F(Camera, FailedCameraIsReportedAndReturnsOnRetry) {
  LiveCamera camera{
      {.id = "gst:videotestsrc is-live=true ! identity error-after=5", .size = {64, 48}}, clock_};
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(event(camera, Kind::kStarted)) << round;
    const auto lost = event(camera, Kind::kLost);
    ASSERT_TRUE(lost) << round;
    EXPECT_TRUE(lost->words.starts_with("The pipeline is lost: ")) << lost->words;
    EXPECT_EQ(lost->words.find('\n'), std::string::npos);
    camera.retry();
  }
}

TEST_F(Camera, CameraWithoutPicturesCountsAsLost) {
  LiveCamera camera{{.id = "gst:videotestsrc is-live=true ! valve name=v drop=true",
                     .size = {64, 48},
                     .patience = 1s},
                    clock_};
  const auto lost = event(camera, Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->words, "The pipeline is lost: it gives no pictures.");
}

TEST_F(Camera, MissingCameraReportsLost) {
  LiveCamera camera{{.id = "v4l2:usb-0000:00:00.0-1:No such camera"}, clock_};
  const auto lost = event(camera, Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->words.starts_with("The camera is lost: ")) << lost->words;
}

TEST_F(Camera, ImpossibleIdIsRejectedAtOnceInOneLine) {
  std::ofstream(folder_ / "empty.webm") << "";
  const auto error_with = [&](const std::string& id) {
    return error_of([&] { LiveCamera camera({.id = id}, clock_); });
  };
  EXPECT_EQ(error_with("file:/nowhere/a.webm"),
            "/nowhere/a.webm: cannot be opened: No such file or directory");
  EXPECT_NE(error_with("file:" + (folder_ / "empty.webm").string()).find("is empty"),
            std::string::npos);
  const std::string unknown = error_with("gst:nosuchelement");
  EXPECT_NE(unknown.find("nosuchelement"), std::string::npos) << unknown;
}

TEST_F(Camera, AFileThatIsNoFilmIsLostWithAReason) {
  std::ofstream(folder_ / "text.webm") << "Dear diary,\ntoday I was filmed.\n";
  LiveCamera camera{{.id = "file:" + (folder_ / "text.webm").string()}, clock_};
  const auto lost = event(camera, Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_NE(lost->words.find("text.webm is lost: "), std::string::npos) << lost->words;
}

TEST_F(Camera, FileLoopsAtItsRate) {
  // 5 pictures at 10 a second: half a second a round.
  for (const std::string name : {"greys.y4m", "greys.webm"}) {
    const fs::path path = folder_ / name;
    if (name == "greys.y4m") {
      write_greys("greys.y4m", 5, {10, 1});
    } else {
      MovieWriter movie{path, {.width = 64, .height = 48, .frame_rate = {10, 1}}};
      std::ifstream file{folder_ / "greys.y4m", std::ios::binary};
      Y4mReader reader{file};
      ASSERT_TRUE(reader.read_header().has_value());
      for (int i = 0; i < 5; ++i) {
        const auto picture = reader.read_picture();
        movie.add_picture(100ms * i, picture->value());
      }
      movie.finish(500ms);
    }
    LiveCamera camera{{.id = "file:" + path.string(), .size = {64, 48}}, clock_};
    int rounds = 0;
    std::optional<TimePoint> begun;
    std::optional<std::pair<int, TimePoint>> last;
    while (rounds < 4) {
      const auto picture = next(camera);
      ASSERT_TRUE(picture) << name << " " << rounds;
      const int step = static_cast<int>(std::lround((picture->picture->y()[1000] - 40) / 20.0));
      begun = begun.value_or(picture->captured);
      if (last && step > last->first) {
        // A busy machine may miss a picture; the others keep their times.
        EXPECT_NEAR(to_seconds(picture->captured - last->second), 0.1 * (step - last->first), 0.06)
            << name;
      } else if (last) {
        ++rounds;
      }
      last = {step, picture->captured};
    }
    // Three or four rounds; a file may not say how long its last picture stays.
    const double seconds = to_seconds(last->second - *begun);
    EXPECT_GT(seconds, 3 * 0.4 - 0.1) << name;
    EXPECT_LT(seconds, 4 * 0.5 + 0.5) << name;
  }
}

TEST_F(Camera, AnotherShapeGetsBordersOrASmallerPicture) {
  const std::string id =
      "gst:videotestsrc is-live=true pattern=white ! video/x-raw,width=320,height=240";
  LiveCamera with_borders{{.id = id, .size = {320, 180}}, clock_};
  const auto wide = next(with_borders);
  ASSERT_TRUE(wide);
  ASSERT_EQ(wide->picture->width, 320);
  ASSERT_EQ(wide->picture->height, 180);
  constexpr size_t kMiddle = size_t{90} * 320;
  EXPECT_LT(wide->picture->y()[kMiddle + 10], 30) << "black at the side";
  EXPECT_GT(wide->picture->y()[kMiddle + 160], 220) << "white in the middle";
  LiveCamera inside{{.id = id, .size = {320, 180}, .fit = PictureFit::kInside}, clock_};
  const auto narrow = next(inside);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->picture->width, 240);
  EXPECT_EQ(narrow->picture->height, 180);
  EXPECT_GT(narrow->picture->y()[size_t{90} * 240 + 10], 220);
}

TEST_F(Camera, ExistingScreenIsCaptured) {
  VirtualScreen screen;
  if (!screen.is_there()) {
    GTEST_SKIP() << "no Xvfb to make a screen with";
  }
  LiveCamera camera{{.id = "screen", .size = {320, 240}, .rate = {10, 1}}, clock_};
  for (int i = 0; i < 5; ++i) {
    const auto picture = next(camera);
    ASSERT_TRUE(picture);
    EXPECT_EQ(picture->picture->width, 320);
    EXPECT_EQ(picture->picture->height, 240);
    EXPECT_EQ(picture->picture->y()[0], 16) << "an empty screen is black";
  }
}

TEST_F(Camera, MissingScreenReportsLost) {
  ScopedDisplay nowhere{":7654321"};
  LiveCamera camera{{.id = "screen"}, clock_};
  const auto lost = event(camera, Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->words.starts_with("The screen is lost: ")) << lost->words;
}

TEST_F(Camera, JpegOfTheFullRangeBecomesStudioRange) {
  LiveCamera camera{{.id = "gst:videotestsrc is-live=true pattern=white "
                           "! video/x-raw,width=64,height=48,format=I420 ! jpegenc ! jpegdec",
                     .size = {64, 48}},
                    clock_};
  const auto picture = next(camera);
  ASSERT_TRUE(picture);
  EXPECT_NEAR(picture->picture->y()[1500], 235, 2);
}

TEST_F(Camera, FastSourceIsThinnedOut) {
  LiveCamera camera{{.id = "gst:videotestsrc is-live=true ! video/x-raw,framerate=60/1",
                     .size = {64, 48},
                     .rate = {15, 1}},
                    clock_};
  const auto first = next(camera);
  ASSERT_TRUE(first);
  std::optional<CapturedPicture> last;
  for (int i = 0; i < 15; ++i) {
    last = next(camera);
    ASSERT_TRUE(last);
  }
  EXPECT_GT(last->captured - first->captured, 900ms);
}

TEST_F(Camera, PicturesWithoutATimeAreAllKept) {
  std::ofstream(folder_ / "one.raw", std::ios::binary) << std::string(64 * 48 * 3 / 2, 'x');
  LiveCamera camera{
      {.id = "gst:multifilesrc num-buffers=10 location=" + (folder_ / "one.raw").string() +
             " caps=video/x-raw,format=I420,width=64,height=48,framerate=30/1",
       .size = {64, 48}},
      clock_};
  uint64_t taken = 0;
  ASSERT_TRUE(event_of(camera, Kind::kEnded, [&] { taken += camera.poll_picture() ? 1U : 0U; }));
  taken += camera.poll_picture() ? 1U : 0U;
  EXPECT_EQ(taken + camera.dropped(), 10U);
}

TEST(CameraModes, ChoosesByRateThenSizeThenRaw) {
  const std::vector<CameraMode> modes{
      {{640, 480}, {30, 1}, false}, {{1280, 720}, {10, 1}, false}, {{640, 480}, {30, 1}, true},
      {{1280, 720}, {30, 1}, true}, {{1920, 1080}, {30, 1}, true}, {{320, 240}, {30, 1}, false},
      {{1280, 720}, {60, 1}, true},
  };
  const FrameRate rate{30, 1};
  EXPECT_EQ(choose_camera_mode(modes, {1280, 720}, rate), modes[3]);
  EXPECT_EQ(choose_camera_mode(modes, {640, 360}, rate), modes[0]);
  EXPECT_EQ(choose_camera_mode(modes, {320, 180}, rate), modes[5]);
  EXPECT_EQ(choose_camera_mode(modes, {3840, 2160}, rate), modes[4]);
  EXPECT_EQ(choose_camera_mode(modes, {1280, 720}, {60, 1}), modes[6]);
  EXPECT_EQ(choose_camera_mode({}, {640, 360}, rate), std::nullopt);
}

TEST(CameraModes, AreTheUsablePartOfWhatACameraOffers) {
  const GstRuntime gstreamer;
  const auto modes_in = [](const char* caps) {
    std::vector<CameraMode> modes;
    for (const OfferedMode& one :
         modes_of(GstOwned<GstCaps>{gst_caps_from_string(caps)}, {640, 360}, {30, 1})) {
      modes.push_back(one.mode);
    }
    return modes;
  };
  using Modes = std::vector<CameraMode>;
  EXPECT_EQ(modes_in("image/jpeg,width=2,height=2,framerate=15/1"),
            (Modes{{{2, 2}, {15, 1}, true}}));
  EXPECT_EQ(modes_in("image/jpeg,width=1,height=2,framerate=15/1"), Modes{});
  EXPECT_EQ(modes_in("image/jpeg,width=2,height=1,framerate=15/1"), Modes{});
  EXPECT_EQ(modes_in("image/jpeg,width=320,height=180,framerate=0/1"), Modes{});
  EXPECT_EQ(modes_in("image/jpeg,height=180,framerate=15/1"), Modes{}) << "without a width";
  EXPECT_EQ(modes_in("video/x-raw,width=[16,1920],height=[16,180],framerate=[1/1,60/1]"),
            (Modes{{{640, 180}, {30, 1}, false}}));
  EXPECT_EQ(modes_in("video/x-raw,width={320,640},height=180,framerate=[1/1,10/1]"),
            (Modes{{{320, 180}, {10, 1}, false}, {{640, 180}, {10, 1}, false}}));
  EXPECT_EQ(modes_in("video/x-raw(memory:DMABuf),width=320,height=180,framerate=15/1"), Modes{});
  EXPECT_EQ(modes_in("video/x-h264,width=320,height=180,framerate=15/1"), Modes{});
  EXPECT_EQ(modes_in("ANY"), Modes{});
}

TEST(CameraModes, FittedSizeKeepsTheShapeAndIsEven) {
  EXPECT_EQ(fitted_size({1280, 720}, 1, 1, {640, 360}), (PictureSize{640, 360}));
  EXPECT_EQ(fitted_size({640, 480}, 1, 1, {1280, 720}), (PictureSize{640, 480}));
  EXPECT_EQ(fitted_size({640, 480}, 1, 1, {640, 360}), (PictureSize{480, 360}));
  EXPECT_EQ(fitted_size({720, 576}, 16, 15, {640, 480}), (PictureSize{640, 480}));
  EXPECT_EQ(fitted_size({4000, 2}, 1, 1, {640, 360}), (PictureSize{640, 2}));
  for (int width = 2; width < 400; width += 7) {
    for (int height = 2; height < 400; height += 11) {
      const PictureSize fitted = fitted_size({width, height}, 1, 1, {200, 100});
      EXPECT_EQ(fitted.width % 2 + fitted.height % 2, 0);
      EXPECT_LE(fitted.width, 200);
      EXPECT_LE(fitted.height, 100);
      EXPECT_GE(std::min(fitted.width, fitted.height), 2);
    }
  }
}

TEST(RateLimits, KeepAJitteringStreamWholeAndHalveOneThatIsTwiceAsFast) {
  RateLimit same{{30, 1}};
  RateLimit half{{30, 1}};
  int kept_of_same = 0;
  int kept_of_double = 0;
  for (int i = 0; i < 300; ++i) {
    const Duration jitter = i % 2 == 0 ? 6ms : -6ms;
    kept_of_same += same.keeps(FrameRate{30, 1}.time_of(i) + 10ms + jitter) ? 1 : 0;
    kept_of_double += half.keeps(FrameRate{60, 1}.time_of(i)) ? 1 : 0;
  }
  EXPECT_EQ(kept_of_same, 300);
  EXPECT_EQ(kept_of_double, 150);
}

TEST(RateLimits, BeginAgainAfterAPauseOfMoreThanFourPictures) {
  for (const bool is_longer : {false, true}) {
    RateLimit limit{{10, 1}};
    EXPECT_TRUE(limit.keeps(0ms));
    const Duration next = 100ms + 4 * 100ms + (is_longer ? 1ms : 0ms);
    EXPECT_TRUE(limit.keeps(next));
    EXPECT_EQ(limit.keeps(next + 50ms), !is_longer) << "what was missed may be made up for";
  }
}

TEST(RateLimits, GoOnWhenTheTimesBeginAgain) {
  RateLimit limit{{30, 1}};
  for (int round = 0; round < 3; ++round) {
    int kept = 0;
    for (int i = 0; i < 30; ++i) {
      kept += limit.keeps(FrameRate{30, 1}.time_of(i)) ? 1 : 0;
    }
    EXPECT_EQ(kept, 30) << round;
  }
}

}  // namespace
}  // namespace cress::media
