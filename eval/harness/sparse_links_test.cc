// Goal: links of 100 to 500 kbit/s that are silent for 20 to 60 % of their time, twenty drawn from
// seeds: a saturating flow fills them as Sprout-EWMA does, at less delay, and a call displays what
// one that knows the link's future would. Method: simulated, 180 s each; tables are printed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "eval/harness/run.hh"
#include "media/source/synthetic_camera.hh"
#include "traces/link_model.hh"
#include "traces/trace_statistics.hh"
#include "transport/base/rng.hh"

namespace cress::harness {
namespace {

constexpr uint64_t kSeeds = 20;
constexpr Duration kLength = 180s;

traces::LinkModelParameters draw_model(Rng& rng) {
  traces::LinkModelParameters model;
  const double kbps = rng.uniform(100, 500);
  model.mean_rate = DataRate::bits_per_second(static_cast<int64_t>(1000 * kbps));
  model.rate_max = model.mean_rate * 6.0;
  model.slow_spread = rng.uniform(0.4, 1.0);
  model.slow_time = from_seconds(rng.uniform(3, 13));
  model.fast_spread = rng.uniform(0, 0.3);
  model.outage_share = rng.uniform(0.15, 0.5);
  model.outage_mean = from_seconds(rng.uniform(0.4, 1.2));
  model.outage_max = from_seconds(rng.uniform(3, 11));
  model.outage_repeat = rng.uniform(0, 0.4);
  model.slipped_mean = rng.uniform(1, 4);
  model.stall_share = rng.uniform(0, 0.05);
  model.gap_variation = 1.1;
  model.burst_mean = rng.uniform(1, 2);
  return model;
}

struct SparseLink {
  LinkSpec spec;
  double kbps = 0;
  double silent = 0;  // share of time
};

/// Both directions by the same model. Models are drawn until the trace is what was asked for.
SparseLink sparse_link(uint64_t seed) {
  Rng rng{seed};
  while (true) {
    const traces::LinkModelParameters model = draw_model(rng);
    const auto made = [&] {
      return std::make_shared<const sim::DeliveryTrace>(
          traces::generate(model, kLength, rng.next()));
    };
    SparseLink link;
    link.spec.name = "sparse";
    link.spec.down = made();
    link.spec.up = made();
    const traces::TraceStatistics down = traces::statistics(*link.spec.down);
    link.kbps = static_cast<double>(down.mean_rate.bits_per_second()) / 1000;
    link.silent = down.outage_share;
    if (link.kbps >= 100 && link.kbps <= 500 && link.silent >= 0.2 && link.silent <= 0.6) {
      return link;
    }
  }
}

RunSpec run_spec(const SparseLink& link, const char* scheme) {
  RunSpec spec;
  spec.scheme = scheme;
  spec.link = link.spec;
  spec.duration = kLength;
  spec.skip = 10s;
  return spec;
}

TEST(SparseLinks, AFlowFillsThemAsSproutEwmaDoesAtLessDelay) {
  const schemes::SchemeContext context;
  double filled = 0;
  double delay_ms = 0;
  double ewma_filled = 0;
  double ewma_delay_ms = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SparseLink link = sparse_link(seed);
    const DirectionResult cress = run(run_spec(link, "cress"), context).results.at(0);
    const DirectionResult ewma = run(run_spec(link, "sprout-ewma"), context).results.at(0);
    std::printf(
        "seed %2d: %3.0f kbit/s, silent %.2f; cress %.3f at %4.0f ms, sprout-ewma %.3f at %4.0f "
        "ms\n",
        static_cast<int>(seed), link.kbps, link.silent, cress.utilization,
        cress.self_inflicted_ms.value(), ewma.utilization, ewma.self_inflicted_ms.value());
    filled += cress.utilization;
    delay_ms += cress.self_inflicted_ms.value();
    ewma_filled += ewma.utilization;
    ewma_delay_ms += ewma.self_inflicted_ms.value();
  }
  EXPECT_GE(filled, 0.9 * ewma_filled);
  EXPECT_LE(delay_ms, ewma_delay_ms);
}

TEST(SparseLinksMeasured, ACallDisplaysNineTenthsOfWhatTheOmniscientCallDoes) {
  const schemes::SchemeContext context;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SparseLink link = sparse_link(seed);
    const auto call = [&](const char* scheme) {
      RunSpec spec = run_spec(link, scheme);
      spec.duration = 120s;
      spec.forward_video = std::make_shared<media::SyntheticCamera>(
          media::SyntheticCameraOptions{.width = 640, .height = 360, .seed = seed});
      return run(spec, context).results.at(0).video.value();
    };
    const VideoResult cress = call("cress");
    const VideoResult omniscient = call("omniscient");
    for (const auto& [who, video] :
         {std::pair{"cress", cress}, std::pair{"omniscient", omniscient}}) {
      std::printf("call of %s, seed %2d: %4d frames, frozen %3.0f s, p50 %4.0f ms, p95 %5.0f ms\n",
                  who, static_cast<int>(seed), static_cast<int>(video.frames_displayed),
                  video.frozen_s, video.frame_delay_p50_ms.value(),
                  video.frame_delay_p95_ms.value());
    }
    EXPECT_GE(cress.frames_displayed, omniscient.frames_displayed * 9 / 10) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cress::harness
