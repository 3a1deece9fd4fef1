#include <benchmark/benchmark.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "app/call/audio_receiver.hh"
#include "app/call/audio_sender.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "transport/base/rng.hh"

namespace {

namespace app = cress::app;
namespace media = cress::media;

constexpr uint64_t kFrames = 3'000;

cress::TimePoint end_of(uint64_t frame) {
  return cress::kTimeZero + static_cast<int64_t>(frame + 1) * media::kAudioFrameLength;
}

// Every iteration is one frame of 20 ms: 200 us are one per cent of a core.
void audio_send(benchmark::State& state) {
  media::SyntheticVoice voice;
  app::AudioSender sender;
  sender.handle_loss(0.05);
  uint64_t frame = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(sender.capture(end_of(frame), voice.frame(frame)));
    ++frame;
  }
}
BENCHMARK(audio_send)->Unit(benchmark::kMicrosecond);

// Argument: mean of the jitter in ms, which the receiver has to compensate by stretching and
// shrinking.
void audio_receive(benchmark::State& state) {
  media::SyntheticVoice voice;
  app::AudioSender sender;
  struct Arrival {
    cress::TimePoint at{};
    std::vector<std::byte> message;
  };
  cress::Rng rng{1};
  std::vector<Arrival> arrivals;
  cress::TimePoint last{};
  for (uint64_t i = 0; i < kFrames; ++i) {
    if (auto message = sender.capture(end_of(i), voice.frame(i))) {
      const double jitter_s = rng.exponential(static_cast<double>(state.range(0)) / 1000.0);
      last = std::max(last, end_of(i) + cress::from_seconds(0.02 + jitter_s));
      arrivals.push_back({.at = last, .message = std::move(*message)});
    }
  }
  std::optional<app::AudioReceiver> receiver;
  size_t next = arrivals.size();
  for ([[maybe_unused]] auto _ : state) {
    if (next == arrivals.size()) {
      receiver.emplace();
      next = 0;
    }
    while (next < arrivals.size() && arrivals[next].at <= receiver->poll_timeout()) {
      benchmark::DoNotOptimize(
          receiver->handle_message(arrivals[next].at, arrivals[next].message).has_value());
      ++next;
    }
    benchmark::DoNotOptimize(receiver->poll_frame(receiver->poll_timeout()));
  }
}
BENCHMARK(audio_receive)->Arg(1)->Arg(30)->Unit(benchmark::kMicrosecond);

}  // namespace
