#include "eval/schemes/registry.hh"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "eval/schemes/congestion/bbr.hh"
#include "eval/schemes/congestion/compound.hh"
#include "eval/schemes/congestion/copa.hh"
#include "eval/schemes/congestion/cubic.hh"
#include "eval/schemes/congestion/ledbat.hh"
#include "eval/schemes/congestion/reno.hh"
#include "eval/schemes/congestion/vegas.hh"
#include "eval/schemes/congestion/verus.hh"
#include "eval/schemes/cress/cress_call.hh"
#include "eval/schemes/cress/omniscient.hh"
#include "eval/schemes/cress/omniscient_control.hh"
#include "eval/schemes/cress/sprout_flow.hh"
#include "eval/schemes/cress/tunnel_scheme.hh"
#include "eval/schemes/host/call_with_sound.hh"
#include "eval/schemes/like/like_call.hh"
#include "eval/schemes/like/like_flow.hh"
#include "eval/schemes/tcp/tcp_flow.hh"
#include "eval/schemes/webrtc/gcc_call.hh"
#include "relay/tunnel/feedback_each_tick.hh"
#include "transport/base/check.hh"
#include "transport/base/near_name.hh"
#include "transport/base/rng.hh"
#include "transport/base/text.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/control/sprout/sprout_control.hh"

namespace cress::schemes {
namespace {

constexpr SchemeInfo flow(std::string_view name, std::string_view what, std::string_view source) {
  return {.name = name, .what = what, .source = source, .saturating = true};
}
constexpr SchemeInfo call(std::string_view name, std::string_view what, std::string_view source) {
  return {.name = name, .what = what, .source = source, .call = true};
}
constexpr SchemeInfo both(std::string_view name, std::string_view what, std::string_view source) {
  return {.name = name, .what = what, .source = source, .saturating = true, .call = true};
}

constexpr std::array kSchemes = {
    both("cress",
         "Cress: a gamma belief over the link's rate, learned only while the link was "
         "busy; a cautious forecast, a window exact to the byte and the moment",
         "docs/method.md, \"The Cress forecast\""),
    both("cress-cautious", "Cress with a more cautious forecast: less delay, less throughput",
         "as cress"),
    both("cress-bold", "Cress with a bolder forecast: more throughput, more delay", "as cress"),
    call("cress-motion", "Cress for motion: smaller frames, evenly displayed", "as cress"),
    call("cress-sharp", "Cress for sharpness: a frame may fill the window", "as cress"),
    both("sprout",
         "Sprout: a Bayesian belief over the link's rate, a cautious forecast, a 100 ms safe "
         "window; as a flow, on the original program's own main loop",
         "Winstein, Sivaraman, Balakrishnan, NSDI 2013"),
    flow("sprout-instant", "Sprout on a host that acts the moment something changes",
         "as sprout; docs/results/flows.md says what the host costs"),
    flow("sprout-tunnel",
         "TCP Cubic through SproutTunnel: what Sprout does not let go waits, or goes",
         "the same paper, §4.3, §5.7"),
    both("sprout-ewma", "Sprout with a moving average in the belief's place: no caution",
         "the same paper, §4.2"),
    flow("sprout-75", "Sprout with 75 % confidence in its forecast; any sprout-NN, 1 to 99",
         "the same paper, §5.5, Figure 9"),
    flow("sprout-50", "Sprout with 50 % confidence in its forecast", "as sprout-75"),
    flow("sprout-25", "Sprout with 25 % confidence in its forecast", "as sprout-75"),
    flow("sprout-5", "Sprout with 5 % confidence in its forecast", "as sprout-75"),
    flow("cubic", "TCP with Cubic congestion control", "RFC 9438"),
    flow("reno", "TCP with Reno congestion control", "RFC 5681"),
    flow("vegas", "TCP Vegas: two to four packets in the queue, by round trips",
         "Brakmo, Peterson, IEEE JSAC 13:8, 1995; Linux's choices"),
    flow("compound", "Compound TCP: Reno's window and a second one that yields to delay",
         "Tan et al., INFOCOM 2006; draft-sridharan-tcpm-ctcp-02"),
    flow("ledbat", "LEDBAT, as uTP: one-way delays held at 100 ms of queue", "RFC 6817"),
    flow("bbr", "TCP with BBR, version 1: the largest rate, the least round trip, paced",
         "Cardwell et al., ACM Queue 14:5, 2016; Linux's tcp_bbr.c"),
    flow("copa", "Copa: a rate of one over delta times the queueing delay",
         "Arun, Balakrishnan, NSDI 2018"),
    flow("verus-r2", "Verus: a learned delay profile, every 5 ms; delays up to twice the least",
         "Zaki et al., SIGCOMM 2015"),
    flow("verus-r4", "Verus with delays up to four times the least", "as verus-r2"),
    flow("verus-r6", "Verus with delays up to six times the least", "as verus-r2"),
    both("skype-like",
         "a call whose rate is raised on a timer and lowered after seconds of trouble",
         "the Sprout paper, §1, §2.2, Figure 1, §5.2; docs/method-like.md"),
    both("hangouts-like", "the same with the rates that a Hangouts of 2017 was recorded at",
         "fitted to a recording, docs/method-like.md"),
    both("facetime-like", "the same as a FaceTime of 2017 was recorded: no report, no change",
         "fitted to recordings over three links, docs/method-like.md"),
    call("gcc",
         "a WebRTC call: Google congestion control by the trendline of delays, pacer, "
         "libvpx's own rate control, repeats, resolution by quantizer",
         "draft-ietf-rmcat-gcc-02 and libwebrtc; docs/method-gcc.md"),
    call("gcc-draft", "gcc with the draft's own arrival-time filter and constants, and no probes",
         "draft-ietf-rmcat-gcc-02, §5.3, §5.6"),
};

constexpr std::array kSchemesWithPath = {
    SchemeInfo{.name = "cubic-codel",
               .what = "TCP Cubic over a CoDel queue, in both directions",
               .source = "the Sprout paper, §5.4; RFC 8289",
               .saturating = true,
               .queue = "codel"},
    SchemeInfo{.name = "cubic-red",
               .what = "TCP Cubic over a RED queue, in both directions",
               .source = "Floyd, Jacobson, IEEE/ACM ToN 1:4, 1993",
               .saturating = true,
               .queue = "red:5,15,0.1"},
    SchemeInfo{.name = "omniscient",
               .what = "knows the link: a packet for each opportunity, sent at the very instant; "
                       "as a call, the Cress call with a forecast that never errs",
               .source = "the Sprout paper, §5.1",
               .saturating = true,
               .call = true,
               .knows_link = true},
};

// UDP payload of a full Ethernet frame: the original sends packets of 1400 bytes.
constexpr DataSize kEthernetDatagram{1472};
// The one-way build's receiver answers every 20 ms, its sender is silent for at most 50 ms (as in
// the original program).
constexpr Duration kReceiverHeartbeat = 20ms;
constexpr Duration kSenderHeartbeat = 50ms;
// Small packets follow a small window more closely (docs/experiments/0001).
constexpr DataSize kCressPacket{252};
// "sprout-" and a number below 100.
constexpr std::string_view kConfidencePrefix = "sprout-";
constexpr int kConfidenceMax = 99;
// The confidence whose entry represents those without one.
constexpr std::string_view kConfidenceExample = "sprout-75";
// Every segment is acknowledged at once if a scheme was a program over UDP that did so.
constexpr int64_t kAlwaysQuick = kTcpSequenceMax;

// Which part draws from which stream of a run's seed (eval/harness/run.cc has the links').
constexpr uint64_t kStartStream = 3;
constexpr uint64_t kSenderStream = 4;
constexpr uint64_t kReceiverStream = 5;

/// Sprout over a model of its own, for what differs in the quantile alone.
class OwnedEstimator final : public control::TickEstimator {
 public:
  struct Tables {
    explicit Tables(const control::SproutModel& model) : dynamics(model), table(dynamics) {}
    control::BeliefDynamics dynamics;
    control::ForecastTable table;
  };
  explicit OwnedEstimator(std::shared_ptr<const Tables> tables)
      : tables_(std::move(tables)), estimator_(tables_->dynamics, tables_->table) {}
  void skip_tick() override { estimator_.skip_tick(); }
  void observe_tick(double packets) override { estimator_.observe_tick(packets); }
  control::ForecastCounts forecast() override { return estimator_.forecast(); }

 private:
  std::shared_ptr<const Tables> tables_;  // shared: both ends of a run use one, 2 MB
  control::BayesianEstimator estimator_;
};

/// The NN of `sprout-NN`.
std::optional<int> confidence_of(std::string_view scheme) {
  if (!scheme.starts_with(kConfidencePrefix)) {
    return std::nullopt;
  }
  scheme.remove_prefix(kConfidencePrefix.size());
  const auto percent = parse_number<int>(scheme);
  const bool plain = !scheme.empty() && scheme.front() != '0' && scheme.front() != '-';
  return plain && percent && *percent <= kConfidenceMax ? percent : std::nullopt;
}

bool is_cress(std::string_view scheme) { return scheme.starts_with("cress"); }

/// Whoever does not choose has what cress-call's users have. Sprout's calls and the omniscient one
/// fill the window.
app::MotionTrade trade_of(std::string_view scheme) {
  return app::trade_of(scheme == "cress-motion"                       ? app::Preference::kMotion
                       : scheme == "cress-sharp" || !is_cress(scheme) ? app::Preference::kSharp
                                                                      : app::kUsualPreference);
}

/// Three degrees of confidence in one forecast (docs/method.md).
std::unique_ptr<control::Control> make_cress_control(std::string_view scheme,
                                                     control::CressControl::Options options) {
  if (scheme == "cress-cautious") {
    options.delay_target = 37ms;
  } else if (scheme == "cress-bold") {
    options.caution_normal = -0.1;
    options.delay_target = 45ms;
  }
  if (scheme != "cress") {
    options.caution_when_silent = options.caution_normal;  // one degree on every link
  }
  return std::make_unique<control::CressControl>(options);
}

std::unique_ptr<control::Control> make_sprout_control(std::string_view scheme,
                                                      const SchemeContext& context) {
  std::unique_ptr<control::TickEstimator> estimator;
  if (scheme == "sprout-ewma") {
    estimator = std::make_unique<control::EwmaEstimator>(control::EwmaOptions{});
  } else {
    check(scheme == "sprout" || scheme == "sprout-instant",
          "a scheme of the list that nothing makes");
    estimator = std::make_unique<control::BayesianEstimator>(context.dynamics(), context.table());
  }
  return std::make_unique<control::SproutControl>(std::move(estimator));
}

std::unique_ptr<control::Control> make_omniscient_control(
    std::shared_ptr<const sim::DeliveryTrace> trace) {
  return std::make_unique<OmniscientControl>(
      std::move(trace),
      OmniscientControl::Options{.datagram_overhead = control::kDatagramOverhead + wire::kTagSize});
}

/// Two programs do not start at the same instant: the other end starts within a tick of the first.
TimePoint jittered_start(uint64_t seed) {
  return kTimeZero +
         from_seconds(Rng{seed}.fork(kStartStream).uniform(0, to_seconds(control::kTickLength)));
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
  std::shared_ptr<const OwnedEstimator::Tables> tables;
  if (const auto confidence = confidence_of(scheme)) {
    control::SproutModel model;
    model.forecast_quantile = (100 - *confidence) / 100.0;
    tables = std::make_shared<const OwnedEstimator::Tables>(model);
  }
  const auto control = [&]() -> std::unique_ptr<control::Control> {
    if (tables) {
      return std::make_unique<control::SproutControl>(std::make_unique<OwnedEstimator>(tables));
    }
    return make_sprout_control(scheme, context);
  };
  return {std::make_unique<SproutFlow>(kTimeZero, sender, control()),
          std::make_unique<SproutFlow>(jittered_start(seed), receiver, control())};
}

/// Both ends react at once: this is our own program, not a model of another.
FlowPair make_cress_flow(std::string_view scheme, uint64_t seed) {
  SproutFlowOptions sender;
  sender.packet_size = kCressPacket;
  sender.full_packets = true;
  SproutFlowOptions receiver = sender;
  receiver.sends_data = false;
  const auto control = [&] { return make_cress_control(scheme, control::flow_control()); };
  return {std::make_unique<SproutFlow>(kTimeZero, sender, control()),
          std::make_unique<SproutFlow>(jittered_start(seed), receiver, control())};
}

/// The congestion control of a TCP flow; nullptr if the scheme is not TCP.
std::unique_ptr<CongestionControl> make_congestion_control(std::string_view scheme, uint64_t seed) {
  if (scheme == "cubic" || scheme == "cubic-codel" || scheme == "cubic-red") {
    return std::make_unique<Cubic>();
  }
  if (scheme == "reno") {
    return std::make_unique<Reno>();
  }
  if (scheme == "vegas") {
    return std::make_unique<Vegas>();
  }
  if (scheme == "compound") {
    return std::make_unique<Compound>();
  }
  if (scheme == "ledbat") {
    return std::make_unique<Ledbat>();
  }
  if (scheme == "bbr") {
    return std::make_unique<Bbr>(Rng{seed}.fork(kSenderStream).next());
  }
  if (scheme == "copa") {
    return std::make_unique<Copa>();
  }
  if (scheme == "verus-r2" || scheme == "verus-r4" || scheme == "verus-r6") {
    return std::make_unique<Verus>(scheme.back() - '0');
  }
  return nullptr;
}

FlowPair make_tcp_flow(std::string_view scheme, std::unique_ptr<CongestionControl> control) {
  TcpReceiver::Options receiver;
  if (scheme == "ledbat" || scheme == "copa" || scheme.starts_with("verus")) {
    receiver.quick_acks = kAlwaysQuick;
  }
  return {std::make_unique<TcpFlowSender>(std::move(control)),
          std::make_unique<TcpFlowReceiver>(receiver)};
}

/// Its ends react at once, as cress-tunnel does.
FlowPair make_tunnel_flow(const SchemeContext& context) {
  FlowPair cubic = make_tcp_flow("cubic", std::make_unique<Cubic>());
  const auto end = [&](std::unique_ptr<SchemeHost> flow) {
    std::vector<std::unique_ptr<SchemeHost>> flows;
    flows.push_back(std::move(flow));
    session::EndpointOptions endpoint;
    endpoint.datagram_max = kEthernetDatagram - wire::kTagSize;
    return std::make_unique<CarriedFlows>(
        std::move(flows),
        std::make_unique<tunnel::Tunnel>(
            kTimeZero, endpoint,
            std::make_unique<tunnel::FeedbackEachTick>(make_sprout_control("sprout", context)),
            true));
  };
  return {end(std::move(cubic.left)), end(std::move(cubic.right))};
}

/// For the modelled programs; empty for every other scheme.
std::optional<LikeOptions> like_options(std::string_view scheme) {
  if (scheme == "skype-like") {
    return LikeOptions{};
  }
  if (scheme == "hangouts-like") {
    return LikeOptions::hangouts_2017();
  }
  if (scheme == "facetime-like") {
    return LikeOptions::facetime_2017();
  }
  return std::nullopt;
}

FlowPair make_flow_of_any_kind(std::string_view scheme, const SchemeContext& context,
                               uint64_t seed) {
  if (auto control = make_congestion_control(scheme, seed)) {
    return make_tcp_flow(scheme, std::move(control));
  }
  if (scheme == "sprout-tunnel") {
    return make_tunnel_flow(context);
  }
  if (const auto like = like_options(scheme)) {
    return {std::make_unique<LikeFlow>(kTimeZero, *like, true),
            std::make_unique<LikeFlow>(jittered_start(seed), *like, false)};
  }
  if (is_cress(scheme)) {
    return make_cress_flow(scheme, seed);
  }
  return make_sprout_flow(scheme, context, seed);
}

void check_saturating(std::string_view scheme) {
  if (!find_scheme(scheme).saturating) {
    throw std::invalid_argument("scheme \"" + std::string{scheme} +
                                "\" only carries calls; give it pictures with --video");
  }
}

}  // namespace

std::span<const SchemeInfo> schemes() { return kSchemes; }
std::span<const SchemeInfo> schemes_with_path() { return kSchemesWithPath; }

const SchemeInfo& find_scheme(std::string_view name) {
  const auto named = [](std::string_view wanted) {
    return [wanted](const SchemeInfo& info) { return info.name == wanted; };
  };
  const auto found = std::find_if(kSchemes.begin(), kSchemes.end(), named(name));
  if (found != kSchemes.end()) {
    return *found;
  }
  const auto special = std::find_if(kSchemesWithPath.begin(), kSchemesWithPath.end(), named(name));
  if (special != kSchemesWithPath.end()) {
    return *special;
  }
  if (confidence_of(name)) {
    return *std::find_if(kSchemes.begin(), kSchemes.end(), named(kConfidenceExample));
  }
  const SchemeInfo* nearest = nullptr;
  for (const std::span<const SchemeInfo> all : {schemes(), schemes_with_path()}) {
    for (const SchemeInfo& info : all) {
      const bool nearer =
          nearest == nullptr || edit_distance(info.name, name) < edit_distance(nearest->name, name);
      nearest = is_near(name, info.name) && nearer ? &info : nearest;
    }
  }
  std::string message = "unknown scheme \"" + std::string{name} + "\"; ";
  if (nearest != nullptr) {
    message += "did you mean \"" + std::string{nearest->name} + "\"? ";
  }
  throw std::invalid_argument(message + "`cress-eval schemes` lists them all");
}

FlowPair make_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed) {
  check_saturating(scheme);
  const SchemeInfo& info = find_scheme(scheme);
  if (!info.queue.empty()) {
    throw std::invalid_argument("scheme \"" + std::string{scheme} + "\" asks for --queue " +
                                std::string{info.queue} + ", which this run does not give it");
  }
  if (info.knows_link) {
    throw std::invalid_argument("scheme \"" + std::string{scheme} +
                                "\" has to know the link, which this run does not tell it");
  }
  return make_flow_of_any_kind(scheme, context, seed);
}

FlowPair make_flow(std::string_view scheme, const SchemeContext& context, uint64_t seed,
                   const FlowPath& path) {
  check_saturating(scheme);
  const SchemeInfo& info = find_scheme(scheme);
  if (!info.queue.empty() && path.queue != info.queue) {
    throw std::invalid_argument("scheme \"" + std::string{scheme} + "\" asks for --queue " +
                                std::string{info.queue} + "; leave --queue out");
  }
  if (info.knows_link) {
    if (!path.forward) {
      throw std::invalid_argument("scheme \"" + std::string{scheme} + "\" has to know the link");
    }
    return {std::make_unique<OmniscientSender>(path.forward), std::make_unique<CountingReceiver>()};
  }
  return make_flow_of_any_kind(scheme, context, seed);
}

CallPair make_call(std::string_view scheme, const SchemeContext& context, uint64_t seed,
                   CallMedia left, CallMedia right, const CallPath& path) {
  const SchemeInfo& info = find_scheme(scheme);
  if (!info.call) {
    throw std::invalid_argument("scheme \"" + std::string{scheme} +
                                "\" carries no call; run it without --video");
  }
  if (info.knows_link && (!path.forward || !path.reverse)) {
    throw std::invalid_argument("scheme \"" + std::string{scheme} +
                                "\" has to know the link, which this run does not tell it");
  }
  const TimePoint right_start = jittered_start(seed);
  if (const auto like = like_options(scheme)) {
    const auto end = [&like](TimePoint start, CallMedia media) {
      return std::make_unique<CallWithSound>(
          start, std::make_unique<LikeCall>(start, *like, std::move(media.camera)),
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
  // Only Sprout's belief needs it (docs/experiments/0009).
  options.pads_window = scheme == "sprout";
  options.trickles = !info.knows_link;  // its closed window is exact
  options.trade = trade_of(scheme);
  if (!is_cress(scheme)) {
    // The effort at which their results were measured.
    constexpr int kEffort = media::AdaptiveEncoderOptions{}.cpu_used;
    options.video = app::VideoSenderOptions{.cpu_used_small = kEffort, .cpu_used_scarce = kEffort};
  }
  control::CressControl::Options cress = control::call_control();
  cress.datagram_overhead += wire::kTagSize;  // the overhead of encryption
  const auto control = [&](const std::shared_ptr<const sim::DeliveryTrace>& trace) {
    return info.knows_link    ? make_omniscient_control(trace)
           : is_cress(scheme) ? make_cress_control(scheme, cress)
                              : make_sprout_control(scheme, context);
  };
  return {
      std::make_unique<CressCall>(kTimeZero, options, control(path.forward), std::move(left)),
      std::make_unique<CressCall>(right_start, options, control(path.reverse), std::move(right))};
}

}  // namespace cress::schemes
