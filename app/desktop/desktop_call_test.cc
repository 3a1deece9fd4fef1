#include "app/desktop/desktop_call.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>

#include "app/desktop/desktop_test_tools.hh"
#include "app/desktop/errands.hh"
#include "app/desktop/settings/settings.hh"
#include "app/live/kept_identity.hh"
#include "app/live/live_call.hh"
#include "media/devices/devices.hh"
#include "media/devices/portal_test_tools.hh"
#include "media/gst/gst_runtime.hh"
#include "transport/base/text_file.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/secure/link/link.hh"

namespace cress::desktop {
namespace {

namespace fs = std::filesystem;
using ui::Screen;

class DesktopCallTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  /// Two in a call: `lea` started it, `jo` joined.
  struct Pair {
    std::unique_ptr<Desk> lea;
    std::unique_ptr<Desk> jo;
  };
  Pair connected() {
    DesktopCallOptions options = test_listener("Lea");
    Pair pair;
    pair.lea = std::make_unique<Desk>(clock_, options);
    EXPECT_TRUE(pair.lea->is_on(Screen::kWaiting));
    options = test_devices("Jo");
    options.join = link_of(pair.lea->view());
    pair.jo = std::make_unique<Desk>(clock_, options);
    EXPECT_TRUE(pair.lea->is_on(Screen::kInCall));
    EXPECT_TRUE(pair.jo->is_on(Screen::kInCall));
    return pair;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("cress-desktop-" + std::to_string(::getpid()));
  const runtime::MonotonicClock clock_;
  const media::GstRuntime gstreamer_;
};

TEST_F(DesktopCallTest, CallGoesFromStartToLinkToEnd) {
  Desk lea{clock_, test_devices("Lea")};
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::own)) << "no preview";
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.microphone_dbfs > -60; }));
  EXPECT_EQ(lea.view().screen, Screen::kStart);

  lea.ask(ui::StartListening{});
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  const std::string link = link_of(lea.view());
  EXPECT_TRUE(link.starts_with("cress://")) << link;
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::own)) << "no own picture while waiting";

  Desk jo{clock_, test_devices("Jo")};
  jo.ask(ui::Join{link});
  ASSERT_TRUE(jo.is_on(Screen::kInCall));
  ASSERT_TRUE(lea.is_on(Screen::kInCall));
  EXPECT_TRUE(lea.view().connected_at);
  for (Desk* one : {&lea, &jo}) {
    EXPECT_TRUE(one->sees_moving(&ui::CallView::remote));
    EXPECT_TRUE(one->sees_moving(&ui::CallView::own));
    EXPECT_TRUE(one->sees([](const ui::CallView& v) { return v.history.size() > 5; }));
    EXPECT_TRUE(one->sees([](const ui::CallView& v) {
      return v.health.sent > DataRate{} && v.health.uplink_forecast > DataRate{};
    }));
    EXPECT_TRUE(one->sees([](const ui::CallView& v) { return v.speaker_dbfs > -60; }))
        << "the other's tone is not heard";
  }
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.peer.name == "Jo"; }));
  EXPECT_TRUE(jo.sees([](const ui::CallView& v) { return v.peer.name == "Lea"; }));

  jo.ask(ui::HangUp{});
  EXPECT_TRUE(jo.is_on(Screen::kEnded));
  EXPECT_TRUE(jo.view().ended_reason.starts_with("You hung up. The call lasted 0:"))
      << jo.view().ended_reason;
  EXPECT_TRUE(lea.is_on(Screen::kEnded));
  EXPECT_TRUE(lea.view().ended_reason.starts_with("Jo hung up. The call lasted 0:"))
      << lea.view().ended_reason;
  EXPECT_EQ(lea.view().remote, ui::ShownPicture{});
  lea.ask(ui::BackToStart{});
  EXPECT_TRUE(lea.is_on(Screen::kStart));
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::own)) << "the preview is not back";
}

bool has_line(const ui::CallView& view, const std::string& writer, const std::string& text) {
  return view.chat && std::ranges::any_of(*view.chat, [&](const ui::ChatLine& line) {
           return line.text == text && line.writer == writer && line.is_own == writer.empty() &&
                  line.state == ui::ChatLine::State::kThere;
         });
}

TEST_F(DesktopCallTest, WhatIsWrittenIsReadAndForgottenAtTheEnd) {
  const Pair pair = connected();
  Desk& lea = *pair.lea;
  Desk& jo = *pair.jo;
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.peer.name == "Jo"; }));
  EXPECT_TRUE(jo.sees([](const ui::CallView& v) { return v.peer.name == "Lea"; }));
  lea.ask(ui::SendChat{" hello\n"});
  EXPECT_TRUE(jo.sees([](const ui::CallView& v) { return has_line(v, "Lea", "hello"); }));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return has_line(v, "", "hello"); }));
  for (int i = 0; i < 8; ++i) {
    jo.ask(ui::SendChat{"again"});
  }
  EXPECT_TRUE(jo.is_told("too fast"));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return has_line(v, "Jo", "again"); }));
  jo.ask(ui::SendChat{" \x01 "});
  jo.ask(ui::HangUp{});
  EXPECT_TRUE(lea.is_on(Screen::kEnded));
  EXPECT_EQ(lea.view().chat, nullptr);
  lea.ask(ui::SendChat{"still there?"});
  EXPECT_TRUE(jo.is_on(Screen::kEnded));
  EXPECT_EQ(jo.view().chat, nullptr);
}

TEST_F(DesktopCallTest, WhatThePanelShowsIsSavedWithoutTheLink) {
  DesktopCallOptions options = test_listener("Lea");
  options.reports_path = folder_ / "reports";
  options.local_time = [] { return std::string{"2026-11-25 10:04:05"}; };
  Desk lea{clock_, options};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  const std::string link = link_of(lea.view());
  lea.ask(ui::SaveReport{});  // nothing is shown yet
  DesktopCallOptions joiner = test_devices("Jo");
  joiner.join = link;
  Desk jo{clock_, joiner};
  ASSERT_TRUE(lea.sees([](const ui::CallView& v) { return v.history.size() > 5; }));
  lea.ask(ui::SaveReport{});
  ASSERT_TRUE(lea.is_told("Saved in " + (folder_ / "reports" / "2026-11-25_10-04-05").string()));
  const std::string secret = link.substr(link.find('#') + 1);
  size_t files = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder_ / "reports")) {
    if (file.is_regular_file()) {
      ++files;
      const std::string text = load_text(file.path(), DataSize{1'000'000});
      EXPECT_EQ(text.find(secret), std::string::npos) << file.path();
      EXPECT_EQ(text.find("127.0.0.1"), std::string::npos) << file.path();
    }
  }
  EXPECT_EQ(files, 3U) << "one report";
  ASSERT_TRUE(jo.is_on(Screen::kInCall));
  jo.ask(ui::SaveReport{});
  EXPECT_TRUE(jo.is_told("Not saved: there is no home folder"));
}

TEST_F(DesktopCallTest, AReportThatCannotBeSavedIsOneClearNotice) {
  fs::create_directories(folder_);
  save_text("a file", folder_ / "reports");
  DesktopCallOptions options = test_listener("Lea");
  options.reports_path = folder_ / "reports";
  Desk lea{clock_, options};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  DesktopCallOptions joiner = test_devices("Jo");
  joiner.join = link_of(lea.view());
  Desk jo{clock_, joiner};
  ASSERT_TRUE(lea.is_on(Screen::kInCall));
  lea.ask(ui::SaveReport{});
  EXPECT_TRUE(lea.is_told("Not saved: " + (folder_ / "reports").string() + ": "));
}

TEST_F(DesktopCallTest, EachEndShowsTheOthersChanges) {
  const Pair pair = connected();
  Desk& lea = *pair.lea;
  Desk& jo = *pair.jo;
  const auto peer = [](auto wanted) {
    return [wanted](const ui::CallView& view) { return wanted(view.peer); };
  };
  lea.ask(ui::Mute{});
  EXPECT_TRUE(jo.sees(peer([](const ui::Person& p) { return p.muted; })));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.self.muted; }));
  EXPECT_TRUE(jo.hears_nothing_for(2s)) << "a muted tone is heard";

  lea.ask(ui::TalkPressed{});
  EXPECT_TRUE(jo.sees(peer([](const ui::Person& p) { return !p.muted; })));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.push_to_talk && v.self.muted; }));
  EXPECT_TRUE(jo.sees([](const ui::CallView& v) { return v.speaker_dbfs > -60; }));
  lea.ask(ui::TalkReleased{});
  EXPECT_TRUE(jo.sees(peer([](const ui::Person& p) { return p.muted; })));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return !v.push_to_talk; }));
  lea.ask(ui::Unmute{});
  EXPECT_TRUE(jo.sees(peer([](const ui::Person& p) { return !p.muted; })));

  lea.ask(ui::CameraOff{});
  EXPECT_TRUE(jo.sees(peer([](const ui::Person& p) { return p.camera_off; })));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.self.camera_off; }));
  lea.ask(ui::CameraOn{});
  EXPECT_TRUE(jo.sees(peer([](const ui::Person& p) { return !p.camera_off; })));
  EXPECT_TRUE(jo.sees_moving(&ui::CallView::remote));

  lea.ask(ui::ChooseName{"Leandra"});
  EXPECT_TRUE(jo.sees(peer([](const ui::Person& p) { return p.name == "Leandra"; })));
}

TEST_F(DesktopCallTest, EndingProgramClosesTheCall) {
  const Pair pair = connected();
  EXPECT_TRUE(pair.lea->sees([](const ui::CallView& v) { return v.peer.name == "Jo"; }));
  const TimePoint before = clock_.now();
  pair.jo->ask(ui::HangUp{});
  pair.jo->ask(ui::Quit{});
  while (!pair.jo->call().has_quit()) {
    pair.jo->call().wait_for_news(clock_.now() + 10ms);
    ASSERT_LT(clock_.now() - before, kPatience);
  }
  EXPECT_TRUE(pair.lea->is_on(Screen::kEnded));
  EXPECT_TRUE(pair.lea->view().ended_reason.starts_with("Jo hung up."))
      << pair.lea->view().ended_reason;

  const Pair second = connected();
  second.lea->close();  // without a close message
  EXPECT_TRUE(second.jo->is_on(Screen::kEnded));
}

/// The end of a call that crashes; with its loop stopped it is silent.
class FrozenEnd {
 public:
  FrozenEnd(const runtime::MonotonicClock& clock, const std::string& link) : loop_(clock) {
    const auto parsed = secure::parse_link(link);
    live::LiveCallOptions options{.role = secure::Role::kJoiner, .secret = parsed->secret};
    options.listener = *runtime::parse_address(secure::host_and_port(*parsed));
    call_ = std::make_unique<live::LiveCall>(clock, loop_, options, live::LiveOutputs{});
    runtime::run_until(
        clock, loop_, [this] { return call_->sample().connected; }, kPatience);
    runtime::run_until(
        clock, loop_, [] { return false; }, 300ms);
  }

 private:
  runtime::EventLoop loop_;
  std::unique_ptr<live::LiveCall> call_;
};

TEST_F(DesktopCallTest, TheUserDecidesWhoTakesASilentEndsPlace) {
  for (const bool lets_in : {true, false}) {
    Desk lea{clock_, test_listener("Lea")};
    ASSERT_TRUE(lea.is_on(Screen::kWaiting));
    const std::string link = link_of(lea.view());
    const FrozenEnd frozen{clock_, link};
    ASSERT_TRUE(lea.is_on(Screen::kInCall));
    DesktopCallOptions options = test_devices("Jo");
    options.join = link;
    Desk jo{clock_, options};
    ASSERT_TRUE(lea.sees([](const ui::CallView& v) { return !v.newcomer.empty(); }));
    const std::string code = lea.view().newcomer;
    EXPECT_TRUE(jo.sees([&](const ui::CallView& v) {
      return v.screen == Screen::kConnecting && v.status.text.find(code) != std::string::npos;
    })) << "the newcomer reads the code too";
    if (lets_in) {
      lea.ask(ui::AdmitNewcomer{code});
      EXPECT_TRUE(jo.is_on(Screen::kInCall));
      EXPECT_TRUE(lea.is_told("compare the codes"));
    } else {
      lea.ask(ui::RefuseNewcomer{});
      EXPECT_TRUE(jo.is_on(Screen::kEnded));
      EXPECT_TRUE(lea.is_on(Screen::kInCall));
    }
    EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.newcomer.empty(); }));
  }
}

TEST_F(DesktopCallTest, ItsIdentityIsKeptNextToTheSettings) {
  DesktopCallOptions options = test_listener("Lea");
  options.settings_path = folder_ / "settings.json";
  {
    Desk lea{clock_, options};
    ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  }
  const auto secret = live::kept_identity(folder_ / "identity");
  fs::permissions(folder_ / "identity", fs::perms::others_read, fs::perm_options::add);
  Desk again{clock_, options};
  EXPECT_TRUE(again.is_on(Screen::kWaiting)) << "a call goes on without it";
  EXPECT_TRUE(again.is_told("chmod 600"));
  EXPECT_EQ(secret.size(), 32U);
}

TEST_F(DesktopCallTest, BadLinkIsReportedAndHasNoOtherEffect) {
  Desk lea{clock_, test_devices("Lea")};
  lea.ask(ui::Join{"http://example.org"});
  EXPECT_TRUE(lea.is_told("Not a Cress link"));
  lea.ask(ui::Join{"cress://192.0.2.7:4433/"});
  EXPECT_TRUE(lea.is_told("no secret"));
  lea.ask(ui::Join{"cress://no-such-host.invalid:4433/#AAAAAAAAAAAAAAAAAAAAAA"});
  EXPECT_TRUE(lea.is_told("no-such-host.invalid"));
  EXPECT_TRUE(lea.is_on(Screen::kStart));
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::own));
}

TEST_F(DesktopCallTest, WrongSecretEndsWithAReadableMessage) {
  DesktopCallOptions options = test_listener("Lea");
  Desk lea{clock_, options};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  options = test_devices("Mallory");
  options.join =
      link_of(lea.view()).substr(0, link_of(lea.view()).find('#')) + "#AAAAAAAAAAAAAAAAAAAAAA";
  Desk mallory{clock_, options};
  EXPECT_TRUE(mallory.is_on(Screen::kEnded));
  EXPECT_NE(mallory.view().ended_reason.find("ask for its present link"), std::string::npos)
      << mallory.view().ended_reason;
  EXPECT_EQ(lea.call().view().screen, Screen::kWaiting);
}

TEST_F(DesktopCallTest, WaitingAndConnectingCanBeGivenUp) {
  Desk lea{clock_, test_devices("Lea")};
  lea.ask(ui::StartListening{});
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  const std::string link = link_of(lea.view());
  lea.ask(ui::HangUp{});
  EXPECT_TRUE(lea.is_on(Screen::kStart));
  EXPECT_TRUE(lea.view().link.empty());
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::own));
  lea.ask(ui::Join{link});  // that address is not in use any more
  EXPECT_TRUE(lea.is_on(Screen::kConnecting));
  lea.ask(ui::HangUp{});
  lea.ask(ui::StartListening{});  // while the last one is still closing
  EXPECT_TRUE(lea.is_on(Screen::kWaiting));
  EXPECT_NE(link_of(lea.view()), link);
}

TEST_F(DesktopCallTest, ARelayGivesALinkThatLeadsThere) {
  DesktopCallOptions options = test_devices("Lea");
  options.look_up = [](std::string_view place) {
    EXPECT_EQ(place, "relay.example:4747");
    return std::vector{*runtime::parse_address("127.0.0.1:9")};
  };
  Desk lea{clock_, options};
  lea.ask(ui::ChooseRelay{"relay.example:4747"});
  lea.ask(ui::StartListening{});
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  EXPECT_EQ(lea.view().relay, "relay.example:4747");
  EXPECT_TRUE(link_of(lea.view()).starts_with("cress://relay.example:4747/@call#"))
      << link_of(lea.view());
  EXPECT_EQ(lea.view().link_warning, "");
  lea.ask(ui::HangUp{});
  ASSERT_TRUE(lea.is_on(Screen::kStart));
  lea.ask(ui::ChooseRelay{"relay.example"});
  lea.ask(ui::StartListening{});
  EXPECT_TRUE(lea.is_told("not HOST:PORT"));
  lea.ask(ui::ChooseRelay{""});
  lea.ask(ui::StartListening{});
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  EXPECT_EQ(link_of(lea.view()).find("@call"), std::string::npos);
}

TEST_F(DesktopCallTest, ALinkThatOnlyThisMachineReachesIsWarnedAbout) {
  Desk lea{clock_, test_listener("Lea")};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  EXPECT_EQ(lea.view().link_warning,
            "Only this machine can reach the address in this link: others can call you through a "
            "relay.");
}

TEST_F(DesktopCallTest, EachAddressOfALinksNameIsTried) {
  Desk lea{clock_, test_listener("Lea")};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  DesktopCallOptions options = test_devices("Jo");
  std::string link = link_of(lea.view());
  options.join = link.replace(link.find("127.0.0.1"), 9, "desk.example");
  std::string asked;
  options.look_up = [&asked](std::string_view text) {
    asked = text;
    const std::string port{text.substr(text.rfind(':'))};
    return std::vector{*runtime::parse_address("127.0.0.2" + port),  // no peer there
                       *runtime::parse_address("127.0.0.1" + port)};
  };
  Desk jo{clock_, options};
  EXPECT_TRUE(jo.is_on(Screen::kInCall));
  EXPECT_TRUE(jo.sees_moving(&ui::CallView::remote));
  EXPECT_TRUE(asked.starts_with("desk.example:")) << asked;
}

TEST_F(DesktopCallTest, SilentNameServerDelaysNothing) {
  std::promise<void> answer;
  DesktopCallOptions options = test_devices("Lea");
  options.look_up = [answered = answer.get_future().share()](std::string_view) {
    answered.wait();
    return std::vector{*runtime::parse_address("127.0.0.1:9")};
  };
  const std::string link = "cress://desk.example:9/#AAAAAAAAAAAAAAAAAAAAAA";
  auto lea = std::make_unique<Desk>(clock_, options);
  for (int i = 0; i < kLookUpsMax; ++i) {
    lea->ask(ui::Join{link});
    EXPECT_TRUE(lea->is_on(Screen::kConnecting));
    lea->ask(ui::HangUp{});
    EXPECT_TRUE(lea->is_on(Screen::kStart));
  }
  EXPECT_TRUE(lea->sees_moving(&ui::CallView::own));
  lea->ask(ui::Join{link});
  EXPECT_TRUE(lea->is_told("name server does not answer"));
  EXPECT_TRUE(lea->is_on(Screen::kStart));
  lea.reset();  // while it is still asked
  answer.set_value();
}

TEST_F(DesktopCallTest, EndedCameraIsReportedAndRetriedDuringTheCall) {
  DesktopCallOptions options = test_listener("Lea");
  options.camera = "gst:videotestsrc num-buffers=10 is-live=true";
  Desk lea{clock_, options};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  EXPECT_TRUE(lea.is_told("has come to its end"));
  EXPECT_TRUE(lea.is_told("gives"));  // video, again
  options = test_devices("Jo");
  options.join = link_of(lea.view());
  Desk jo{clock_, options};
  EXPECT_TRUE(jo.is_on(Screen::kInCall));
  EXPECT_TRUE(jo.sees_moving(&ui::CallView::remote, 2));
}

TEST_F(DesktopCallTest, MissingDevicesAreReportedAndTheCallContinues) {
  DesktopCallOptions options = test_listener("Lea");
  Desk lea{clock_, options};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  options = test_devices("Jo");
  options.camera = options.microphone = options.speaker = media::kDefaultDevice;
  Desk jo{clock_, options};
  const auto has = [](const ui::Devices& devices) {
    return std::ranges::any_of(devices.all, [](const ui::Device& one) {
      return one.id != media::kTestDevice && one.id != media::kNoSpeaker;
    });
  };
  ASSERT_TRUE(jo.sees([](const ui::CallView& v) { return !v.cameras.all.empty(); }));
  if (has(jo.view().cameras) || has(jo.view().microphones)) {
    GTEST_SKIP() << "this machine has devices";
  }
  EXPECT_TRUE(jo.is_told("No camera was found"));
  EXPECT_TRUE(jo.is_told("No microphone was found"));
  EXPECT_FALSE(jo.sees(
      [](const ui::CallView& view) {
        return std::ranges::any_of(view.notices, [](const ui::Notice& notice) {
          return notice.text.find("is lost") != std::string::npos;
        });
      },
      1s))
      << "the preview does not look for what is not there";
  EXPECT_TRUE(jo.sees([](const ui::CallView& v) { return v.self.camera_off; }));
  jo.ask(ui::Join{link_of(lea.view())});
  ASSERT_TRUE(jo.is_on(Screen::kInCall));
  EXPECT_TRUE(jo.sees_moving(&ui::CallView::remote));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.peer.camera_off; }));
  // It was reported before; the message is not repeated every two seconds.
  for (const ui::Notice& notice : jo.view().notices) {
    EXPECT_EQ(notice.text.find("is lost"), std::string::npos) << notice.text;
  }
  EXPECT_EQ(jo.view().status.text.find("camera"), std::string::npos) << jo.view().status.text;

  jo.ask(ui::CameraOn{});
  EXPECT_TRUE(jo.is_told("There is no camera"));
  // Another available device can be chosen at any time.
  jo.ask(ui::ChooseDevice{ui::DeviceKind::kCamera, media::kTestDevice});
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return !v.peer.camera_off; }));
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::remote));
}

TEST_F(DesktopCallTest, WaylandScreenIsSharedWithPermission) {
  if (const std::string missing = media::PortalDesktop::missing(); !missing.empty()) {
    GTEST_SKIP() << "no " << missing << " to share a screen with";
  }
  const media::GstRuntime gst;
  media::PortalDesktop desktop;
  ASSERT_TRUE(desktop.is_up());
  Desk lea{clock_, test_listener("Lea")};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  DesktopCallOptions options = test_devices("Jo");
  options.join = link_of(lea.view());
  options.on_wayland = true;
  Desk jo{clock_, options};
  ASSERT_TRUE(jo.is_on(Screen::kInCall));
  ASSERT_TRUE(jo.sees([](const ui::CallView& v) { return !v.screens.all.empty(); }));

  desktop.dialog().answer = media::DialogOfADesktop::Answer::kNo;
  jo.ask(ui::ShareScreen{});
  EXPECT_TRUE(jo.is_told("The screen is not shared"));
  EXPECT_TRUE(jo.sees([](const ui::CallView& v) { return !v.self.shares_screen; }));
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::remote)) << "the camera again";

  desktop.dialog().answer = media::DialogOfADesktop::Answer::kYes;
  jo.ask(ui::CameraOff{});
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) { return v.peer.camera_off; }));
  jo.ask(ui::ChooseDevice{ui::DeviceKind::kScreen, media::kPortalDevice});
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) {
    return v.peer.shares_screen && !v.peer.camera_off;
  })) << "a screen is seen with the camera off too";
  EXPECT_TRUE(lea.sees_moving(&ui::CallView::remote));
  EXPECT_TRUE(jo.sees_moving(&ui::CallView::own)) << "what the others see";
  EXPECT_EQ(desktop.dialog().asked, 2);
  EXPECT_TRUE(lea.is_told("Jo shares a screen."));

  desktop.dialog().end_sharing();
  EXPECT_TRUE(jo.is_told("The screen is no longer shared"));
  EXPECT_TRUE(lea.sees([](const ui::CallView& v) {
    return !v.peer.shares_screen && v.peer.camera_off;
  })) << "the camera stays off";
  EXPECT_EQ(desktop.dialog().asked, 2) << "nobody is asked who did not ask";
}

TEST_F(DesktopCallTest, ChoicesSurviveARestart) {
  const fs::path path = folder_ / "settings.json";
  {
    DesktopCallOptions options;
    options.settings_path = path;
    options.camera = "test";  // for this run
    Desk lea{clock_, options};
    ASSERT_TRUE(lea.sees([](const ui::CallView& v) { return !v.speakers.all.empty(); }));
    lea.ask(ui::ChooseName{"Lea"});
    lea.ask(ui::ChooseTheme{ui::ThemeChoice::kLight});
    lea.ask(ui::ChooseDevice{ui::DeviceKind::kSpeaker, media::kNoSpeaker});
    lea.ask(ui::ChooseDevice{ui::DeviceKind::kMicrophone, "no such thing"});
    EXPECT_TRUE(lea.sees([](const ui::CallView& v) {
      return v.self.name == "Lea" && v.theme == ui::ThemeChoice::kLight &&
             v.speakers.chosen == media::kNoSpeaker;
    }));
  }
  const Settings kept = load_settings(path).settings;
  EXPECT_EQ(kept.name, "Lea");
  EXPECT_EQ(kept.speaker, media::kNoSpeaker);
  EXPECT_EQ(kept.microphone, media::kDefaultDevice);
  EXPECT_EQ(kept.camera, media::kDefaultDevice) << "an option holds for one run";
  DesktopCallOptions options;
  options.settings_path = path;
  Desk lea{clock_, options};
  EXPECT_EQ(lea.call().view().self.name, "Lea");
  EXPECT_EQ(lea.call().view().theme, ui::ThemeChoice::kLight);
  EXPECT_TRUE(
      lea.sees([](const ui::CallView& v) { return v.speakers.chosen == media::kNoSpeaker; }));
}

TEST_F(DesktopCallTest, BadSettingsAreReportedAndKept) {
  fs::create_directories(folder_);
  save_text("nonsense", folder_ / "settings.json");
  DesktopCallOptions options = test_devices("Lea");
  options.settings_path = folder_ / "settings.json";
  Desk lea{clock_, options};
  EXPECT_TRUE(lea.is_told("settings.json.bad"));
  EXPECT_EQ(load_text(folder_ / "settings.json.bad", DataSize{100}), "nonsense");
}

TEST_F(DesktopCallTest, PortInUseIsReported) {
  DesktopCallOptions options = test_listener("Lea");
  Desk lea{clock_, options};
  ASSERT_TRUE(lea.is_on(Screen::kWaiting));
  const std::string link = link_of(lea.view());
  const size_t from = link.find(':', 8) + 1;
  options.listen =
      *runtime::parse_address("127.0.0.1:" + link.substr(from, link.find('/', from) - from));
  Desk second{clock_, options};
  EXPECT_TRUE(second.is_told("in use"));
  EXPECT_EQ(second.view().screen, Screen::kStart);
}

}  // namespace
}  // namespace cress::desktop
