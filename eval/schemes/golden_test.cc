// Every scheme over generated links, as recorded. A packet, a frame or a window that changes shows
// here; the reasons for a scheme's behaviour are tested next to it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/schemes/registry.hh"
#include "eval/schemes/tcp/tcp_segment.hh"
#include "eval/schemes/webrtc/gcc_packets.hh"
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

/// A deep queue with random loss, a short or managed one, and datagrams that are duplicated, late
/// or truncated.
struct Conditions {
  double rate_min;
  double rate_max;
  double loss;
  bool short_queue;
  uint64_t seed;
  bool shaken = false;
};
constexpr std::array kFlowConditions = {Conditions{30, 700, 0.01, false, 1},
                                        Conditions{80, 500, 0, true, 2},
                                        Conditions{400, 400, 0, false, 3, true}};
constexpr std::array kCallConditions = {Conditions{15, 150, 0.01, false, 3},
                                        Conditions{30, 250, 0.002, true, 4, true}};

std::unique_ptr<sim::Queue> queue_of(const Conditions& conditions, std::string_view asked) {
  if (asked.starts_with("red")) {
    return std::make_unique<sim::RedQueue>(sim::RedOptions{}, Rng{conditions.seed});
  }
  if (asked == "codel") {
    return std::make_unique<sim::CodelQueue>();
  }
  return conditions.short_queue ? std::make_unique<sim::DropTailQueue>(DataSize{30'000}) : nullptr;
}

/// Passes an end some datagrams twice, some after the next few, and some truncated.
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

/// One end's output in a call.
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

/// A line per second (kilobytes in, the sender's window in kilobytes and forecast in kbit/s), and a
/// digest of every packet, frame and sample.
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

std::string flows(std::initializer_list<std::string_view> names, Duration length) {
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

void expect_calls(std::string_view golden, std::initializer_list<std::string_view> names,
                  Duration length) {
  const SchemeContext context;
  std::string text = media::codec_versions() + "\n";
  if (!golden_begins(golden, media::codec_versions())) {
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
      // The second call has media in one direction only, without audio: half of the work.
      const bool both = !conditions.short_queue;
      CallPair pair = make_call(
          name, context, conditions.seed, both ? media(1) : silent(name),
          both ? media(2) : CallMedia{},
          {.forward = path.forward.options().trace, .reverse = path.reverse.options().trace});
      text += fmt::format("{}{}\n", name, outcome(pair, path, conditions, length));
    }
  }
  expect_golden(golden, text);
}

/// For each datagram every truncation, extensions, and every byte changed; for a long one the same
/// of its first and last bytes: the parsed part.
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

std::string read_gcc(const std::vector<std::byte>& datagram) {
  const auto packet = parse_gcc_packet(datagram);
  if (!packet) {
    return fmt::format("error {}", static_cast<int>(packet.error()));
  }
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(packet->kind),
                                 packet->media.transport_sequence, packet->media.media_sequence,
                                 packet->media.sent_again, packet->media.round_trip / 1ms,
                                 packet->media.fragment.size(), packet->padding.transport_sequence,
                                 packet->feedback.first_sequence, packet->feedback.held / 1us);
  for (const auto& arrival : packet->feedback.arrivals) {
    text += fmt::format(" {}", arrival ? (*arrival - kTimeZero) / 1us : -1);
  }
  for (const uint32_t sequence : packet->nack.media_sequences) {
    text += fmt::format(" {}", sequence);
  }
  return text;
}

std::string read_tcp(const std::vector<std::byte>& datagram) {
  const auto segment = parse_tcp_segment(datagram);
  if (!segment) {
    return fmt::format("error {}", static_cast<int>(segment.error()));
  }
  std::string text = fmt::format("{} {} {} {} {} {}", segment->sequence, segment->payload.bytes(),
                                 segment->acknowledgement, segment->window.bytes(),
                                 (segment->timestamp - kTimeZero) / 1us,
                                 segment->echo ? (*segment->echo - kTimeZero) / 1us : -1);
  for (const TcpRange& range : segment->sacks) {
    text += fmt::format(" {}-{}", range.begin, range.end);
  }
  return text;
}

TEST(GoldenSchemes, DatagramsAreReadAsRecorded) {
  const std::vector<std::byte> fragment(7, std::byte{9});
  const auto at = [](Duration time) { return std::optional{kTimeZero + time}; };
  std::string text = readings(
      {encode(GccMedia{.transport_sequence = 70'000,
                       .media_sequence = 258,
                       .sent_again = true,
                       .round_trip = 300ms,
                       .fragment = fragment}),
       encode(GccMedia{.round_trip = 70s, .fragment = fragment}),
       encode(GccPadding{65'537}, DataSize{9}), encode(GccPadding{2}, kGccPaddingHeader),
       encode(GccFeedback{.first_sequence = 600,
                          .arrivals = {at(3ms), std::nullopt, at(2ms), at(16s)},
                          .held = 5ms}),
       encode(GccFeedback{
           .first_sequence = 1, .arrivals = std::vector(kGccFeedbackMax, at(1ms)), .held = 5000s}),
       encode(GccNack{{1, 300, 70'000}}), encode(GccNack{std::vector<uint32_t>(kGccNackMax, 7)}),
       encode(GccKeyFrameRequest{})},
      read_gcc);
  text +=
      readings({encode(TcpSegment{
                    .sequence = 70'000, .payload = kTcpPayloadMax, .timestamp = kTimeZero + 1s}),
                encode(TcpSegment{.acknowledgement = 1 << 20,
                                  .window = DataSize{100'000},
                                  .timestamp = kTimeZero + 2s,
                                  .echo = kTimeZero + 1s,
                                  .sacks = {{1 << 21, 1 << 22}, {5 << 20, 6 << 20}}})},
               read_tcp);
  expect_golden("datagrams", text);
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
