// The cost of scoring: a frame's SSIM and PSNR, a long run's delay quantiles.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "eval/metrics/delay_over_time.hh"
#include "eval/metrics/picture_quality.hh"
#include "transport/base/rng.hh"

namespace cress::metrics {
namespace {

media::Picture noise(uint64_t seed, int width, int height) {
  Rng rng{seed};
  media::Picture picture = media::make_picture(width, height);
  for (uint8_t& value : picture.data) {
    value = static_cast<uint8_t>(rng.below(256));
  }
  return picture;
}

void ssim_640x360(benchmark::State& state) {
  const media::Picture a = noise(1, 640, 360);
  const media::Picture b = noise(2, 640, 360);
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(ssim(a, b));
  }
}
BENCHMARK(ssim_640x360)->Unit(benchmark::kMicrosecond);

void psnr_640x360(benchmark::State& state) {
  const media::Picture a = noise(1, 640, 360);
  const media::Picture b = noise(2, 640, 360);
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(psnr_db(a, b));
  }
}
BENCHMARK(psnr_640x360)->Unit(benchmark::kMicrosecond);

void quality_320x180_shown_at_640x360(benchmark::State& state) {
  const media::Picture a = noise(1, 320, 180);
  const media::Picture b = noise(2, 640, 360);
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(picture_quality(a, b));
  }
}
BENCHMARK(quality_320x180_shown_at_640x360)->Unit(benchmark::kMicrosecond);

void delay_quantile_of_arrivals(benchmark::State& state, bool shuffled) {
  Rng rng{1};
  std::vector<Arrival> arrivals;
  TimePoint sent = kTimeZero;
  TimePoint arrived = kTimeZero;
  for (int64_t i = 0; i < state.range(0); ++i) {
    sent += from_seconds(rng.exponential(0.001));
    arrived = std::max(arrived, sent) + from_seconds(rng.exponential(0.0008));
    arrivals.push_back({.sent = sent, .arrived = arrived + 20ms});
  }
  const Window window{.from = kTimeZero + 1s, .to = arrived};
  if (shuffled) {
    for (size_t i = arrivals.size(); i > 1; --i) {
      std::swap(arrivals[i - 1], arrivals[rng.below(i)]);
    }
  }
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(delay_quantile(arrivals, window, 0.95));
  }
}
BENCHMARK_CAPTURE(delay_quantile_of_arrivals, in_order, false)
    ->Arg(200'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(delay_quantile_of_arrivals, shuffled, true)
    ->Arg(200'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cress::metrics
