#include "eval/schemes/registry.hh"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "media/source/synthetic_camera.hh"
#include "transport/sim/queue_codel.hh"
#include "transport/sim/queue_red.hh"
#include "transport/sim/world.hh"

namespace cress::schemes {
namespace {

/// Falls and rises: 8, 2, 5 Mbit/s and an outage of half a second, every ten seconds.
std::shared_ptr<const sim::DeliveryTrace> wandering() {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  const std::vector<std::pair<Duration, Duration>> steps = {
      {1500us, 3s}, {6ms, 6s}, {2400us, 9500ms}};
  Duration at{};
  for (const auto& [gap, until] : steps) {
    for (; at < until; at += gap) {
      trace->opportunities.push_back({at});
    }
  }
  trace->opportunities.push_back({10s});
  return trace;
}

std::unique_ptr<sim::Queue> queue_of(std::string_view name) {
  if (name == "codel") {
    return std::make_unique<sim::CodelQueue>();
  }
  if (name == "red:5,15,0.1") {
    return std::make_unique<sim::RedQueue>(
        sim::RedOptions{.threshold_min = 7'500, .threshold_max = 22'500, .drop_chance_max = 0.1},
        Rng{1});
  }
  EXPECT_TRUE(name.empty()) << name;
  return nullptr;
}

struct Outcome {
  DataSize delivered;
  std::vector<TimePoint> arrivals;
};

Outcome run(const SchemeInfo& info, const std::string& name, const SchemeContext& context,
            double loss = 0) {
  const auto trace = wandering();
  sim::Link forward{{.trace = trace, .loss = loss, .queue = queue_of(info.queue)}};
  sim::Link reverse{{.trace = trace, .loss = loss, .seed = 2, .queue = queue_of(info.queue)}};
  FlowPair pair = make_flow(name, context, 1, {.forward = trace, .queue = info.queue});
  sim::World world{{*pair.left, *pair.right, forward, reverse}};
  world.run_until(kTimeZero + 20s);
  Outcome result{pair.right->delivered(), {}};
  for (const sim::PacketRecord& record : forward.records()) {
    result.arrivals.push_back(record.arrived);
  }
  return result;
}

TEST(Registry, EveryFlowCarriesDataOverAWanderingLinkWithLossAndAlikeTwice) {
  const SchemeContext context;
  const auto trace = wandering();
  const double possible = static_cast<double>(trace->capacity(kTimeZero, kTimeZero + 20s).bytes());
  int flows = 0;
  for (const auto list : {schemes(), schemes_with_path()}) {
    for (const SchemeInfo& info : list) {
      if (!info.saturating) {
        continue;
      }
      ++flows;
      const std::string name{info.name};
      for (const double loss : {0.0, 0.02}) {
        const Outcome once = run(info, name, context, loss);
        // A modelled program stops at its own ceiling, far below this link.
        const double least = name.ends_with("-like") ? 0.01 : 0.05;
        EXPECT_GT(static_cast<double>(once.delivered.bytes()), least * possible)
            << name << " loss " << loss;
        EXPECT_EQ(once.arrivals, run(info, name, context, loss).arrivals) << name;
      }
    }
  }
  EXPECT_GE(flows, 22);
}

/// So short that, for many seeds, the first datagram comes before the other end has started.
sim::Link short_link() {
  return sim::Link{{.trace = wandering(), .propagation = 1ms, .queue = nullptr}};
}

TEST(Registry, AnyFlowStartsOverAPathOfOneMillisecond) {
  const SchemeContext context;
  for (const SchemeInfo& info : schemes()) {
    for (uint64_t seed = 0; info.saturating && seed < 4; ++seed) {
      sim::Link forward = short_link();
      sim::Link reverse = short_link();
      const FlowPair pair = make_flow(info.name, context, seed);
      sim::World world{{*pair.left, *pair.right, forward, reverse}};
      world.run_until(kTimeZero + 1s);
      EXPECT_GT(pair.right->delivered(), DataSize{}) << info.name << " seed " << seed;
    }
  }
}

TEST(Registry, AnyCallStartsOverAPathOfOneMillisecond) {
  const SchemeContext context;
  const auto trace = wandering();
  for (const auto list : {schemes(), schemes_with_path()}) {
    for (const SchemeInfo& info : list) {
      for (uint64_t seed = 0; info.call && seed < 4; ++seed) {
        sim::Link forward = short_link();
        sim::Link reverse = short_link();
        const auto camera = std::make_shared<media::SyntheticCamera>(
            media::SyntheticCameraOptions{.width = 160, .height = 90});
        const CallPair pair = make_call(info.name, context, seed, {camera, nullptr}, {},
                                        {.forward = trace, .reverse = trace});
        sim::World world{{*pair.left, *pair.right, forward, reverse}};
        world.run_until(kTimeZero + 1s);
        EXPECT_TRUE(pair.right->poll_shown()) << info.name << " seed " << seed;
      }
    }
  }
}

TEST(Registry, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const auto list : {schemes(), schemes_with_path()}) {
    for (const SchemeInfo& info : list) {
      EXPECT_TRUE(names.insert(info.name).second) << info.name;
      EXPECT_EQ(find_scheme(info.name).name, info.name);
    }
  }
}

TEST(Registry, SproutTakesAnyWholeConfidence) {
  for (const char* name : {"sprout-1", "sprout-5", "sprout-60", "sprout-95", "sprout-99"}) {
    EXPECT_TRUE(find_scheme(name).saturating) << name;
  }
  for (const char* name : {"sprout-0", "sprout-100", "sprout-", "sprout-05", "sprout--5",
                           "sprout-5%", "sprout-5x", "sprout-4294967300"}) {
    EXPECT_THROW((void)find_scheme(name), std::invalid_argument) << name;
  }
}

TEST(Registry, SproutAtNinetyFivePercentIsSproutAndLessConfidenceSendsMore) {
  const SchemeContext context;
  const SchemeInfo any = find_scheme("sprout-75");
  EXPECT_EQ(run(any, "sprout", context).arrivals, run(any, "sprout-95", context).arrivals);
  DataSize before;
  for (const char* name : {"sprout-95", "sprout-75", "sprout-50", "sprout-25", "sprout-5"}) {
    const DataSize delivered = run(any, name, context).delivered;
    EXPECT_GT(delivered, before) << name;
    before = delivered;
  }
}

TEST(Registry, PathRequirementsOfASchemeAreEnforced) {
  const SchemeContext context;
  for (const SchemeInfo& info : schemes_with_path()) {
    EXPECT_THROW((void)make_flow(info.name, context, 1), std::invalid_argument) << info.name;
    EXPECT_THROW((void)make_flow(info.name, context, 1, FlowPath{}), std::invalid_argument)
        << info.name;
  }
  EXPECT_THROW(
      (void)make_flow("cubic-codel", context, 1, {.forward = wandering(), .queue = "infinite"}),
      std::invalid_argument);
  EXPECT_NO_THROW((void)make_flow("vegas", context, 1, FlowPath{}));
  EXPECT_THROW((void)make_flow("gcc", context, 1, FlowPath{}), std::invalid_argument);
}

template <typename Act>
std::string refusal_of(Act act) {
  try {
    act();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Registry, AnUnknownNameGetsTheNearestScheme) {
  const std::pair<std::string, std::string> typed[] = {{"cubik", "cubic"},
                                                       {"cubi", "cubic"},
                                                       {"xcubic", "cubic"},
                                                       {"ubic", "cubic"},
                                                       {"sprot", "sprout"},
                                                       {"gccc", "gcc"},
                                                       {"verus-r5", "verus-r2"},
                                                       {"facetime", "facetime-like"},
                                                       {"cress-kautious", "cress-cautious"},
                                                       {"omnicient", "omniscient"},
                                                       {"bbrr", "bbr"}};
  for (const auto& [name, nearest] : typed) {
    EXPECT_EQ(refusal_of([&] { (void)find_scheme(name); }),
              "unknown scheme \"" + name + "\"; did you mean \"" + nearest +
                  "\"? `cress-eval schemes` lists them all");
  }
}

TEST(Registry, NoSchemeIsSuggestedThatIsFarFromTheName) {
  for (const std::string name : {"", "x", "carrot", "h264"}) {
    EXPECT_EQ(refusal_of([&] { (void)find_scheme(name); }),
              "unknown scheme \"" + name + "\"; `cress-eval schemes` lists them all");
  }
}

TEST(Registry, RefusalsNameTheSchemesRequirement) {
  const SchemeContext context;
  EXPECT_EQ(refusal_of([&] { (void)make_flow("gcc", context, 1); }),
            "scheme \"gcc\" only carries calls; give it pictures with --video");
  EXPECT_EQ(refusal_of([&] { (void)make_flow("cubic-codel", context, 1); }),
            "scheme \"cubic-codel\" asks for --queue codel, which this run does not give it");
  EXPECT_EQ(refusal_of([&] {
              (void)make_flow("cubic-codel", context, 1, {.forward = {}, .queue = "red"});
            }),
            "scheme \"cubic-codel\" asks for --queue codel; leave --queue out");
  EXPECT_EQ(refusal_of([&] { (void)make_flow("omniscient", context, 1); }),
            "scheme \"omniscient\" has to know the link, which this run does not tell it");
  EXPECT_EQ(refusal_of([&] { (void)make_flow("omniscient", context, 1, FlowPath{}); }),
            "scheme \"omniscient\" has to know the link");
  EXPECT_EQ(refusal_of([&] { (void)make_call("cubic", context, 1, {}, {}); }),
            "scheme \"cubic\" carries no call; run it without --video");
  const std::string no_link =
      "scheme \"omniscient\" has to know the link, which this run does not tell it";
  for (const CallPath& path : {CallPath{}, CallPath{.forward = wandering(), .reverse = {}},
                               CallPath{.forward = {}, .reverse = wandering()}}) {
    EXPECT_EQ(refusal_of([&] { (void)make_call("omniscient", context, 1, {}, {}, path); }),
              no_link);
  }
}

}  // namespace
}  // namespace cress::schemes
