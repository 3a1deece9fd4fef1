// The speed of the bench itself: simulated seconds per second of one core.

#include <benchmark/benchmark.h>

#include "eval/harness/run.hh"
#include "media/source/recent_pictures.hh"
#include "media/source/synthetic_camera.hh"
#include "traces/links.hh"

namespace cress::harness {
namespace {

RunSpec spec_of(const char* scheme, const char* link, Duration duration) {
  RunSpec spec;
  spec.scheme = scheme;
  spec.link.name = link;
  spec.link.down =
      std::make_shared<sim::DeliveryTrace>(traces::embedded_trace(link, traces::Direction::kDown));
  spec.link.up =
      std::make_shared<sim::DeliveryTrace>(traces::embedded_trace(link, traces::Direction::kUp));
  spec.duration = duration;
  spec.skip = duration / 5;
  return spec;
}

void measure(benchmark::State& state, const RunSpec& spec) {
  const schemes::SchemeContext context;
  for (auto _ : state) {
    benchmark::DoNotOptimize(run(spec, context).results.front().throughput_kbps);
  }
  state.counters["times_real_time"] =
      benchmark::Counter(to_seconds(spec.duration), benchmark::Counter::kIsIterationInvariantRate);
}

/// One saturating flow of 300 s over the fast LTE link, scored.
void flow_300s(benchmark::State& state, const char* scheme) {
  measure(state, spec_of(scheme, "lte-fast", 300s));
}
BENCHMARK_CAPTURE(flow_300s, sprout, "sprout")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flow_300s, sprout_ewma, "sprout-ewma")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flow_300s, cubic, "cubic")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flow_300s, reno, "reno")->Unit(benchmark::kMillisecond);

/// As `cress-eval run --video synthetic` has it.
std::shared_ptr<media::VideoSource> camera(uint64_t seed) {
  return std::make_shared<media::RecentPictures>(
      std::make_unique<media::SyntheticCamera>(media::SyntheticCameraOptions{.seed = seed}), 60);
}

/// A call with 640×360 video at 30 per second in both directions: cameras, encoding, link, decoding
/// and scoring.
void call_10s(benchmark::State& state, const char* scheme, const char* link) {
  RunSpec spec = spec_of(scheme, link, 10s);
  spec.forward_video = camera(1);
  spec.reverse_video = camera(2);
  measure(state, spec);
}
// The demo's link, and one so fast that frames are fine and the encoder has most to do.
BENCHMARK_CAPTURE(call_10s, sprout_lte_slow, "sprout", "lte-slow")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);
BENCHMARK_CAPTURE(call_10s, sprout_ewma_lte_slow, "sprout-ewma", "lte-slow")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);
BENCHMARK_CAPTURE(call_10s, skype_like_lte_slow, "skype-like", "lte-slow")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);
BENCHMARK_CAPTURE(call_10s, sprout_lte_fast, "sprout", "lte-fast")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);
BENCHMARK_CAPTURE(call_10s, skype_like_lte_fast, "skype-like", "lte-fast")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace cress::harness
