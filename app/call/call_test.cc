#include "app/call/call.hh"

#include <gtest/gtest.h>

#include <algorithm>

#include "media/source/synthetic_camera.hh"
#include "transport/base/rng.hh"
#include "transport/sim/world.hh"
#include "transport/sprout/sprout_control.hh"

namespace cress::app {
namespace {

const sprout::BeliefDynamics& dynamics() {
  static const sprout::BeliefDynamics shared{sprout::SproutModel{}};
  return shared;
}

const sprout::ForecastTable& table() {
  static const sprout::ForecastTable shared{dynamics()};
  return shared;
}

/// A call with a small synthetic camera as a host of the simulated world.
class CallHost final : public sim::Host {
 public:
  explicit CallHost(uint64_t seed)
      : camera_({.width = 160, .height = 96, .seed = seed}),
        call_(kTimeZero, {.endpoint = {}, .video = VideoSenderOptions{.width = 160, .height = 96}},
              std::make_unique<sprout::SproutControl>(
                  std::make_unique<sprout::BayesianEstimator>(dynamics(), table()))) {}

  void handle_datagram(TimePoint now, const sim::Datagram& datagram) override {
    (void)call_.handle_datagram(now, datagram.bytes);
    drain();
  }
  void handle_timeout(TimePoint now) override {
    call_.handle_timeout(now);
    while (next_capture() <= now) {
      call_.capture(now, camera_.picture(captured_++));
    }
    drain();
  }
  std::optional<sim::Datagram> poll_transmit(TimePoint now) override {
    auto bytes = call_.poll_transmit(now);
    if (!bytes) {
      return std::nullopt;
    }
    const DataSize size{static_cast<int64_t>(bytes->size())};
    return sim::Datagram{*std::move(bytes), size + sim::kUdpIpOverhead};
  }
  TimePoint poll_timeout() const override { return std::min(call_.poll_timeout(), next_capture()); }

  Call& call() { return call_; }
  const std::vector<ShownFrame>& shown() const { return shown_; }
  const std::vector<CodedVideo>& coded() const { return coded_; }
  std::vector<CodedVideo> key_frames() const {
    std::vector<CodedVideo> keys;
    std::copy_if(coded_.begin(), coded_.end(), std::back_inserter(keys),
                 [](const CodedVideo& frame) { return frame.key_frame; });
    return keys;
  }

 private:
  TimePoint next_capture() const { return kTimeZero + camera_.frame_rate().time_of(captured_); }
  void drain() {
    while (auto frame = call_.poll_shown()) {
      shown_.push_back(*std::move(frame));
    }
    while (const auto coded = call_.poll_coded()) {
      coded_.push_back(*coded);
    }
  }

  media::SyntheticCamera camera_;
  Call call_;
  uint64_t captured_ = 0;
  std::vector<ShownFrame> shown_;
  std::vector<CodedVideo> coded_;
};

std::shared_ptr<const sim::DeliveryTrace> constant_link(Duration silence_from,
                                                        Duration silence_to) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration at = 3ms; at <= 60s; at += 3ms) {  // 4 Mbit/s
    if (at < silence_from || at >= silence_to) {
      trace->opportunities.push_back({at});
    }
  }
  return trace;
}

struct Scene {
  explicit Scene(double loss = 0, Duration silence_from = 1h, Duration silence_to = 1h)
      : forward{{.trace = constant_link(silence_from, silence_to),
                 .loss = loss,
                 .seed = 1,
                 .queue = nullptr}},
        reverse{{.trace = constant_link(1h, 1h), .loss = loss, .seed = 2, .queue = nullptr}} {}
  sim::Link forward;
  sim::Link reverse;
  CallHost left{1};
  CallHost right{2};
  sim::World world{{left, right, forward, reverse}};
};

TEST(Call, ShowsTheOthersPictureSoonAndInOrder) {
  Scene scene;
  scene.world.run_until(kTimeZero + 10s);
  for (const CallHost* host : {&scene.left, &scene.right}) {
    // Sprout keeps a camera's window short of every second picture even here (docs/results.md).
    ASSERT_GT(host->shown().size(), 80U);
    EXPECT_LT(host->shown().front().shown, kTimeZero + 500ms);
    for (size_t i = 1; i < host->shown().size(); ++i) {
      EXPECT_GT(host->shown()[i].frame_id, host->shown()[i - 1].frame_id);
      EXPECT_GE(host->shown()[i].shown - host->shown()[i].captured, 20ms);
    }
  }
}

TEST(Call, EveryCapturedPictureIsAccountedFor) {
  Scene scene;
  scene.world.run_until(kTimeZero + 5s);
  const auto& coded = scene.left.coded();
  ASSERT_EQ(coded.size(), 151U);
  for (size_t i = 0; i < coded.size(); ++i) {
    EXPECT_EQ(coded[i].frame_id, i);
  }
}

TEST(Call, OnlyTheFirstFrameIsAKeyFrameOnACleanLink) {
  Scene scene;
  scene.world.run_until(kTimeZero + 10s);
  EXPECT_EQ(scene.left.key_frames().size(), 1U);
}

TEST(Call, AKeyFrameFollowsALossAndThePictureMovesAgain) {
  Scene scene{0.03};
  scene.world.run_until(kTimeZero + 20s);
  EXPECT_GT(scene.left.key_frames().size(), 2U);
  const auto& shown = scene.right.shown();
  ASSERT_GT(shown.size(), 100U);
  Duration longest{};
  for (size_t i = 1; i < shown.size(); ++i) {
    longest = std::max(longest, shown[i].shown - shown[i - 1].shown);
  }
  EXPECT_LT(longest, 2s);
}

TEST(Call, NothingPilesUpInAnOutageAndThePictureComesBackFresh) {
  Scene scene{0, 5s, 9s};
  scene.world.run_until(kTimeZero + 12s);
  const auto& shown = scene.right.shown();
  const auto back = std::find_if(shown.begin(), shown.end(),
                                 [](const ShownFrame& f) { return f.captured > kTimeZero + 6s; });
  ASSERT_NE(back, shown.end());
  EXPECT_LT(back->shown, kTimeZero + 10'500ms);
  EXPECT_LT(back->shown - back->captured, 500ms) << "a stale frame was kept for it";
}

TEST(Call, HostileBytesOnEveryFlowChangeNothingForTheViewer) {
  Rng rng{7};
  CallHost victim{1};
  session::Endpoint attacker{kTimeZero,
                             {},
                             std::make_unique<sprout::SproutControl>(
                                 std::make_unique<sprout::EwmaEstimator>(sprout::EwmaOptions{}))};
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
      victim.handle_datagram(now, {*std::move(bytes), DataSize{}});
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
