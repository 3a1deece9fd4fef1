#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "media/frame/scale_picture.hh"
#include "media/rate/adaptive_encoder.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/rng.hh"

namespace {

namespace media = cress::media;

constexpr uint64_t kClipLength = 90;

std::vector<media::PicturePtr> make_clip(int width, int height) {
  media::SyntheticCamera camera{{.width = width, .height = height}};
  std::vector<media::PicturePtr> clip;
  for (uint64_t i = 0; i < kClipLength; ++i) {
    clip.push_back(camera.picture(i));
  }
  return clip;
}

// A frame from picture to bytes, every attempt included, into budgets that vary by a factor of
// about 15. Arguments: width, height, the lowest and the highest rate in kbit/s. The displayed time
// is the mean; the median and the 95th percentile are counters.
void adaptive_encode(benchmark::State& state) {
  const int width = static_cast<int>(state.range(0));
  const int height = static_cast<int>(state.range(1));
  const double low = std::log(1000.0 * static_cast<double>(state.range(2)));
  const double high = std::log(1000.0 * static_cast<double>(state.range(3)));
  const std::vector<media::PicturePtr> clip = make_clip(width, height);
  media::AdaptiveEncoder encoder{{.width = width, .height = height}};
  cress::Rng rng{1};
  double log_rate = (low + high) / 2;
  std::vector<double> milliseconds;
  for ([[maybe_unused]] auto _ : state) {
    const auto id = static_cast<uint32_t>(encoder.stats().frames);
    // Forwards, then backwards: no jump, which would cost as much as a scene cut.
    const uint64_t at = id % (2 * kClipLength - 2);
    const uint64_t index = at < kClipLength ? at : 2 * kClipLength - 2 - at;
    log_rate = std::clamp(log_rate + 0.13 * rng.normal(), low, high);
    const auto rate = cress::DataRate::bits_per_second(static_cast<int64_t>(std::exp(log_rate)));
    const media::FrameRate frame_rate;
    const auto begin = std::chrono::steady_clock::now();
    const media::AdaptedFrame coded = encoder.encode(cress::kTimeZero + frame_rate.time_of(id), id,
                                                     clip[index], rate * frame_rate.time_of(1));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
    milliseconds.push_back(1e3 * took.count());
    if (!coded.skipped()) {
      encoder.handle_decoded(id);
    }
  }
  std::ranges::sort(milliseconds);
  const auto frames = static_cast<double>(encoder.stats().frames);
  state.counters["ms_p50"] = milliseconds[milliseconds.size() / 2];
  state.counters["ms_p95"] = milliseconds[milliseconds.size() * 95 / 100];
  state.counters["attempts"] = static_cast<double>(encoder.stats().attempts) / frames;
  state.counters["skipped"] = static_cast<double>(encoder.stats().skipped) / frames;
}
BENCHMARK(adaptive_encode)
    ->Args({640, 480, 150, 2500})
    ->Args({1280, 720, 300, 4000})
    ->UseManualTime()
    ->Iterations(300)
    ->Unit(benchmark::kMillisecond);

// Arguments: width, height, eighths of the sides.
void scale(benchmark::State& state) {
  const int width = static_cast<int>(state.range(0));
  const int height = static_cast<int>(state.range(1));
  const int eighths = static_cast<int>(state.range(2));
  const media::PicturePtr picture = make_clip(width, height)[0];
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(
        media::scale_picture(*picture, width * eighths / 8, height * eighths / 8));
  }
}
BENCHMARK(scale)
    ->Args({640, 480, 6})
    ->Args({640, 480, 4})
    ->Args({1280, 720, 6})
    ->Args({1280, 720, 4})
    ->Unit(benchmark::kMillisecond);

}  // namespace
