#include "eval/schemes/registry.hh"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "eval/schemes/call_with_sound.hh"
#include "eval/schemes/cress_call.hh"
#include "eval/schemes/cubic.hh"
#include "eval/schemes/gcc_call.hh"
#include "eval/schemes/reno.hh"
#include "eval/schemes/skype_like.hh"
#include "eval/schemes/sprout_flow.hh"
#include "eval/schemes/tcp_flow.hh"
#include "transport/base/rng.hh"
#include "transport/sprout/cress_control.hh"
#include "transport/sprout/sprout_control.hh"

namespace cress::schemes {
namespace {

constexpr std::array kSchemes = {
    SchemeInfo{.name = "cress",
               .what =
                   "Cress: a gamma belief over the link's rate, learned only while the link was "
                   "busy; a cautious forecast, a window exact to the byte and the moment",
               .source = "docs/method.md, \"The Cress forecast\"",
               .saturating = true,
               .call = true},
    SchemeInfo{.name = "cress-cautious",
               .what = "Cress with a more cautious forecast: less delay, less throughput",
               .source = "as cress",
               .saturating = true,
               .call = true},
    SchemeInfo{.name = "cress-bold",
               .what = "Cress with a bolder forecast: more throughput, more delay",
               .source = "as cress",
               .saturating = true,
               .call = true},
    SchemeInfo{
        .name = "sprout",
        .what =
            "Sprout: a Bayesian belief over the link's rate, a cautious forecast, a 100 ms safe "
            "window; as a flow, on the original program's own main loop",
        .source = "Winstein, Sivaraman, Balakrishnan, NSDI 2013",
        .saturating = true,
        .call = true},
    SchemeInfo{.name = "sprout-instant",
               .what = "Sprout on a host that acts the moment something changes",
               .source = "as sprout; docs/results.md says what the host costs",
               .saturating = true},
    SchemeInfo{.name = "sprout-ewma",
               .what = "Sprout with a moving average in the belief's place: no caution",
               .source = "the same paper, §4.2",
               .saturating = true,
               .call = true},
    SchemeInfo{.name = "cubic",
               .what = "TCP with Cubic congestion control",
               .source = "RFC 9438",
               .saturating = true},
    SchemeInfo{.name = "reno",
               .what = "TCP with Reno congestion control",
               .source = "RFC 5681",
               .saturating = true},
    SchemeInfo{
        .name = "skype-like",
        .what = "a call whose rate is raised on a timer and lowered after seconds of trouble",
        .source = "the same paper, §1, §2.2, Figure 1, §5.2",
        .call = true},
    SchemeInfo{.name = "gcc",
               .what =
                   "a WebRTC call: Google congestion control by the trendline of delays, pacer, "
                   "libvpx's own rate control, repeats, resolution by quantizer",
               .source = "draft-ietf-rmcat-gcc-02 and libwebrtc; docs/method-gcc.md",
               .call = true},
    SchemeInfo{.name = "gcc-draft",
               .what = "gcc with the draft's own arrival-time filter and constants, and no probes",
               .source = "draft-ietf-rmcat-gcc-02, §5.3, §5.6",
               .call = true},
};

// UDP payload of a full Ethernet frame: the original sends packets of 1400 bytes.
constexpr DataSize kEthernetDatagram{1472};
// The one-way build's receiver answers every 20 ms, its sender is silent for at most 50 ms
// (reference specification §7).
constexpr Duration kReceiverHeartbeat = 20ms;
constexpr Duration kSenderHeartbeat = 50ms;
// Small packets follow a small window more closely (docs/results.md).
constexpr DataSize kCressPacket{252};

// Who draws from which stream of a run's seed (eval/harness/run.cc has the links').
constexpr uint64_t kStartStream = 3;
constexpr uint64_t kSenderStream = 4;
constexpr uint64_t kReceiverStream = 5;

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

bool is_cress(std::string_view scheme) { return scheme.starts_with("cress"); }

/// Three degrees of confidence in one forecast. Tuned on generated links (docs/results.md).
sprout::CressControl::Options cress_options(std::string_view scheme) {
  sprout::CressControl::Options options;
  if (scheme == "cress-cautious") {
    options.caution_normal = -0.9;
    options.delay_target = 50ms;
  } else if (scheme == "cress-bold") {
    options.caution_normal = -0.1;
    options.delay_target = 45ms;
  }
  return options;
}

std::unique_ptr<sprout::Control> make_control(std::string_view scheme,
                                              const SchemeContext& context) {
  if (is_cress(scheme)) {
    return std::make_unique<sprout::CressControl>(cress_options(scheme));
  }
  std::unique_ptr<sprout::TickEstimator> estimator;
  if (scheme == "sprout-ewma") {
    estimator = std::make_unique<sprout::EwmaEstimator>(sprout::EwmaOptions{});
  } else {
    estimator = std::make_unique<sprout::BayesianEstimator>(context.dynamics(), context.table());
  }
  return std::make_unique<sprout::SproutControl>(std::move(estimator));
}

/// Two programs do not start in step: the other end comes up within a tick of the first.
TimePoint jittered_start(uint64_t seed) {
  return kTimeZero +
         from_seconds(Rng{seed}.fork(kStartStream).uniform(0, to_seconds(sprout::kTickLength)));
}

FlowPair make_sprout_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed) {
  SproutFlowOptions sender;
  sender.endpoint.datagram_max = kEthernetDatagram;
  sender.endpoint.heartbeat_interval = kSenderHeartbeat;
  sender.host = scheme == "sprout-instant" ? SproutHostModel{} : SproutHostModel::original();
  sender.seed = Rng{seed}.fork(kSenderStream).next();
  SproutFlowOptions receiver = sender;
  receiver.seed = Rng{seed}.fork(kReceiverStream).next();
  receiver.sends_data = false;
  receiver.endpoint.heartbeat_interval = kReceiverHeartbeat;
  return {
      std::make_unique<SproutFlow>(kTimeZero, sender, make_control(scheme, context)),
      std::make_unique<SproutFlow>(jittered_start(seed), receiver, make_control(scheme, context))};
}

/// Both ends act at once: this is our own program, not a model of another.
FlowPair make_cress_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed) {
  SproutFlowOptions sender;
  sender.packet_size = kCressPacket;
  sender.full_packets = true;
  SproutFlowOptions receiver = sender;
  receiver.sends_data = false;
  return {
      std::make_unique<SproutFlow>(kTimeZero, sender, make_control(scheme, context)),
      std::make_unique<SproutFlow>(jittered_start(seed), receiver, make_control(scheme, context))};
}

FlowPair make_tcp_flow(std::string_view scheme) {
  std::unique_ptr<CongestionControl> control;
  if (scheme == "cubic") {
    control = std::make_unique<Cubic>();
  } else {
    control = std::make_unique<Reno>();
  }
  return {std::make_unique<TcpFlowSender>(std::move(control)), std::make_unique<TcpFlowReceiver>()};
}

}  // namespace

std::span<const SchemeInfo> schemes() { return kSchemes; }

const SchemeInfo& find_scheme(std::string_view name) {
  const auto found = std::find_if(kSchemes.begin(), kSchemes.end(),
                                  [&](const SchemeInfo& info) { return info.name == name; });
  if (found != kSchemes.end()) {
    return *found;
  }
  const auto nearest =
      std::min_element(kSchemes.begin(), kSchemes.end(), [&](const auto& a, const auto& b) {
        return edit_distance(a.name, name) < edit_distance(b.name, name);
      });
  throw std::invalid_argument("unknown scheme \"" + std::string{name} + "\"; did you mean \"" +
                              std::string{nearest->name} +
                              "\"? `cress-eval schemes` lists them all");
}

FlowPair make_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed) {
  if (!find_scheme(scheme).saturating) {
    throw std::invalid_argument("scheme \"" + std::string{scheme} +
                                "\" only carries calls; give it pictures with --video");
  }
  if (scheme == "cubic" || scheme == "reno") {
    return make_tcp_flow(scheme);
  }
  if (is_cress(scheme)) {
    return make_cress_flow(scheme, context, seed);
  }
  return make_sprout_flow(scheme, context, seed);
}

CallPair make_call(std::string_view scheme, const SchemeContext& context, uint64_t seed,
                   CallMedia left, CallMedia right) {
  if (!find_scheme(scheme).call) {
    throw std::invalid_argument("scheme \"" + std::string{scheme} +
                                "\" carries no call; run it without --video");
  }
  const TimePoint right_start = jittered_start(seed);
  if (scheme == "skype-like") {
    const auto end = [](TimePoint start, CallMedia media) {
      return std::make_unique<CallWithSound>(
          start,
          std::make_unique<SkypeLikeCall>(start, SkypeLikeOptions{}, std::move(media.camera)),
          std::move(media.microphone));
    };
    return {end(kTimeZero, std::move(left)), end(right_start, std::move(right))};
  }
  if (scheme == "gcc" || scheme == "gcc-draft") {
    const GccOptions gcc = scheme == "gcc" ? GccOptions{} : GccOptions::draft();
    const auto end = [&gcc](TimePoint start, CallMedia media) {
      return std::make_unique<CallWithSound>(
          start, std::make_unique<GccCall>(start, gcc, std::move(media.camera)),
          std::move(media.microphone));
    };
    return {end(kTimeZero, std::move(left)), end(right_start, std::move(right))};
  }
  app::CallOptions options;
  // Only Sprout's belief needs it (docs/results.md).
  options.pads_window = scheme == "sprout";
  return {std::make_unique<CressCall>(kTimeZero, options, make_control(scheme, context),
                                      std::move(left)),
          std::make_unique<CressCall>(right_start, options, make_control(scheme, context),
                                      std::move(right))};
}

}  // namespace cress::schemes
