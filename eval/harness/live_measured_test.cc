// Goal: the live call equals the simulated call. Method: the same clip and voice in both directions
// over the same recorded links, once with real sockets, devices, security and clocks through a path
// emulated in real time, once in the simulator; rates and frame delays are compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/live/live_call.hh"
#include "eval/harness/run.hh"
#include "eval/metrics/frames.hh"
#include "media/gst/gst_audio_source.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "traces/emulate/path_emulator.hh"
#include "traces/links.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/secure/link/link.hh"

namespace cress::harness {
namespace {

namespace fs = std::filesystem;

const fs::path kData = CRESS_DATA;
constexpr Duration kLength = 40s;
constexpr Duration kSkip = 5s;
constexpr const char* kClip = "gesture_man_640x480_30.mp4";
constexpr const char* kVoice = "gesture_man.flac";

struct Seen {
  double bitrate_kbps = 0;
  double frame_delay_p95_ms = 0;
};

/// An emulated path on a thread of its own, as a network is.
class EmulatedPath {
 public:
  EmulatedPath(const LinkSpec& link, Address server)
      : emulator_(clock_.now(), {.server = server,
                                 .forward = direction(link.down, link.delay),
                                 .reverse = direction(link.up, link.delay)}),
        driver_({clock_, loop_, socket_, emulator_}),
        thread_([this] {
          looks_.arm(look_at_);
          loop_.run();
        }) {}
  ~EmulatedPath() {
    if (thread_.joinable()) {
      loop_.stop();
      thread_.join();
    }
  }
  EmulatedPath(const EmulatedPath&) = delete;
  EmulatedPath& operator=(const EmulatedPath&) = delete;

  Address address() const { return socket_.local_address(); }
  /// How late this thread's timers were at the 99th percentile: the load of other programs. After
  /// the call.
  Duration lateness() {
    loop_.stop();
    thread_.join();
    std::ranges::sort(lateness_);
    return lateness_.empty() ? Duration{} : lateness_[lateness_.size() * 99 / 100];
  }

 private:
  static sim::LinkOptions direction(std::shared_ptr<const sim::DeliveryTrace> trace,
                                    Duration propagation) {
    sim::LinkOptions options;
    options.trace = std::move(trace);
    options.propagation = propagation;
    return options;
  }

  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  runtime::UdpSocket socket_{clock_, {.bind = *runtime::parse_address("127.0.0.1:0")}};
  static constexpr Duration kLook = 5ms;
  TimePoint look_at_ = clock_.now() + kLook;
  std::vector<Duration> lateness_;
  runtime::EventLoop::Timer looks_{loop_, [this] {
                                     lateness_.push_back(clock_.now() - look_at_);
                                     look_at_ = clock_.now() + kLook;
                                     looks_.arm(look_at_);
                                   }};
  traces::PathEmulator emulator_;
  runtime::Driver driver_;
  std::thread thread_;
};

/// One end of the live call: what it encoded, and what it displayed of the other's.
struct MeasuredEnd {
  std::vector<app::CodedVideo> coded;
  std::vector<metrics::ShownFrame> shown;
  std::optional<TimePoint> connected_at;
  std::unique_ptr<live::LiveCall> call;

  void begin(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
             live::LiveCallOptions options) {
    options.bind = *runtime::parse_address("127.0.0.1:0");
    options.devices.camera = media::LiveCameraOptions{
        .id = "file:" + (kData / "video" / kClip).string(), .size = {640, 480}};
    options.devices.microphone = media::LiveMicrophoneOptions{
        .id = "file:" + (kData / "audio" / kVoice).string(),
        .processing = {
            .echo_cancellation = false, .noise_suppression = false, .gain_control = false}};
    live::LiveOutputs outputs;
    outputs.event = [this](const live::LiveEvent& e) {
      if (e.kind == live::LiveEvent::Kind::kConnected) {
        connected_at = e.at;
      }
    };
    outputs.shown = [this](const app::ShownFrame& f) { shown.push_back({f.captured, f.shown}); };
    outputs.coded = [this](const app::CodedVideo& c) { coded.push_back(c); };
    call = std::make_unique<live::LiveCall>(clock, loop, options, outputs);
  }
};

Seen seen(const MeasuredEnd& sender, const MeasuredEnd& receiver, TimePoint from) {
  const metrics::Window window{from + kSkip, from + kLength};
  DataSize total;
  for (const app::CodedVideo& coded : sender.coded) {
    if (coded.captured >= window.from && coded.captured < window.to) {
      total += coded.size;
    }
  }
  const auto p95 = metrics::frame_delay_quantile(receiver.shown, window, 0.95);
  return {DataRate::from(total, kLength - kSkip).kilobits_per_second(),
          to_milliseconds(p95.value_or(Duration{}))};
}

/// nullopt if other load made the machine's timing useless.
std::vector<Seen> live_call(const LinkSpec& link) {
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  const auto secret = secure::make_secret();
  MeasuredEnd listener;
  MeasuredEnd joiner;
  listener.begin(clock, loop, {.role = secure::Role::kListener, .secret = secret});
  const TimePoint from = clock.now();
  EmulatedPath path{link, listener.call->local_address()};
  joiner.begin(clock, loop,
               {.role = secure::Role::kJoiner, .secret = secret, .listener = path.address()});
  runtime::EventLoop::Timer end{loop, [&] { loop.stop(); }};
  end.arm(from + kLength);
  loop.run();
  constexpr Duration kLatenessMax = 4ms;
  if (path.lateness() > kLatenessMax) {
    return {};
  }
  return {seen(joiner, listener, from), seen(listener, joiner, from)};
}

std::vector<Seen> simulated_call(const LinkSpec& link) {
  RunSpec spec;
  spec.scheme = "cress";
  spec.link = link;
  spec.duration = kLength;
  spec.skip = kSkip;
  spec.forward_video = media::open_video(kData / "video" / kClip);
  spec.reverse_video = spec.forward_video;
  spec.forward_sound = media::open_audio(kData / "audio" / kVoice);
  spec.reverse_sound = media::open_audio(kData / "audio" / kVoice);
  const schemes::SchemeContext context;
  std::vector<Seen> both;
  for (const DirectionResult& result : run(spec, context).results) {
    both.push_back({result.video->bitrate_kbps, result.video->frame_delay_p95_ms.value_or(0)});
  }
  return both;
}

TEST(LiveMeasuredStart, IsUpWithin300MsAndThePictureWithin600OnAPathOf40Ms) {
  if (!fs::exists(kData / "video" / kClip)) {
    GTEST_SKIP() << "no data: clips in " << kData;
  }
  const media::GstRuntime gstreamer;
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  const auto secret = secure::make_secret();
  LinkSpec link;  // 12 Mbit/s
  link.down = link.up = std::make_shared<const sim::DeliveryTrace>(sim::DeliveryTrace{{{1ms}}});
  MeasuredEnd listener;
  MeasuredEnd joiner;
  listener.begin(clock, loop, {.role = secure::Role::kListener, .secret = secret});
  EmulatedPath path{link, listener.call->local_address()};
  TimePoint from{};
  runtime::EventLoop::Timer join{
      loop, [&] {
        from = clock.now();
        joiner.begin(clock, loop,
                     {.role = secure::Role::kJoiner, .secret = secret, .listener = path.address()});
      }};
  runtime::EventLoop::Timer end{loop, [&] { loop.stop(); }};
  join.arm(clock.now() + 1s);  // the listener's camera runs by then
  end.arm(clock.now() + 3s);
  loop.run();
  ASSERT_TRUE(joiner.connected_at && !joiner.shown.empty() && !listener.shown.empty());
  const Duration up = *joiner.connected_at - from;
  const Duration seen = joiner.shown.front().displayed - from;
  std::printf(
      "up after %.0f ms, the listener's picture after %.0f ms, the joiner's after %.0f ms\n",
      to_milliseconds(up), to_milliseconds(seen),
      to_milliseconds(listener.shown.front().displayed - from));
  const Duration busy = 10 * path.lateness();
  EXPECT_LE(up, 300ms + busy);
  EXPECT_LE(seen, 600ms + busy);
}

class LiveMeasured : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Links, LiveMeasured, ::testing::Values("Verizon-LTE-short", "hsdpa-tram"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(LiveMeasured, LiveCallEqualsTheSimulatedCall) {
  if (!fs::exists(kData / "traces" / "cellular")) {
    GTEST_SKIP() << "no data: recorded links in " << kData;
  }
  const media::GstRuntime gstreamer;
  const traces::NamedLink named = traces::resolve_link(GetParam(), kData);
  LinkSpec link;
  link.name = named.name;
  link.down = std::make_shared<const sim::DeliveryTrace>(named.down);
  link.up = std::make_shared<const sim::DeliveryTrace>(named.up);
  const std::vector<Seen> live = live_call(link);
  if (live.empty()) {
    GTEST_SKIP() << "this machine was too busy: timers were late by over 4 ms";
  }
  const std::vector<Seen> simulated = simulated_call(link);
  ASSERT_EQ(simulated.size(), live.size());
  for (size_t i = 0; i < live.size(); ++i) {
    std::printf(
        "%-22s %-8s live %5.0f kbit/s, p95 %5.0f ms; simulated %5.0f kbit/s, p95 %5.0f ms\n",
        GetParam(), i == 0 ? "forward" : "reverse", live[i].bitrate_kbps,
        live[i].frame_delay_p95_ms, simulated[i].bitrate_kbps, simulated[i].frame_delay_p95_ms);
    EXPECT_NEAR(live[i].bitrate_kbps, simulated[i].bitrate_kbps, 0.1 * simulated[i].bitrate_kbps);
    EXPECT_NEAR(live[i].frame_delay_p95_ms, simulated[i].frame_delay_p95_ms,
                std::max(25.0, 0.2 * simulated[i].frame_delay_p95_ms));
  }
}

}  // namespace
}  // namespace cress::harness
