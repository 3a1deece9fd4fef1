#include "app/ui/model/plain_words.hh"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::ui {
namespace {

constexpr DataRate kbps(int64_t n) { return DataRate::kilobits_per_second(n); }

LinkHealth good_link() {
  LinkHealth health;
  health.peer_name = "Anna";
  health.uplink_forecast = kbps(2400);
  health.downlink_forecast = kbps(1800);
  health.sent = kbps(1500);
  health.received = kbps(1400);
  health.one_way_delay = 45ms;
  health.frame_delay = 110ms;
  return health;
}

// Feeds `health_at` every 100 ms for `length`, continuing from the last call.
class Told {
 public:
  void run(Duration length, const std::function<void(LinkHealth&)>& change) {
    for (const TimePoint end = now_ + length; now_ < end; now_ += 100ms) {
      LinkHealth health = good_link();
      change(health);
      words_.update(now_, health);
      if (said_.empty() || said_.back() != words_.line().text) {
        said_.push_back(words_.line().text);
      }
    }
  }
  const std::string& now_said() const { return words_.line().text; }
  Trouble trouble() const { return words_.trouble(); }
  /// Every sentence, in order, without repeats.
  const std::vector<std::string>& said() const { return said_; }

 private:
  PlainWords words_;
  TimePoint now_ = kTimeZero;
  std::vector<std::string> said_;
};

struct Case {
  const char* description;
  std::function<void(LinkHealth&)> change;
  Trouble trouble;
  const char* sentence;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"a good link", [](LinkHealth&) {}, Trouble::kNone, "The link is good."},
      {"slow uplink", [](LinkHealth& h) { h.uplink_forecast = kbps(203); }, Trouble::kUplinkSlow,
       "Your uplink is down to 200 kbit/s; sound first."},
      {"uplink for sound only", [](LinkHealth& h) { h.uplink_forecast = kbps(41); },
       Trouble::kUplinkSoundOnly, "Your uplink is down to 41 kbit/s; only sound goes."},
      {"no picture found room",
       [](LinkHealth& h) {
         h.uplink_forecast = kbps(180);
         h.picture_skipped = 4s;
       },
       Trouble::kUplinkSoundOnly, "Your uplink is down to 180 kbit/s; only sound goes."},
      {"peer's uplink slow", [](LinkHealth& h) { h.downlink_forecast = kbps(148); },
       Trouble::kDownlinkSlow, "The link from Anna is down to 150 kbit/s; sound first."},
      {"slow both ways: what this person sends comes first",
       [](LinkHealth& h) { h.uplink_forecast = h.downlink_forecast = kbps(150); },
       Trouble::kUplinkSlow, "Your uplink is down to 150 kbit/s; sound first."},
      {"outage", [](LinkHealth& h) { h.outage = 1200ms; }, Trouble::kOutage,
       "Nothing comes from Anna; waiting for the link."},
      {"reconnecting", [](LinkHealth& h) { h.outage = 12'700ms; }, Trouble::kReconnecting,
       "Reconnecting for 12 s. The call goes on when the network is back."},
      {"high delay", [](LinkHealth& h) { h.one_way_delay = 1230ms; }, Trouble::kHighDelay,
       "What you hear is 1.2 s old: leave pauses when you talk."},
      {"loss up", [](LinkHealth& h) { h.loss_up = 0.09; }, Trouble::kLossUp,
       "9 % of what you send is lost on the way; Cress repairs what it can."},
      {"loss down", [](LinkHealth& h) { h.loss_down = 0.12; }, Trouble::kLossDown,
       "12 % of what Anna sends is lost on the way; Cress repairs what it can."},
      {"no microphone", [](LinkHealth& h) { h.microphone_lost = true; }, Trouble::kMicrophoneLost,
       "No microphone: you are not heard. Plug one in or choose another."},
      {"no speaker", [](LinkHealth& h) { h.speaker_lost = true; }, Trouble::kSpeakerLost,
       "No speaker: you hear nothing. Plug one in or choose another."},
      {"camera unplugged", [](LinkHealth& h) { h.camera_lost = true; }, Trouble::kCameraLost,
       "The camera is gone; plug it in or choose another."},
      {"talking while muted", [](LinkHealth& h) { h.muted = h.speaking = true; },
       Trouble::kTalkingWhileMuted, "You are muted. Press M, or hold Space while you talk."},
      {"computer too slow", [](LinkHealth& h) { h.late_pictures = 0.35; }, Trouble::kComputerSlow,
       "This computer is too busy for the picture; closing other programs helps."},
  };
  return kCases;
}

TEST(PlainWords, SaysTheRightSentenceForEachTrouble) {
  for (const Case& c : cases()) {
    Told told;
    told.run(5s, c.change);
    EXPECT_EQ(told.trouble(), c.trouble) << c.description;
    EXPECT_EQ(told.now_said(), c.sentence) << c.description;
  }
}

TEST(PlainWords, EveryTroubleHasItsCaseAndASentenceOfOneLine) {
  std::set<Trouble> covered;
  for (const Case& c : cases()) {
    covered.insert(c.trouble);
    EXPECT_LE(std::string(c.sentence).size(), 80U) << c.sentence;
  }
  EXPECT_EQ(covered.size(), static_cast<size_t>(Trouble::kReconnecting) + 1);
}

TEST(PlainWords, UsesThemForANamelessPeer) {
  LinkHealth health;
  health.downlink_forecast = kbps(100);
  health.loss_down = 0.2;
  EXPECT_EQ(say(Trouble::kDownlinkSlow, health),
            "The link from them is down to 100 kbit/s; sound first.");
  EXPECT_EQ(say(Trouble::kLossDown, health),
            "20 % of what the other side sends is lost on the way; Cress repairs what it can.");
}

TEST(PlainWords, MutedIsATroubleOnlyWhileSpeaking) {
  Told told;
  told.run(5s, [](LinkHealth& h) { h.muted = true; });
  EXPECT_EQ(told.trouble(), Trouble::kNone);
  told.run(200ms, [](LinkHealth& h) { h.muted = h.speaking = true; });
  EXPECT_EQ(told.trouble(), Trouble::kTalkingWhileMuted);
  // Pauses between words do not remove the sentence; unmuting does, at once.
  told.run(1s, [](LinkHealth& h) { h.muted = true; });
  EXPECT_EQ(told.trouble(), Trouble::kTalkingWhileMuted);
  told.run(100ms, [](LinkHealth&) {});
  EXPECT_EQ(told.trouble(), Trouble::kNone);
}

TEST(PlainWords, OutageRanksFirstAndFixableProblemsBeforeTheLink) {
  LinkHealth health = good_link();
  health.loss_up = 0.3;
  health.uplink_forecast = kbps(100);
  EXPECT_EQ(most_important(health, Trouble::kNone), Trouble::kUplinkSlow);
  health.camera_lost = true;
  EXPECT_EQ(most_important(health, Trouble::kNone), Trouble::kCameraLost);
  health.microphone_lost = true;
  EXPECT_EQ(most_important(health, Trouble::kNone), Trouble::kMicrophoneLost);
  health.outage = 10s;
  EXPECT_EQ(most_important(health, Trouble::kNone), Trouble::kReconnecting);
}

TEST(PlainWords, DipOfHalfASecondIsNotReported) {
  Told told;
  told.run(10s, [](LinkHealth&) {});
  told.run(500ms, [](LinkHealth& h) { h.uplink_forecast = kbps(100); });
  told.run(10s, [](LinkHealth&) {});
  EXPECT_EQ(told.said(), std::vector<std::string>{"The link is good."});
}

TEST(PlainWords, ARateOnTheEdgeDoesNotFlap) {
  Rng rng{7};
  Told told;
  told.run(2s, [](LinkHealth& h) { h.uplink_forecast = kbps(200); });
  const size_t before = told.said().size();
  // 60 s around the entering threshold of 300: below the leaving one.
  std::set<Trouble> troubles;
  for (int i = 0; i < 600; ++i) {
    told.run(100ms, [&](LinkHealth& h) {
      h.uplink_forecast = kbps(200 + static_cast<int64_t>(rng.below(240)));
    });
    troubles.insert(told.trouble());
  }
  EXPECT_EQ(troubles, std::set<Trouble>{Trouble::kUplinkSlow});
  EXPECT_LE(told.said().size() - before, 31U) << "the number is renewed every 2 s at most";
  told.run(5s, [](LinkHealth&) {});
  EXPECT_EQ(told.trouble(), Trouble::kNone);
}

TEST(PlainWords, AlternatingTroublesAreStillReported) {
  Told told;
  for (int i = 0; i < 20; ++i) {
    told.run(300ms, [](LinkHealth& h) { h.loss_up = 0.2; });
    told.run(300ms, [](LinkHealth& h) { h.uplink_forecast = kbps(100); });
  }
  EXPECT_NE(told.trouble(), Trouble::kNone);
  EXPECT_LE(told.said().size(), 10U);
}

TEST(PlainWords, SentenceStaysLongEnoughToBeRead) {
  Rng rng{11};
  PlainWords words;
  std::string text;
  Trouble trouble = Trouble::kNone;
  TimePoint since = kTimeZero;
  for (TimePoint now = kTimeZero; now < kTimeZero + 20min; now += 100ms) {
    LinkHealth health = good_link();
    // A wild link whose numbers jump every 100 ms; no outage and no devices here.
    health.uplink_forecast = kbps(static_cast<int64_t>(rng.below(600)));
    health.downlink_forecast = kbps(static_cast<int64_t>(rng.below(600)));
    health.loss_up = rng.uniform() * 0.1;
    health.one_way_delay = from_seconds(rng.uniform());
    words.update(now, health);
    if (words.line().text != text) {
      const bool milder = words.trouble() < trouble;
      EXPECT_TRUE(!milder || now - since >= 3s) << text;
      text = words.line().text;
      if (words.trouble() != trouble) {
        trouble = words.trouble();
        since = now;
      }
    }
  }
}

TEST(PlainWords, CountsTheSecondsOfAnOutageAndIsDoneWhenItIsOver) {
  Told told;
  told.run(2s, [](LinkHealth&) {});
  Duration silent{};
  for (int i = 0; i < 60; ++i) {
    silent += 100ms;
    told.run(100ms, [&](LinkHealth& h) { h.outage = silent; });
  }
  EXPECT_EQ(told.said(), (std::vector<std::string>{
                             "The link is good.", "Nothing comes from Anna; waiting for the link.",
                             "Reconnecting for 3 s. The call goes on when the network is back.",
                             "Reconnecting for 4 s. The call goes on when the network is back.",
                             "Reconnecting for 5 s. The call goes on when the network is back.",
                             "Reconnecting for 6 s. The call goes on when the network is back."}));
  told.run(100ms, [](LinkHealth&) {});
  EXPECT_EQ(told.now_said(), "The link is good.");
}

TEST(PlainWords, APluggedInMicrophoneIsSeenAtOnce) {
  Told told;
  told.run(100ms, [](LinkHealth& h) { h.microphone_lost = true; });
  EXPECT_EQ(told.trouble(), Trouble::kMicrophoneLost);
  told.run(100ms, [](LinkHealth&) {});
  EXPECT_EQ(told.trouble(), Trouble::kNone);
}

TEST(PlainWords, LeavingNeedsBetterNumbersThanEntering) {
  LinkHealth health = good_link();
  health.uplink_forecast = kbps(350);
  EXPECT_EQ(most_important(health, Trouble::kNone), Trouble::kNone);
  EXPECT_EQ(most_important(health, Trouble::kUplinkSlow), Trouble::kUplinkSlow);
  health = good_link();
  health.one_way_delay = 350ms;
  EXPECT_EQ(most_important(health, Trouble::kNone), Trouble::kNone);
  EXPECT_EQ(most_important(health, Trouble::kHighDelay), Trouble::kHighDelay);
  health = good_link();
  health.loss_down = 0.04;
  EXPECT_EQ(most_important(health, Trouble::kNone), Trouble::kNone);
  EXPECT_EQ(most_important(health, Trouble::kLossDown), Trouble::kLossDown);
}

TEST(PlainWords, TonesMatchTheSeverity) {
  EXPECT_EQ(tone_of(Trouble::kNone), Tone::kGood);
  EXPECT_EQ(tone_of(Trouble::kTalkingWhileMuted), Tone::kNote);
  EXPECT_EQ(tone_of(Trouble::kUplinkSlow), Tone::kWarning);
  EXPECT_EQ(tone_of(Trouble::kReconnecting), Tone::kTrouble);
}

}  // namespace
}  // namespace cress::ui
