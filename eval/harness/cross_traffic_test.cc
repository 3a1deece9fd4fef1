#include "eval/harness/cross_traffic.hh"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "eval/harness/outputs.hh"
#include "media/source/synthetic_camera.hh"
#include "traces/everyday_links.hh"

namespace cress::harness {
namespace {

RunSpec flow_at_home(const std::string& scheme, std::vector<CrossFlow> cross) {
  const traces::NamedLink link = traces::constant_link("constant:6Mbit/s");
  RunSpec spec;
  spec.scheme = scheme;
  spec.link = {.name = "home",
               .down = std::make_shared<sim::DeliveryTrace>(link.down),
               .up = std::make_shared<sim::DeliveryTrace>(link.up),
               .queue = QueueSpec::parse("droptail:64")};
  spec.duration = 60s;
  spec.skip = 5s;
  spec.cross = std::move(cross);
  return spec;
}

RunSpec call_at_home(const std::string& scheme, std::vector<CrossFlow> cross) {
  RunSpec spec = flow_at_home(scheme, std::move(cross));
  spec.duration = 7s;
  spec.skip = 2s;
  spec.forward_video = std::make_shared<media::SyntheticCamera>(
      media::SyntheticCameraOptions{.width = 320, .height = 180, .seed = 1});
  return spec;
}

DirectionResult forward_of(const RunSpec& spec) {
  return run(spec, schemes::SchemeContext{}).results.front();
}

TEST(JainIndex, IsOneForEqualRatesAndOneNthForOneOfN) {
  EXPECT_EQ(jain_index({5, 5, 5, 5}), 1);
  EXPECT_EQ(jain_index({0, 8, 0, 0}), 0.25);
  EXPECT_NEAR(jain_index({1, 3}), 0.8, 1e-12);
  EXPECT_EQ(jain_index({0, 0}), 0);
}

TEST(CrossTraffic, EqualFlowsShareTheQueueFairly) {
  const DirectionResult result = forward_of(flow_at_home("cubic", {{.kind = "cubic", .count = 2}}));
  ASSERT_TRUE(result.sharing.has_value());
  const Sharing& sharing = *result.sharing;
  ASSERT_EQ(sharing.flows.size(), 2U);
  EXPECT_EQ(sharing.together, (metrics::Window{kTimeZero + 5s, kTimeZero + 60s}));
  EXPECT_EQ(sharing.fair_share_kbps, 2000);
  EXPECT_GT(sharing.jain, 0.85);
  EXPECT_NEAR(sharing.rate_kbps + sharing.flows[0].rate_kbps + sharing.flows[1].rate_kbps, 6000,
              20);
  EXPECT_NEAR(result.throughput_kbps, sharing.rate_kbps, 0.001) << "own packets alone";
  EXPECT_GT(sharing.flows[0].goodput_kbps, 0.9 * sharing.flows[0].rate_kbps);
  EXPECT_GT(*sharing.flows[0].delay95_ms, 100);
}

TEST(CrossTraffic, FlowRunsFromItsStartForItsLength) {
  RunSpec spec = flow_at_home("vegas", {{.kind = "cubic", .start = 12'345ms, .length = 10s}});
  const schemes::SchemeContext context;
  sim::Link forward{{.trace = nullptr, .queue = nullptr}};
  sim::Link reverse{{.trace = nullptr, .queue = nullptr}};
  sim::World world;
  CrossTraffic cross{spec, context};
  cross.connect(world, forward, reverse);
  world.run_until(kTimeZero + 30s);
  EXPECT_EQ(forward.records().front().sent, kTimeZero + 12'345ms);
  EXPECT_LT(forward.records().back().sent, kTimeZero + 22'345ms);
  EXPECT_GT(forward.records().back().sent, kTimeZero + 22'200ms);
  EXPECT_LT(reverse.records().back().sent, kTimeZero + 22'345ms);
  EXPECT_EQ(forward_of(spec).sharing->together,
            (metrics::Window{kTimeZero + 12'345ms, kTimeZero + 22'345ms}));
}

TEST(CrossTraffic, UpwardFlowOnlySharesTheReverseQueue) {
  const DirectionResult result = forward_of(flow_at_home("cubic", {{.kind = "cubic", .up = true}}));
  EXPECT_TRUE(result.sharing->flows.empty());
  EXPECT_EQ(result.sharing->jain, 1);
  EXPECT_GT(result.throughput_kbps, 3000) << "its acknowledgements wait, its data do not";
}

TEST(CrossTraffic, FlowsThatNeverMeetHaveNoShares) {
  const DirectionResult result = forward_of(
      flow_at_home("cubic", {{.kind = "cubic", .length = 10s}, {.kind = "reno", .start = 40s}}));
  EXPECT_FALSE(result.sharing->together.has_value());
  EXPECT_FALSE(result.sharing->jain.has_value());
  EXPECT_FALSE(result.sharing->flows[0].share.has_value());
  EXPECT_GT(result.sharing->flows[1].rate_kbps, 500);
}

TEST(CrossTraffic, WebTrafficTakesNoShare) {
  const DirectionResult result =
      forward_of(flow_at_home("cubic", {{.kind = kWebTraffic, .count = 3}}));
  EXPECT_EQ(result.sharing->fair_share_kbps, 6000);
  EXPECT_FALSE(result.sharing->flows[0].share.has_value());
  EXPECT_FALSE(result.sharing->flows[0].delay95_ms.has_value());
  EXPECT_GT(result.sharing->flows[0].rate_kbps, 20);
  EXPECT_LT(result.sharing->flows[0].rate_kbps, 2000);
}

TEST(CrossTraffic, CompetingCallsDisplayTheirFrames) {
  const DirectionResult result =
      forward_of(call_at_home("gcc", {{.kind = "gcc"}, {.kind = "cress", .start = 1s}}));
  ASSERT_EQ(result.sharing->flows.size(), 2U);
  for (const FlowShare& flow : result.sharing->flows) {
    ASSERT_TRUE(flow.frames.has_value()) << flow.kind;
    EXPECT_EQ(flow.frames->captured, 150) << flow.kind;
    EXPECT_GT(flow.frames->displayed, 125) << flow.kind;
    EXPECT_LT(*flow.frames->delay95_ms, 500) << flow.kind;
    EXPECT_GT(flow.goodput_kbps, 100) << flow.kind;
  }
}

TEST(CrossTraffic, ResultsOfOneSeedAreEqual) {
  const RunSpec spec = flow_at_home(
      "reno",
      {{.kind = "bbr"}, {.kind = kWebTraffic, .start = 3s}, {.kind = "cress", .length = 4s}});
  const auto json = [&] { return results_json(run(spec, schemes::SchemeContext{}).results); };
  EXPECT_EQ(json(), json());
}

TEST(CrossTraffic, KindsThatNeedTheirPathAreRefused) {
  for (const char* kind : {"omniscient", "cubic-codel", "cubik", ""}) {
    EXPECT_THROW(CrossTraffic::check({{.kind = kind}}), std::invalid_argument) << kind;
  }
  CrossTraffic::check({{.kind = "web", .count = 50}, {.kind = "gcc", .count = 50}});
  EXPECT_THROW(CrossTraffic::check({{.kind = "web", .count = 50}, {.kind = "gcc", .count = 51}}),
               std::invalid_argument);
}

TEST(CrossTraffic, ResultsSayHowTheQueueWasShared) {
  const RunSpec spec = flow_at_home("cubic", {{.kind = "cubic"}});
  const auto results = run(spec, schemes::SchemeContext{}).results;
  EXPECT_NE(results_table(results).find("next to cubic"), std::string::npos);
  EXPECT_NE(results_table(results).find("from 5 to 60 s"), std::string::npos);
  const auto json = nlohmann::json::parse(results_json(results)).front();
  EXPECT_EQ(json["sharing"]["together_s"], (std::vector<double>{5, 60}));
  EXPECT_EQ(json["sharing"]["flows"][0]["flow"], "cubic");
  EXPECT_TRUE(json["sharing"]["jain"].is_number());
  const RunSpec alone = flow_at_home("cubic", {});
  EXPECT_FALSE(nlohmann::json::parse(results_json(run(alone, schemes::SchemeContext{}).results))
                   .front()
                   .contains("sharing"));
}

}  // namespace
}  // namespace cress::harness
