#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "app/ui/model/format.hh"
#include "app/ui/model/plain_words.hh"
#include "app/ui/model/user_action.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::ui {
namespace {

/// Mostly well, with one or two troubles whose sizes lie around the limits.
LinkHealth draw_health(Rng& rng) {
  LinkHealth h;
  h.peer_name = rng.chance(0.7) ? "Ana" : "";
  for (int i = 0; i < 2; ++i) {
    switch (rng.below(10)) {
      case 0:
        h.uplink_forecast = DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(40) * 20));
        break;
      case 1:
        h.downlink_forecast =
            DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(40) * 20));
        break;
      case 2:
        h.loss_up = static_cast<double>(rng.below(20)) * 0.01;
        break;
      case 3:
        h.loss_down = static_cast<double>(rng.below(20)) * 0.01;
        break;
      case 4:
        h.one_way_delay = h.frame_delay = rng.below(20) * 50ms;
        break;
      case 5:
        h.outage = rng.below(24) * 500ms;
        break;
      case 6:
        h.picture_skipped = rng.below(16) * 500ms;
        break;
      case 7:
        h.late_pictures = static_cast<double>(rng.below(20)) * 0.05;
        break;
      case 8:
        h.muted = h.speaking = true;
        break;
      default:
        h.camera_lost = rng.chance(0.3);
        h.speaker_lost = rng.chance(0.3);
        h.microphone_lost = rng.chance(0.3);
    }
  }
  return h;
}

TEST(WordsModel, SentencesAboutALinkAreAsCommitted) {
  Rng rng{4};
  std::string all;
  PlainWords words;
  LinkHealth health;
  TimePoint now = kTimeZero + 1h;
  Duration stays{};
  for (int i = 0; i < 3000; ++i) {
    now += 100ms;
    stays -= 100ms;
    if (stays <= 0ms) {
      health = rng.chance(0.3) ? LinkHealth{} : draw_health(rng);
      stays = rng.below(50) * 100ms;
    } else if (health.outage > 0ms) {
      health.outage += 100ms;
    }
    const StatusLine before = words.line();
    words.update(now, health);
    if (words.line() != before) {
      all += std::to_string(i) + " " + std::to_string(static_cast<int>(words.trouble())) + " " +
             std::to_string(static_cast<int>(words.line().tone)) + " " + words.line().text + "\n";
    }
  }
  expect_golden("words",
                all.size() < 18'000 ? all : all.substr(0, 16'000) + golden_digest(all) + "\n");
}

TEST(WordsModel, NumbersAreWrittenAsCommitted) {
  std::string all;
  for (const int64_t n :
       {0,         1,         499,        500,        999,        1000,       1499,
        9499,      9500,      9949,       9999,       10'000,     64'000,     99'499,
        99'500,    99'999,    100'000,    104'999,    105'000,    994'999,    995'000,
        999'499,   999'500,   999'999,    1'000'000,  1'049'999,  1'050'000,  9'949'999,
        9'950'000, 9'999'999, 10'500'000, 94'999'999, 99'500'000, 123'456'789}) {
    all += std::to_string(n) + ": " + format_rate(DataRate::bits_per_second(n)) + ", " +
           format_size(DataSize{n}) + ", " + format_delay(n * 1us) + ", " +
           format_share(static_cast<double>(n) / 1e7) + ", " + format_clock(n * 1ms) + "\n";
  }
  expect_golden("numbers", all);
}

TEST(WordsModel, EachActionHasItsWords) {
  std::string all;
  for (const UserAction& action :
       std::initializer_list<UserAction>{StartListening{},
                                         Join{"cress://a"},
                                         CopyLink{},
                                         Mute{},
                                         Unmute{},
                                         TalkPressed{},
                                         TalkReleased{},
                                         CameraOn{},
                                         CameraOff{},
                                         ShareScreen{"x"},
                                         StopSharing{},
                                         ChooseDevice{DeviceKind::kCamera, "c"},
                                         ChooseDevice{DeviceKind::kMicrophone, "m"},
                                         ChooseDevice{DeviceKind::kSpeaker, "s"},
                                         ChooseDevice{DeviceKind::kScreen, "x"},
                                         ChooseName{"Ana"},
                                         ChooseTheme{ThemeChoice::kLight},
                                         ChooseTheme{ThemeChoice::kDark},
                                         SetFullScreen{true},
                                         SetFullScreen{},
                                         Pin{3},
                                         Pin{},
                                         Unpin{},
                                         ShowTiles{4, 180},
                                         ShowTiles{},
                                         HangUp{},
                                         BackToStart{},
                                         DismissNotice{7},
                                         DismissNotice{},
                                         Quit{}}) {
    all += describe(action) + "\n";
  }
  expect_golden("actions", all);
}

TEST(WordsModel, AViewBeginsWithNothingOn) {
  const CallView view;
  EXPECT_FALSE(view.full_screen || view.push_to_talk);
  EXPECT_FALSE(view.self.muted || view.self.camera_off || view.self.shares_screen);
  const Room room;
  EXPECT_TRUE(room.speaker == 0 && room.pinned == 0 && room.large == 0 && !room.self_speaks);
  EXPECT_EQ(Member{}.number, 0U);
  EXPECT_EQ(Notice{}.id, 0U);
}

}  // namespace
}  // namespace cress::ui
