#include <benchmark/benchmark.h>

#include "media/source/synthetic_camera.hh"

namespace {

void camera_picture(benchmark::State& state) {
  cress::media::SyntheticCamera camera{
      {.width = static_cast<int>(state.range(0)), .height = static_cast<int>(state.range(1))}};
  uint64_t index = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(camera.picture(index++));
  }
}
BENCHMARK(camera_picture)->Args({640, 360})->Args({1280, 720})->Unit(benchmark::kMillisecond);

void camera_set_up(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    cress::media::SyntheticCamera camera;
    benchmark::DoNotOptimize(camera.picture(0));
  }
}
BENCHMARK(camera_set_up)->Unit(benchmark::kMillisecond);

}  // namespace
