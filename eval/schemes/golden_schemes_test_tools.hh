#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/schemes/registry.hh"
#include "media/codec/versions.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/sim/queue_codel.hh"
#include "transport/sim/queue_red.hh"
#include "transport/sim/world.hh"

/// What schemes do over generated links, for golden files next to each scheme's code. A packet, a
/// frame or a window that changes shows there; why a scheme does what it does is tested apart.
namespace cress::schemes::golden {

inline constexpr Duration kSampleEvery = 50ms;
inline constexpr Duration kLineEvery = 1s;

/// Opportunities of a Poisson process whose rate, in packets/s, another random walk changes every
/// 200 ms between `least` and `most`; none in [3.5 s, 4.6 s).
inline std::shared_ptr<const sim::DeliveryTrace> walk(uint64_t seed, double least, double most) {
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

/// A deep queue with random loss, one that is short or managed, and datagrams that come twice, late
/// or cut.
struct Conditions {
  double rate_min;
  double rate_max;
  double loss;
  bool short_queue;
  uint64_t seed;
  bool shaken = false;
};
inline constexpr std::array kFlowConditions = {Conditions{30, 700, 0.01, false, 1},
                                               Conditions{80, 500, 0, true, 2},
                                               Conditions{400, 400, 0, false, 3, true}};
inline constexpr std::array kCallConditions = {Conditions{15, 150, 0.01, false, 3},
                                               Conditions{30, 250, 0.002, true, 4, true}};

inline std::unique_ptr<sim::Queue> queue_of(const Conditions& conditions, std::string_view asked) {
  if (asked.starts_with("red")) {
    return std::make_unique<sim::RedQueue>(sim::RedOptions{}, Rng{conditions.seed});
  }
  if (asked == "codel") {
    return std::make_unique<sim::CodelQueue>();
  }
  return conditions.short_queue ? std::make_unique<sim::DropTailQueue>(DataSize{30'000}) : nullptr;
}

/// Hands an end some datagrams twice, some after the next few, and some cut short.
class Shaken final : public Machine {
 public:
  Shaken(Machine& host, bool shakes, uint64_t seed) : host_(host), shakes_(shakes), rng_(seed) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    if (!shakes_) {
      host_.handle_datagram(now, from, bytes);
      return;
    }
    const double drawn = rng_.uniform();
    if (drawn < 0.01 && held_.empty()) {
      held_.emplace_back(bytes.begin(), bytes.end());
      after_ = 1 + rng_.below(8);
      return;
    }
    host_.handle_datagram(now, from, bytes);
    if (drawn > 0.99) {
      host_.handle_datagram(now, from, bytes);
    } else if (drawn > 0.98) {
      host_.handle_datagram(now, from, bytes.first(rng_.below(bytes.size() + 1)));
    }
    if (!held_.empty() && --after_ == 0) {
      host_.handle_datagram(now, from, held_.front());
      held_.clear();
    }
  }
  void handle_timeout(TimePoint now) override { host_.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override { return host_.poll_transmit(now); }
  TimePoint poll_timeout() const override { return host_.poll_timeout(); }

 private:
  Machine& host_;
  bool shakes_;
  Rng rng_;
  std::vector<std::vector<std::byte>> held_;
  uint64_t after_ = 0;
};

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

inline std::string text_of(const HostSample& sample) {
  return fmt::format(
      "{},{}", sample.window ? std::to_string(sample.window->bytes() / 1000) : "",
      sample.forecast ? std::to_string(sample.forecast->bits_per_second() / 1000) : "");
}

inline std::string text_of(const sim::Link& link) {
  std::string text = fmt::format("lost {} dropped {}\n", link.lost(), link.queue_stats().dropped);
  for (const sim::PacketRecord& record : link.records()) {
    text += fmt::format("{} {} {}\n", (record.sent - kTimeZero) / 1us,
                        (record.left - kTimeZero) / 1us, record.size.bytes());
  }
  return text;
}

/// What comes out of a call at one end.
inline std::string drained(CallHost& end) {
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
inline std::string drained(SchemeHost& /*end*/) { return {}; }

/// A word each second (kilobytes in, the sender's window in kilobytes and forecast in kbit/s), and
/// a digest of every packet, frame and sample.
template <typename Pair>
std::string outcome(Pair& pair, Path& path, const Conditions& conditions, Duration length) {
  Shaken left_end{*pair.left, conditions.shaken, 5};
  Shaken right_end{*pair.right, conditions.shaken, 6};
  sim::World world{{left_end, right_end, path.forward, path.reverse}};
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

/// What flows of these schemes did, a line for each kind of path.
inline std::string flows(std::span<const std::string_view> names, Duration length) {
  const SchemeContext context;
  std::string text;
  for (const std::string_view name : names) {
    const std::string_view queue = find_scheme(name).queue;
    for (const Conditions& conditions : kFlowConditions) {
      Path path{conditions, queue};
      FlowPair pair = make_flow(name, context, conditions.seed,
                                {.forward = path.forward.options().trace, .queue = queue});
      text += fmt::format("{}{}\n", name, outcome(pair, path, conditions, length));
    }
  }
  return text;
}

/// What calls of these schemes did, against a golden file that names the codecs it holds for.
inline void expect_calls(std::string_view golden, std::span<const std::string_view> names,
                         Duration length, const char* test_file = __builtin_FILE()) {
  const SchemeContext context;
  std::string text = media::codec_versions() + "\n";
  if (!golden_begins(golden, media::codec_versions(), test_file)) {
    GTEST_SKIP() << golden << " was recorded with other codecs than " << media::codec_versions();
  }
  const auto media = [](uint64_t seed, int width = 160) {
    return CallMedia{
        .camera = std::make_shared<media::SyntheticCamera>(
            media::SyntheticCameraOptions{.width = width, .height = width * 9 / 16, .seed = seed}),
        .microphone =
            std::make_shared<media::SyntheticVoice>(media::SyntheticVoiceOptions{.seed = seed})};
  };
  const auto silent = [&media](std::string_view name) {
    // Large enough for the quality scaler to have a smaller size.
    return CallMedia{.camera = media(1, name == "gcc" ? 480 : 160).camera, .microphone = {}};
  };
  for (const std::string_view name : names) {
    for (const Conditions& conditions : kCallConditions) {
      Path path{conditions, {}};
      // The second call shows one side alone, silently: half of the work.
      const bool both = !conditions.short_queue;
      CallPair pair = make_call(
          name, context, conditions.seed, both ? media(1) : silent(name),
          both ? media(2) : CallMedia{},
          {.forward = path.forward.options().trace, .reverse = path.reverse.options().trace});
      text += fmt::format("{}{}\n", name, outcome(pair, path, conditions, length));
    }
  }
  expect_golden(golden, text, test_file);
}

/// Of each datagram every cut, lengths beyond, and every byte as another; of a long one the same of
/// its first and last bytes: what is read.
template <typename Describe>
std::string readings(const std::vector<std::vector<std::byte>>& datagrams, Describe describe) {
  constexpr size_t kEnds = 24;
  std::string text;
  for (const std::vector<std::byte>& datagram : datagrams) {
    std::string all = describe(datagram) + "\n";
    for (size_t i = 0; i <= datagram.size() + 2; ++i) {
      if (i > 3 * kEnds && i + kEnds / 4 < datagram.size()) {
        continue;
      }
      std::vector<std::byte> cut = datagram;
      cut.resize(i);
      all += describe(cut) + "\n";
      for (const int value : {0, 1, 2, 3, 4, 5, 6, 0x7f, 0x80, 0xff}) {
        std::vector<std::byte> changed = datagram;
        if (i < changed.size()) {
          changed[i] = static_cast<std::byte>(value);
          all += describe(changed) + "\n";
        }
      }
    }
    text += describe(datagram).substr(0, 80) + " " + golden_digest(all) + "\n";
  }
  return text;
}

}  // namespace cress::schemes::golden
