#include "app/call/call.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>

#include "app/call/call_test_tools.hh"
#include "media/codec/versions.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/control/sprout/sprout_control.hh"
#include "transport/sim/world.hh"

namespace cress::app {
namespace {

/// A call with a small synthetic camera as a host of the simulated world. `decoding`: the time that
/// each frame takes in another thread; nullopt: decoded at once.
class CallHost final : public Machine {
 public:
  explicit CallHost(uint64_t seed, bool pads_window = false,
                    std::optional<Duration> decoding = std::nullopt)
      : camera_({.width = 160, .height = 96, .seed = seed}),
        call_(kTimeZero,
              {.endpoint = {},
               .video = VideoSenderOptions{.width = 160, .height = 96},
               .pads_window = pads_window,
               .hands_out_decoding = decoding.has_value()},
              std::make_unique<control::CressControl>(control::call_control())),
        decoder_(decoding.value_or(0ms)) {}

  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> bytes) override {
    (void)call_.handle_datagram(now, bytes);
    decoder_.take(now, call_);
    drain();
  }
  void handle_timeout(TimePoint now) override {
    call_.handle_timeout(now);
    decoder_.handle_timeout(now, call_);
    while (next_capture() <= now) {
      call_.capture(now, camera_.picture(captured_++));
    }
    while (next_sound() <= now) {
      call_.capture_sound(now, voice_.frame(heard_++));
    }
    decoder_.take(now, call_);
    drain();
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto bytes = call_.poll_transmit(now);
    if (!bytes) {
      return std::nullopt;
    }
    return Transmit{.to = {}, .bytes = *std::move(bytes)};
  }
  TimePoint poll_timeout() const override {
    return std::min({call_.poll_timeout(), next_capture(), next_sound(), decoder_.poll_timeout()});
  }

  Call& call() { return call_; }
  const Call& call() const { return call_; }
  const std::vector<ShownFrame>& shown() const { return shown_; }
  const std::vector<CodedVideo>& coded() const { return coded_; }
  const std::vector<PlayedAudio>& played() const { return played_; }
  std::vector<CodedVideo> key_frames() const {
    std::vector<CodedVideo> keys;
    std::copy_if(coded_.begin(), coded_.end(), std::back_inserter(keys),
                 [](const CodedVideo& frame) { return frame.key_frame; });
    return keys;
  }

 private:
  TimePoint next_capture() const { return kTimeZero + camera_.frame_rate().time_of(captured_); }
  TimePoint next_sound() const {
    return kTimeZero + static_cast<int64_t>(heard_ + 1) * media::kAudioFrameLength;
  }
  void drain() {
    while (auto frame = call_.poll_shown()) {
      shown_.push_back(*std::move(frame));
    }
    while (const auto coded = call_.poll_coded()) {
      coded_.push_back(*coded);
    }
    while (const auto played = call_.poll_played()) {
      played_.push_back(*played);
    }
  }

  media::SyntheticCamera camera_;
  media::SyntheticVoice voice_;
  Call call_;
  SlowDecoder decoder_;
  uint64_t captured_ = 0;
  uint64_t heard_ = 0;
  std::vector<ShownFrame> shown_;
  std::vector<CodedVideo> coded_;
  std::vector<PlayedAudio> played_;
};

/// An opportunity per millisecond (12 Mbit/s), or as many together every `gap`.
std::shared_ptr<const sim::DeliveryTrace> constant_link(Duration silence_from, Duration silence_to,
                                                        Duration gap = 1ms) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration since = 1ms; since <= 60s; since += 1ms) {
    const Duration at = (since + gap - 1us) / gap * gap;
    if (at < silence_from || at >= silence_to) {
      trace->opportunities.push_back({at});
    }
  }
  return trace;
}

struct Scene {
  /// `loss` in both directions; one is silent for a while, the other delivers every `way_back_gap`.
  explicit Scene(double loss = 0, Duration silence_from = 1h, Duration silence_to = 1h,
                 Duration way_back_gap = 1ms)
      : forward{{.trace = constant_link(silence_from, silence_to),
                 .loss = loss,
                 .seed = 1,
                 .queue = nullptr}},
        reverse{{.trace = constant_link(1h, 1h, way_back_gap),
                 .loss = loss,
                 .seed = 2,
                 .queue = nullptr}} {}
  sim::Link forward;
  sim::Link reverse;
  CallHost left{1};
  CallHost right{2};
  sim::World world{{left, right, forward, reverse}};
};

/// Ten seconds on a clean link: several tests look at the same call.
const Scene& clean_scene() {
  static const std::unique_ptr<const Scene> ran = [] {
    auto scene = std::make_unique<Scene>();
    scene->world.run_until(kTimeZero + 10s);
    return scene;
  }();
  return *ran;
}

Duration longest_gap(const std::vector<ShownFrame>& shown, TimePoint from) {
  Duration longest{};
  for (size_t i = 1; i < shown.size(); ++i) {
    if (shown[i - 1].shown >= from) {
      longest = std::max(longest, shown[i].shown - shown[i - 1].shown);
    }
  }
  return longest;
}

TEST(Call, DisplaysThePeersVideoSoonAndInOrder) {
  const Scene& scene = clean_scene();
  for (const CallHost* host : {&scene.left, &scene.right}) {
    ASSERT_GT(host->shown().size(), 280U);
    EXPECT_LT(host->shown().front().shown, kTimeZero + 500ms);
    for (size_t i = 1; i < host->shown().size(); ++i) {
      EXPECT_GT(host->shown()[i].frame_id, host->shown()[i - 1].frame_id);
      EXPECT_GE(host->shown()[i].shown - host->shown()[i].captured, 20ms);
    }
  }
}

TEST(Call, PlaysTheVoiceSoonAndInSyncWithTheVideo) {
  const auto& played = clean_scene().right.played();
  ASSERT_GT(played.size(), 450U);
  int real = 0;
  int made_up = 0;
  for (const PlayedAudio& frame : played) {
    if (frame.played > kTimeZero + 1s) {
      real += frame.kind == SoundKind::kNormal ? 1 : 0;
      made_up += frame.kind == SoundKind::kConcealed ? 1 : 0;
      EXPECT_TRUE(frame.kind != SoundKind::kNormal || frame.played - frame.captured < 140ms);
    }
  }
  EXPECT_GT(real, 200) << "the synthetic voice speaks more than half of the time";
  EXPECT_LE(made_up, 4) << "of 450";
}

TEST(Call, EveryCapturedPictureIsAccountedFor) {
  const auto& coded = clean_scene().left.coded();
  ASSERT_EQ(coded.size(), 301U);
  for (size_t i = 0; i < coded.size(); ++i) {
    EXPECT_EQ(coded[i].frame_id, i);
  }
}

TEST(Call, OnlyTheFirstFrameIsAKeyFrameOnACleanLink) {
  EXPECT_EQ(clean_scene().left.key_frames().size(), 1U);
}

TEST(Call, LossesCostNoKeyFrameAndNoFreeze) {
  for (const double loss : {0.02, 0.10}) {
    Scene scene{loss};
    scene.world.run_until(kTimeZero + 20s);
    EXPECT_EQ(scene.left.key_frames().size(), 1U) << "at loss " << loss;
    const auto& shown = scene.right.shown();
    ASSERT_GT(shown.size(), 300U);
    EXPECT_LT(longest_gap(shown, kTimeZero + 1s), 200ms) << "at loss " << loss;
  }
}

// 600 kbit/s, 150 ms each way: what is lost is known 300 ms later, and all frames until then refer
// to it. Only parity helps.
struct LongPath {
  LongPath(uint64_t seed, double loss, sim::BurstLoss bursts)
      : forward{options(seed, loss, bursts)}, reverse{options(seed + 1, loss, {})} {}
  static sim::LinkOptions options(uint64_t seed, double loss, sim::BurstLoss bursts) {
    auto trace = std::make_shared<sim::DeliveryTrace>();
    for (Duration at = 20ms; at <= 60s; at += 20ms) {
      trace->opportunities.push_back({at});
    }
    return {.trace = trace,
            .propagation = 150ms,
            .loss = loss,
            .burst_loss = bursts,
            .seed = seed,
            .queue = nullptr};
  }
  sim::Link forward;
  sim::Link reverse;
  CallHost left{1};
  CallHost right{2};
  sim::World world{{left, right, forward, reverse}};
};

// As little parity as on short paths leaves gaps of 400 ms.
TEST(Call, OverALongPathParityRepairsEveryLostFrame) {
  LongPath path{10, 0.01, {}};
  path.world.run_until(kTimeZero + 30s);
  EXPECT_GT(path.right.shown().size(), 850U);
  EXPECT_LT(longest_gap(path.right.shown(), kTimeZero + 5s), 100ms);
}

// Where parity leaves with its frame, a burst takes both.
TEST(Call, OverALongPathABurstDoesNotTakeAFrameAndItsParity) {
  LongPath path{20, 0, {.enter = 0.02, .leave = 0.3}};
  path.world.run_until(kTimeZero + 20s);
  EXPECT_GT(path.right.shown().size(), 475U);
}

TEST(Call, ABlackoutFreezesHardlyLongerThanItLasts) {
  Scene scene{0, 5s, 5500ms};
  scene.world.run_until(kTimeZero + 10s);
  EXPECT_LT(longest_gap(scene.right.shown(), kTimeZero + 1s), 700ms);
  EXPECT_EQ(scene.left.key_frames().size(), 1U);
}

TEST(Call, DecodingInAnotherThreadCostsItsTimeAndNothingElse) {
  struct Late {
    explicit Late(std::optional<Duration> decoding) : right{2, false, decoding} {}
    sim::Link forward{{.trace = constant_link(1h, 1h), .loss = 0.05, .seed = 1, .queue = nullptr}};
    sim::Link reverse{{.trace = constant_link(1h, 1h), .loss = 0.05, .seed = 2, .queue = nullptr}};
    CallHost left{1};
    CallHost right;
    sim::World world{{left, right, forward, reverse}};
  };
  Late at_once{std::nullopt};
  Late late{15ms};
  at_once.world.run_until(kTimeZero + 10s);
  late.world.run_until(kTimeZero + 10s);
  EXPECT_EQ(late.left.key_frames().size(), 1U);
  EXPECT_GE(late.right.shown().size() + 5, at_once.right.shown().size());
  EXPECT_LT(longest_gap(late.right.shown(), kTimeZero + 1s), 200ms);
  for (size_t i = 1; i < late.right.shown().size(); ++i) {
    EXPECT_GT(late.right.shown()[i].frame_id, late.right.shown()[i - 1].frame_id);
    EXPECT_GE(late.right.shown()[i].shown - late.right.shown()[i].captured, 35ms);
  }
}

// A silent reverse path looks like an outage to the sender, but it need not be one.
TEST(Call, SpeechContinuesWhileTheReversePathIsSilent) {
  Scene scene{0, 5s, 8s};
  scene.world.run_until(kTimeZero + 10s);
  int heard = 0;
  int made_up = 0;
  for (const PlayedAudio& played : scene.left.played()) {
    const bool lost = played.kind == SoundKind::kConcealed || played.kind == SoundKind::kComfort;
    if (played.played >= kTimeZero + 5s && played.played < kTimeZero + 8s) {
      (lost ? made_up : heard) += 1;
    }
  }
  EXPECT_GE(heard, 147) << made_up << " of 150 made up";
}

TEST(Call, VideoContinuesWhileTheReversePathIsSlow) {
  Scene scene{0, 1h, 1h, 700ms};
  scene.world.run_until(kTimeZero + 20s);
  const auto late = std::ranges::count_if(scene.right.shown(), [](const ShownFrame& frame) {
    return frame.shown >= kTimeZero + 5s && frame.shown - frame.captured < 120ms;
  });
  EXPECT_GT(late, 0.9 * 15 * 30);
}

TEST(Call, OutageQueuesNothingAndVideoReturnsFresh) {
  Scene scene{0, 5s, 9s};
  scene.world.run_until(kTimeZero + 12s);
  const auto& shown = scene.right.shown();
  const auto fresh = std::ranges::find_if(shown, [](const ShownFrame& frame) {
    return frame.shown > kTimeZero + 9s && frame.shown - frame.captured < 150ms;
  });
  ASSERT_NE(fresh, shown.end());
  EXPECT_LT(fresh->shown, kTimeZero + 9'500ms);
}

TEST(Call, PersonStateIsSentAtOnceAndThenOnceASecond) {
  Scene scene;
  EXPECT_FALSE(scene.right.call().peer());
  scene.world.run_until(kTimeZero + 1s);
  const PersonState person{.name = "Ann", .muted = true};
  scene.left.call().set_person(kTimeZero + 1s, person);
  EXPECT_LE(scene.left.call().poll_timeout(), kTimeZero + 2s);
  scene.world.run_until(kTimeZero + 1'200ms);
  EXPECT_EQ(scene.right.call().peer(), person);
  ASSERT_TRUE(scene.right.call().peer_link());
  const DataRate early = scene.right.call().peer_link()->forecast;
  EXPECT_GT(early, DataRate{});
  EXPECT_FALSE(scene.left.call().peer()) << "the other end has said nothing";
  scene.world.run_until(kTimeZero + 1'950ms);
  EXPECT_EQ(scene.right.call().peer_link()->forecast, early) << "not yet again";
  scene.world.run_until(kTimeZero + 2'200ms);
  EXPECT_NE(scene.right.call().peer_link()->forecast, early);
}

// ---- As recorded: two calls over a bad network, period by period ----

/// A link whose rate varies between 150 kbit/s and 3 Mbit/s, with an outage.
std::shared_ptr<const sim::DeliveryTrace> wandering_link(uint64_t seed, Duration silence_from,
                                                         Duration silence_to) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  Rng rng{seed};
  double log_gap = std::log(0.015);
  for (Duration since = 1ms; since <= 30s;) {
    log_gap = std::clamp(log_gap + 0.1 * rng.normal(), std::log(0.004), std::log(0.08));
    since += from_seconds(std::exp(log_gap));
    if (since < silence_from || since >= silence_to) {
      trace->opportunities.push_back({since});
    }
  }
  return trace;
}

/// An end's activity in one period: frames encoded and displayed, 20 ms pieces of audio by kind.
void write_period(std::ostringstream& text, const CallHost& host, TimePoint from, TimePoint to) {
  DataSize coded;
  DataSize budget;
  int skipped = 0;
  int keys = 0;
  int attempts = 0;
  for (const CodedVideo& frame : host.coded()) {
    if (frame.captured >= from && frame.captured < to) {
      coded += frame.size;
      budget += frame.budget;
      skipped += frame.size == DataSize{} ? 1 : 0;
      keys += frame.key_frame ? 1 : 0;
      attempts += frame.attempts;
    }
  }
  text << " coded " << coded.bytes() << " of " << budget.bytes() << " x" << attempts << " skipped "
       << skipped << " keys " << keys << ", displayed";
  for (const ShownFrame& frame : host.shown()) {
    if (frame.shown >= from && frame.shown < to) {
      text << " " << frame.frame_id << "+"
           << std::lround(to_milliseconds(frame.shown - frame.captured));
    }
  }
  text << ", heard ";
  for (const PlayedAudio& played : host.played()) {
    if (played.played >= from && played.played < to) {
      text << "nfcsu"[static_cast<size_t>(played.kind)];
    }
  }
}

TEST(Call, BehavesOverABadNetworkAsRecorded) {
  std::ostringstream text;
  text << media::codec_versions() << "\n";
  for (const bool pads_window : {false, true}) {
    sim::Link forward{
        {.trace = wandering_link(51, 3s, 4'300ms), .loss = 0.05, .seed = 1, .queue = nullptr}};
    sim::Link reverse{
        {.trace = wandering_link(52, 1h, 1h), .loss = 0.05, .seed = 2, .queue = nullptr}};
    CallHost left{1, pads_window};
    CallHost right{2, pads_window};
    sim::World world{{left, right, forward, reverse}};
    const TimePoint end = kTimeZero + (pads_window ? 3s : 8s);
    for (TimePoint now = kTimeZero; now < end; now += 250ms) {
      if (now == kTimeZero + 1s) {
        left.call().set_person(now, {.name = "Ann", .camera_off = true});
      }
      world.run_until(now + 250ms - 1ns);
      for (const CallHost* host : {&left, &right}) {
        const Call& call = host->call();
        write_period(text, *host, now, now + 250ms);
        text << ", loss " << std::lround(1000 * call.loss()) << ", datagrams "
             << call.endpoint().stats().datagrams_sent << "/"
             << call.endpoint().stats().datagrams_received;
        if (call.peer_link()) {
          text << ", " << call.peer()->name << " "
               << std::lround(call.peer_link()->forecast.kilobits_per_second());
        }
        text << "\n";
      }
    }
  }
  if (!golden_begins("call", media::codec_versions())) {
    GTEST_SKIP() << "recorded with other codecs than " << media::codec_versions();
  }
  expect_golden("call", text.str());
}

TEST(Call, HostileBytesOnEveryFlowChangeNothingForTheViewer) {
  Rng rng{7};
  CallHost victim{1};
  session::Endpoint attacker{kTimeZero,
                             {},
                             std::make_unique<control::SproutControl>(
                                 std::make_unique<control::EwmaEstimator>(control::EwmaOptions{}))};
  for (int flow = 0; flow < 6; ++flow) {
    attacker.open_flow(static_cast<session::FlowId>(flow), {.report_outcomes = false});
  }
  for (int i = 0; i < 2'000; ++i) {
    const TimePoint now = kTimeZero + i * 1ms;
    std::vector<std::byte> junk(rng.below(900));
    std::generate(junk.begin(), junk.end(), [&] { return static_cast<std::byte>(rng.next()); });
    if (junk.size() > 2 && rng.chance(0.5)) {
      junk[0] = std::byte{1};  // a fragment's version
    }
    attacker.send(now, static_cast<session::FlowId>(rng.below(6)), junk);
    while (auto bytes = attacker.poll_transmit(now)) {
      victim.handle_datagram(now, {}, *bytes);
    }
    victim.handle_timeout(now);
    while (const auto answer = victim.poll_transmit(now)) {
      (void)attacker.handle_datagram(now, answer->bytes);
    }
  }
  EXPECT_TRUE(victim.shown().empty());
  EXPECT_EQ(victim.coded().size(), 60U);
}

}  // namespace
}  // namespace cress::app
