// What every scheme did over generated links, as recorded. A packet, a frame or a window that
// changes shows here; why a scheme does what it does is tested next to it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "eval/schemes/registry.hh"
#include "media/codec/versions.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/sim/queue_codel.hh"
#include "transport/sim/queue_red.hh"
#include "transport/sim/world.hh"

namespace cress::schemes {
namespace {

constexpr Duration kSampleEvery = 50ms;
constexpr Duration kLineEvery = 1s;

/// Opportunities of a Poisson process whose rate, in packets/s, another random walk changes every
/// 200 ms between `least` and `most`; none in [3.5 s, 4.6 s).
std::shared_ptr<const sim::DeliveryTrace> walk(uint64_t seed, double least, double most) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  Rng rng{seed};
  double rate = 0.5 * (least + most);
  double next_change = 0;
  for (double at = 0; at < 9; at += rng.exponential(1 / rate)) {
    for (; next_change <= at; next_change += 0.2) {
      rate = std::clamp(rate * std::exp(0.3 * rng.normal()), least, most);
    }
    if (at < 3.5 || at >= 4.6) {
      trace->opportunities.push_back({from_seconds(at)});
    }
  }
  return trace;
}

/// A deep queue with random loss, and one that is short or managed.
struct Conditions {
  double rate_min;
  double rate_max;
  double loss;
  bool short_queue;
  uint64_t seed;
};
constexpr std::array kFlowConditions = {Conditions{30, 700, 0.01, false, 1},
                                        Conditions{80, 500, 0, true, 2},
                                        Conditions{400, 400, 0, false, 3}};
constexpr std::array kCallConditions = {Conditions{15, 150, 0.01, false, 3},
                                        Conditions{30, 250, 0.002, true, 4}};

std::unique_ptr<sim::Queue> queue_of(const Conditions& conditions, std::string_view asked) {
  if (asked.starts_with("red")) {
    return std::make_unique<sim::RedQueue>(sim::RedOptions{}, Rng{conditions.seed});
  }
  if (asked == "codel") {
    return std::make_unique<sim::CodelQueue>();
  }
  return conditions.short_queue ? std::make_unique<sim::DropTailQueue>(DataSize{30'000}) : nullptr;
}

struct Path {
  Path(const Conditions& conditions, std::string_view queue)
      : forward({.trace = walk(conditions.seed, conditions.rate_min, conditions.rate_max),
                 .loss = conditions.loss,
                 .seed = conditions.seed,
                 .queue = queue_of(conditions, queue)}),
        reverse({.trace = walk(conditions.seed + 10, conditions.rate_min, conditions.rate_max),
                 .propagation = 30ms,
                 .loss = conditions.loss,
                 .seed = conditions.seed + 20,
                 .queue = queue_of(conditions, queue)}) {}

  sim::Link forward;
  sim::Link reverse;
};

std::string text_of(const HostSample& sample) {
  return fmt::format(
      "{},{}", sample.window ? std::to_string(sample.window->bytes() / 1000) : "",
      sample.forecast ? std::to_string(sample.forecast->bits_per_second() / 1000) : "");
}

std::string text_of(const sim::Link& link) {
  std::string text = fmt::format("lost {} dropped {}\n", link.lost(), link.queue_stats().dropped);
  for (const sim::PacketRecord& record : link.records()) {
    text += fmt::format("{} {} {}\n", (record.sent - kTimeZero) / 1us,
                        (record.left - kTimeZero) / 1us, record.size.bytes());
  }
  return text;
}

/// What comes out of a call at one end.
std::string drained(CallHost& end) {
  std::string text;
  while (const auto coded = end.poll_coded()) {
    text += fmt::format("coded {} {} {} {} {} {} {}\n", coded->frame_id,
                        (coded->captured - kTimeZero) / 1us, coded->size.bytes(),
                        coded->budget ? coded->budget->bytes() : -1, coded->quantizer,
                        coded->key_frame, coded->attempts);
  }
  while (const auto shown = end.poll_shown()) {
    text += fmt::format("shown {} {} {} {}x{} {}\n", shown->frame_id,
                        (shown->captured - kTimeZero) / 1us, (shown->shown - kTimeZero) / 1us,
                        shown->picture->width, shown->picture->height,
                        golden_digest({reinterpret_cast<const char*>(shown->picture->y()),
                                       shown->picture->luma_size()}));
  }
  while (const auto played = end.poll_played()) {
    text += fmt::format("played {} {} {}\n", (played->captured - kTimeZero) / 1us,
                        (played->played - kTimeZero) / 1us, static_cast<int>(played->kind));
  }
  return text;
}
std::string drained(SchemeHost& /*end*/) { return {}; }

/// A word each second (kilobytes in, the sender's window in kilobytes and forecast in kbit/s), and
/// a digest of every packet, frame and sample.
template <typename Pair>
std::string outcome(Pair& pair, Path& path, Duration length) {
  sim::World world{{*pair.left, *pair.right, path.forward, path.reverse}};
  std::string line;
  std::string all;
  for (Duration at = kSampleEvery; at <= length; at += kSampleEvery) {
    const TimePoint now = kTimeZero + at;
    world.run_until(now);
    const std::string left = text_of(pair.left->sample(now));
    all += fmt::format("{} {} {} {}\n", left, text_of(pair.right->sample(now)),
                       pair.left->delivered().bytes(), pair.right->delivered().bytes());
    all += drained(*pair.left) + drained(*pair.right);
    if (at % kLineEvery == Duration{}) {
      line += fmt::format(" {}|{}", pair.right->delivered().bytes() / 1000, left);
    }
  }
  all += text_of(path.forward) + text_of(path.reverse);
  return line + " " + golden_digest(all);
}

std::string flows(std::initializer_list<std::string_view> names, Duration length) {
  const SchemeContext context;
  std::string text;
  for (const std::string_view name : names) {
    const std::string_view queue = find_scheme(name).queue;
    for (const Conditions& conditions : kFlowConditions) {
      Path path{conditions, queue};
      FlowPair pair = make_flow(name, context, conditions.seed,
                                {.forward = path.forward.options().trace, .queue = queue});
      text += fmt::format("{}{}\n", name, outcome(pair, path, length));
    }
  }
  return text;
}

void expect_calls(std::string_view golden, std::initializer_list<std::string_view> names,
                  Duration length) {
  const SchemeContext context;
  std::string text = media::codec_versions() + "\n";
  if (!golden_begins(golden, media::codec_versions())) {
    GTEST_SKIP() << golden << " was recorded with other codecs than " << media::codec_versions();
  }
  const auto media = [](uint64_t seed) {
    return CallMedia{.camera = std::make_shared<media::SyntheticCamera>(
                         media::SyntheticCameraOptions{.width = 160, .height = 96, .seed = seed}),
                     .microphone = std::make_shared<media::SyntheticVoice>(
                         media::SyntheticVoiceOptions{.seed = seed})};
  };
  const auto silent = [&media] { return CallMedia{.camera = media(1).camera, .microphone = {}}; };
  for (const std::string_view name : names) {
    for (const Conditions& conditions : kCallConditions) {
      Path path{conditions, {}};
      // The second call shows one side alone, silently: half of the work.
      const bool both = !conditions.short_queue;
      CallPair pair = make_call(
          name, context, conditions.seed, both ? media(1) : silent(), both ? media(2) : CallMedia{},
          {.forward = path.forward.options().trace, .reverse = path.reverse.options().trace});
      text += fmt::format("{}{}\n", name, outcome(pair, path, length));
    }
  }
  expect_golden(golden, text);
}

TEST(GoldenSchemes, FlowsByLossAreAsRecorded) {
  expect_golden("flows_loss",
                flows({"reno", "cubic", "cubic-codel", "cubic-red", "compound"}, 15s));
}

TEST(GoldenSchemes, FlowsByDelayAreAsRecorded) {
  expect_golden("flows_delay", flows({"vegas", "ledbat", "bbr", "copa", "verus-r2", "verus-r4",
                                      "verus-r6", "omniscient"},
                                     15s));
}

TEST(GoldenSchemes, FlowsByForecastAreAsRecorded) {
  expect_golden(
      "flows_forecast",
      flows({"cress", "cress-cautious", "cress-bold", "sprout", "sprout-instant", "sprout-tunnel",
             "sprout-ewma", "sprout-75", "skype-like", "hangouts-like", "facetime-like"},
            8s));
}

TEST(GoldenSchemes, CallsByForecastAreAsRecorded) {
  expect_calls("calls_forecast",
               {"cress", "cress-cautious", "cress-bold", "sprout", "sprout-ewma", "omniscient"},
               5s);
}

TEST(GoldenSchemes, CallsOfOtherProgramsAreAsRecorded) {
  expect_calls("calls_others", {"gcc", "gcc-draft", "skype-like", "hangouts-like", "facetime-like"},
               8s);
}

}  // namespace
}  // namespace cress::schemes
