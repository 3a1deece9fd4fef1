// A screen that the user picks in the desktop's dialog, through the portal and PipeWire themselves.
// Skipped if one of these programs is missing.

#include "media/devices/screen_portal.hh"

#include <gtest/gtest.h>

#include <string>

#include "media/devices/camera.hh"
#include "media/devices/device_test_tools.hh"
#include "media/devices/devices.hh"
#include "media/devices/portal_test_tools.hh"
#include "media/gst/gst_runtime.hh"

namespace cress::media {
namespace {

using Kind = DeviceEvent::Kind;
using Answer = DialogOfADesktop::Answer;

// First: a process that has used a session bus keeps using that one.
TEST(ScreenPortalWithoutADesktop, IsReportedInWords) {
  const GstRuntime gst;
  if (!has_element("pipewiresrc")) {
    GTEST_SKIP() << "no gstreamer1.0-pipewire";
  }
  ::setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere",
           1);  // NOLINT(concurrency-*): one thread
  LiveCamera camera{{.id = kPortalDevice, .size = {160, 120}}, steady_clock()};
  const auto refused = event_of(camera, Kind::kRefused, [&] { camera.poll_picture(); });
  ::unsetenv("DBUS_SESSION_BUS_ADDRESS");  // NOLINT(concurrency-*): one thread
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->words.find("no session bus"), std::string::npos) << refused->words;
}

class ScreenPortalTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    gst_.emplace();
    if (PortalDesktop::missing().empty()) {
      desktop_.emplace();
    }
  }
  static void TearDownTestSuite() {
    desktop_.reset();
    gst_.reset();
  }
  void SetUp() override {
    if (!desktop_) {
      GTEST_SKIP() << "no " << PortalDesktop::missing() << " to share a screen with";
    }
    ASSERT_TRUE(desktop_->is_up());
    desktop_->dialog().answer = Answer::kYes;
    asked_before_ = desktop_->dialog().asked;
  }
  static PortalDesktop& desktop() { return *desktop_; }
  int asked() const { return desktop_->dialog().asked - asked_before_; }
  static std::optional<CapturedPicture> next(LiveCamera& camera) {
    return wait_for(camera.ready_fd(), [&] { return camera.poll_picture(); });
  }
  static std::optional<DeviceEvent> next(LiveCamera& camera, Kind kind) {
    return event_of(camera, kind, [&] { camera.poll_picture(); });
  }
  LiveCameraOptions options() const { return {.id = kPortalDevice, .size = {160, 120}}; }

  const DeviceClock clock_ = steady_clock();

 private:
  // One for all: a process has one session bus.
  static inline std::optional<GstRuntime> gst_;
  static inline std::optional<PortalDesktop> desktop_;
  int asked_before_ = 0;
};

TEST_F(ScreenPortalTest, PickedScreenIsCaptured) {
  LiveCamera camera{options(), clock_};
  const auto first = next(camera);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->picture->width, 160);
  EXPECT_EQ(first->picture->height, 120);
  bool moves = false;  // the ball does
  for (int i = 0; i < 30 && !moves; ++i) {
    const auto another = next(camera);
    ASSERT_TRUE(another);
    moves = another->picture->data != first->picture->data;
  }
  EXPECT_TRUE(moves);
  EXPECT_EQ(asked(), 1);
}

TEST_F(ScreenPortalTest, RefusalIsReportedAndAskedAgainOnlyOnRequest) {
  desktop().dialog().answer = Answer::kNo;
  LiveCamera camera{options(), clock_};
  const auto refused = next(camera, Kind::kRefused);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->words, "The screen is not shared: it was not allowed.");
  EXPECT_EQ(asked(), 1);
  desktop().dialog().answer = Answer::kYes;
  camera.retry();
  EXPECT_TRUE(next(camera));
  EXPECT_EQ(asked(), 2);
}

TEST_F(ScreenPortalTest, DesktopCanEndSharing) {
  LiveCamera camera{options(), clock_};
  ASSERT_TRUE(next(camera));
  desktop().dialog().end_sharing();
  const auto refused = next(camera, Kind::kRefused);
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->words.starts_with("The screen is no longer shared: ")) << refused->words;
}

TEST_F(ScreenPortalTest, OpenDialogBlocksNothing) {
  desktop().dialog().answer = Answer::kNone;
  const TimePoint begin = clock_();
  {
    LiveCamera camera{options(), clock_};
    for (int i = 0; i < 2000 && asked() == 0; ++i) {
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(asked(), 1);
  }
  EXPECT_LT(clock_() - begin, 20s);
}

// Last: it removes the portal.
TEST_F(ScreenPortalTest, MissingPortalIsReportedWithAdvice) {
  desktop().close_portal();
  LiveCamera camera{options(), clock_};
  const auto refused = next(camera, Kind::kRefused);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->words.find("xdg-desktop-portal"), std::string::npos) << refused->words;
}

}  // namespace
}  // namespace cress::media
