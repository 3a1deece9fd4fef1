// Goal: what the window is given to draw follows what a person does, and nothing of a call stays in
// it. Method: real calls over loopback, of test pictures and tones.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "app/desktop/desktop_test_tools.hh"
#include "app/desktop/settings/settings.hh"
#include "media/gst/gst_runtime.hh"

namespace cress::desktop {
namespace {

namespace fs = std::filesystem;
using ui::CallView;
using ui::Screen;

class CallViewTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<Desk> listening(const std::string& name) {
    auto desk = std::make_unique<Desk>(clock_, test_listener(name));
    EXPECT_TRUE(desk->is_on(Screen::kWaiting));
    return desk;
  }
  std::unique_ptr<Desk> joining(const Desk& to, const std::string& name) {
    DesktopCallOptions options = test_devices(name);
    options.join = link_of(to.view());
    auto desk = std::make_unique<Desk>(clock_, options);
    EXPECT_TRUE(desk->is_on(Screen::kInCall));
    return desk;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("cress-call-view-" + std::to_string(::getpid()));
  const runtime::MonotonicClock clock_;
  const media::GstRuntime gstreamer_;
};

bool has_no_own_picture(const CallView& view) { return view.own == ui::ShownPicture{}; }

TEST_F(CallViewTest, WithTheCameraOffThereIsNoOwnPicture) {
  const auto is_dark = [](const CallView& view) {
    return has_no_own_picture(view) && view.self.camera_off;
  };
  Desk alone{clock_, test_devices("Lea")};
  ASSERT_TRUE(alone.sees_moving(&CallView::own));
  alone.ask(ui::CameraOff{});
  EXPECT_TRUE(alone.stays(is_dark, 700ms)) << "in the preview";
  alone.ask(ui::StartListening{});
  ASSERT_TRUE(alone.is_on(Screen::kWaiting));
  EXPECT_TRUE(alone.stays(is_dark, 700ms)) << "in a call that begins so";
  alone.ask(ui::CameraOn{});
  ASSERT_TRUE(alone.sees_moving(&CallView::own));
  alone.ask(ui::CameraOff{});
  EXPECT_TRUE(alone.stays(is_dark, 700ms)) << "in a call";
}

TEST_F(CallViewTest, NothingOfACallIsLeftAfterIt) {
  const auto lea = listening("Lea");
  const auto jo = joining(*lea, "Jo");
  ASSERT_TRUE(jo->sees([](const CallView& view) {
    return view.remote.picture != nullptr && view.own.picture != nullptr && !view.code.empty() &&
           view.path == "Direct" && view.peer.name == "Lea" && view.connected_at &&
           view.health.sent > DataRate{} && view.history.size() > 1;
  }));
  jo->ask(ui::SetFullScreen{true});
  ASSERT_TRUE(jo->sees([](const CallView& view) { return view.full_screen; }));
  jo->ask(ui::HangUp{});
  ASSERT_TRUE(jo->is_on(Screen::kEnded));
  const auto left_of = [](const CallView& view) {
    std::string left;
    const auto note = [&left](bool is_left, const char* what) { left += is_left ? what : ""; };
    note(view.remote != ui::ShownPicture{}, " remote");
    note(!has_no_own_picture(view), " own");
    note(!view.code.empty(), " code");
    note(!view.path.empty(), " path");
    note(view.peer != ui::Person{}, " peer");
    note(view.connected_at.has_value(), " connected_at");
    note(view.health.sent != DataRate{}, " health");
    note(!view.history.empty(), " history");
    note(!view.status.text.empty(), " status");
    note(!view.link.empty() || !view.link_warning.empty(), " link");
    note(view.full_screen, " full_screen");
    return left;
  };
  EXPECT_TRUE(jo->stays([&](const CallView& view) { return left_of(view).empty(); }, 1500ms))
      << "left:" << left_of(jo->view());
}

TEST_F(CallViewTest, BothEndsReadTheSameCode) {
  const auto lea = listening("Lea");
  const auto jo = joining(*lea, "Jo");
  const auto has_code = [](const CallView& view) { return !view.code.empty(); };
  ASSERT_TRUE(lea->sees(has_code));
  ASSERT_TRUE(jo->sees(has_code));
  EXPECT_EQ(lea->view().code, jo->view().code);
}

TEST_F(CallViewTest, OneWhoWaitsOrTalksJoinsNoOtherCall) {
  const auto lea = listening("Lea");
  const auto jo = joining(*lea, "Jo");
  lea->ask(ui::Join{"nonsense"});
  lea->ask(ui::StartListening{});
  lea->ask(ui::BackToStart{});
  EXPECT_TRUE(lea->stays(
      [](const CallView& view) { return view.screen == Screen::kInCall && view.notices.empty(); },
      500ms));
}

TEST_F(CallViewTest, ADismissedNoticeIsGoneAndTheOthersStay) {
  Desk lea{clock_, test_devices("Lea")};
  ASSERT_TRUE(lea.is_on(Screen::kStart));
  lea.ask(ui::Join{"http://example.org"});
  lea.ask(ui::Join{"cress://192.0.2.7:4433/"});
  ASSERT_TRUE(lea.is_told("Not a Cress link"));
  ASSERT_TRUE(lea.is_told("no secret"));
  const size_t count = lea.view().notices.size();
  lea.ask(ui::DismissNotice{lea.view().notices.back().id});
  EXPECT_TRUE(lea.sees([&](const CallView& view) { return view.notices.size() == count - 1; }));
}

TEST_F(CallViewTest, ChosenDevicesAndRelayAreSaved) {
  DesktopCallOptions options;
  options.settings_path = folder_ / "settings.json";
  options.speaker = media::kNoSpeaker;
  {
    Desk lea{clock_, options};
    ASSERT_TRUE(lea.sees([](const CallView& view) {
      return !view.cameras.all.empty() && !view.microphones.all.empty();
    }));
    lea.ask(ui::ChooseDevice{ui::DeviceKind::kCamera, media::kTestDevice});
    lea.ask(ui::ChooseDevice{ui::DeviceKind::kMicrophone, media::kTestDevice});
    lea.ask(ui::ChooseRelay{"relay.example:4747"});
    lea.ask(ui::ChooseRelay{std::string(kRelayMax + 1, 'x')});
    EXPECT_TRUE(lea.sees([](const CallView& view) {
      return view.cameras.chosen == media::kTestDevice &&
             view.microphones.chosen == media::kTestDevice && view.relay == "relay.example:4747";
    }));
    EXPECT_TRUE(lea.sees_moving(&CallView::own)) << "the preview takes the chosen camera";
    EXPECT_TRUE(lea.sees([](const CallView& view) { return view.microphone_dbfs > -60; }));
  }
  const Settings kept = load_settings(options.settings_path).settings;
  EXPECT_EQ(kept.camera, media::kTestDevice);
  EXPECT_EQ(kept.microphone, media::kTestDevice);
  EXPECT_EQ(kept.speaker, media::kDefaultDevice) << "an option holds for one run";
  EXPECT_EQ(kept.relay, "relay.example:4747");
}

TEST_F(CallViewTest, TheOtherOnesMuteIsNotThisOnes) {
  const auto lea = listening("Lea");
  const auto jo = joining(*lea, "Jo");
  lea->ask(ui::TalkPressed{});
  lea->ask(ui::Mute{});
  EXPECT_TRUE(jo->sees([](const CallView& view) { return view.peer.muted && !view.self.muted; }));
  EXPECT_TRUE(lea->stays(
      [](const CallView& view) {
        return view.self.muted && !view.push_to_talk && !view.peer.muted;
      },
      300ms));
  lea->ask(ui::HangUp{});
  ASSERT_TRUE(lea->is_on(Screen::kEnded));
  EXPECT_TRUE(lea->view().self.muted) << "mute carries over to the next call";
}

}  // namespace
}  // namespace cress::desktop
