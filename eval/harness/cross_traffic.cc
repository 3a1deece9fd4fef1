#include "eval/harness/cross_traffic.hh"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "eval/metrics/delay_over_time.hh"
#include "eval/metrics/frames.hh"
#include "eval/metrics/rates.hh"
#include "eval/schemes/web_flow.hh"
#include "media/source/recent_pictures.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/rng.hh"

namespace cress::harness {
namespace {

// Random streams of a run's seed: run.cc uses 1, 2, 101 and 102, registry.cc 3 to 5; other flows
// use kCrossStream + index. kPhaseStream is a stream of a flow's own seed.
constexpr uint64_t kCrossStream = 1000;
constexpr uint64_t kPhaseStream = 1;
// No two cameras take their pictures at the same instant: other calls begin up to this much later,
// or one of them would always be first in the queue.
constexpr Duration kPhaseMax = 33ms;

/// Of a private network, so that nobody else has it.
Address address_of(size_t flow, uint8_t side) {
  Address address{.ip = {0xfd}, .port = static_cast<uint16_t>(flow + 1)};
  address.ip.back() = side;
  return address;
}

schemes::CallMedia synthetic_media(uint64_t seed) {
  constexpr size_t kPicturesKept = 60;  // two seconds
  return {.camera = std::make_shared<media::RecentPictures>(
              std::make_unique<media::SyntheticCamera>(media::SyntheticCameraOptions{.seed = seed}),
              kPicturesKept),
          .microphone = nullptr};
}

bool is_call(const std::string& kind) {
  return kind != kWebTraffic && schemes::find_scheme(kind).call;
}

}  // namespace

double jain_index(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double rate : rates) {
    sum += rate;
    squares += rate * rate;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(rates.size()) * squares) : 0;
}

/// A host of one flow: what it sends goes to the other end, and when its time is over it is off.
struct CrossTraffic::End final : Machine {
  End(std::unique_ptr<schemes::SchemeHost> made, Address other, TimePoint when_over)
      : host(std::move(made)), peer(other), over(when_over) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    if (now < over) {
      host->handle_datagram(now, from, bytes);
    }
  }
  void handle_ecn(Ecn ecn) override { host->handle_ecn(ecn); }
  void handle_timeout(TimePoint now) override {
    if (now < over) {
      host->handle_timeout(now);
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto transmit = now < over ? host->poll_transmit(now) : std::nullopt;
    if (transmit) {
      transmit->to = peer;
    }
    return transmit;
  }
  TimePoint poll_timeout() const override {
    const TimePoint due = host->poll_timeout();
    return due < over ? due : kNever;
  }
  void take_back(std::vector<std::byte>&& sent) override { host->take_back(std::move(sent)); }
  bool drained(TimePoint now) override { return now < over && host->drained(now); }

  std::unique_ptr<schemes::SchemeHost> host;
  Address peer;
  TimePoint over;
};

struct CrossTraffic::Pair {
  CrossFlow flow;
  Duration began{};    // flow.start, and a call's phase
  metrics::Window on;  // in the run's time
  Address left_address, right_address;
  End left, right;
  schemes::CallHost* viewer = nullptr;  // of a call: `right`
  schemes::CallHost* filmed = nullptr;  // of a call: `left`
  bool two_way = false;
  std::vector<DataSize> delivered;  // at the end of each bin
  int64_t captured = 0;
  std::vector<metrics::ShownFrame> shown;
};

CrossTraffic::CrossTraffic(const RunSpec& spec, const schemes::SchemeContext& context)
    : window_(spec.window()) {
  check(spec.cross);
  for (const CrossFlow& flow : spec.cross) {
    for (size_t i = 0; i < flow.count; ++i) {
      add(spec, context, flow);
    }
  }
}

CrossTraffic::~CrossTraffic() = default;

void CrossTraffic::check(const std::vector<CrossFlow>& flows) {
  size_t count = 0;
  for (const CrossFlow& flow : flows) {
    count += flow.count;
    if (flow.kind == kWebTraffic) {
      continue;
    }
    const schemes::SchemeInfo& info = schemes::find_scheme(flow.kind);
    if (!info.queue.empty() || info.knows_link) {
      throw std::invalid_argument("scheme \"" + flow.kind +
                                  "\" asks something of its path and cannot be other traffic");
    }
  }
  if (count > kFlowsMax) {
    throw std::invalid_argument("other traffic: more than " + std::to_string(kFlowsMax) +
                                " flows in all");
  }
}

void CrossTraffic::add(const RunSpec& spec, const schemes::SchemeContext& context,
                       const CrossFlow& flow) {
  const size_t index = pairs_.size();
  const uint64_t seed = Rng{spec.seed}.fork(kCrossStream + index).next();
  const bool two_way = is_call(flow.kind) && spec.reverse_video != nullptr;
  schemes::FlowPair made;
  schemes::CallHost* filmed = nullptr;
  schemes::CallHost* viewer = nullptr;
  if (flow.kind == kWebTraffic) {
    made = {std::make_unique<schemes::WebSender>(seed), std::make_unique<schemes::WebReceiver>()};
  } else if (is_call(flow.kind)) {
    const auto media = [&](size_t number) {
      return spec.cross_media ? spec.cross_media(number) : synthetic_media(seed + number);
    };
    auto call = schemes::make_call(flow.kind, context, seed, media(2 * index),
                                   two_way ? media(2 * index + 1) : schemes::CallMedia{});
    filmed = call.left.get();
    viewer = call.right.get();
    made = {std::move(call.left), std::move(call.right)};
  } else {
    made = schemes::make_flow(flow.kind, context, seed);
  }
  const Duration phase =
      viewer != nullptr
          ? from_seconds(Rng{seed}.fork(kPhaseStream).uniform(0, to_seconds(kPhaseMax)))
          : Duration{};
  const TimePoint over = flow.length ? kTimeZero + *flow.length : kNever;
  const TimePoint end = flow.length ? kTimeZero + flow.start + *flow.length : kNever;
  const Address left = address_of(index, 1);
  const Address right = address_of(index, 2);
  pairs_.push_back(std::make_unique<Pair>(
      Pair{.flow = flow,
           .began = flow.start + phase,
           .on = {std::max(window_.from, kTimeZero + flow.start), std::min(window_.to, end)},
           .left_address = left,
           .right_address = right,
           .left = {std::move(made.left), right, over},
           .right = {std::move(made.right), left, over},
           .viewer = viewer,
           .filmed = filmed,
           .two_way = two_way,
           .delivered = {},
           .captured = 0,
           .shown = {}}));
}

void CrossTraffic::connect(sim::World& world, sim::Link& forward, sim::Link& reverse) {
  for (const auto& pair : pairs_) {
    const Duration offset = -pair->began;
    const auto left =
        world.add(pair->left, {.address = pair->left_address, .clock_offset = offset});
    const auto right =
        world.add(pair->right, {.address = pair->right_address, .clock_offset = offset});
    world.connect(left, right, pair->flow.up ? reverse : forward);
    world.connect(right, left, pair->flow.up ? forward : reverse);
  }
}

void CrossTraffic::note() {
  for (const auto& pair : pairs_) {
    pair->delivered.push_back(pair->right.host->delivered());
    if (pair->viewer == nullptr) {
      continue;
    }
    const Duration start = pair->began;
    for (schemes::CallHost* end : {pair->filmed, pair->viewer}) {
      while (const auto coded = end->poll_coded()) {
        const bool counts = end == pair->filmed && pair->on.contains(coded->captured + start);
        pair->captured += counts ? 1 : 0;
      }
      while (const auto frame = end->poll_shown()) {
        if (end == pair->viewer) {
          pair->shown.push_back({frame->captured + start, frame->shown + start, 0, 0});
        }
      }
      while (end->poll_played()) {
      }
    }
  }
}

/// The host for which data of the pair pass through that link; null where none do.
const Address* CrossTraffic::receiver_through(const Pair& pair, bool forward) {
  if (pair.flow.up != forward) {
    return &pair.right_address;
  }
  return pair.two_way ? &pair.left_address : nullptr;
}

Sharing CrossTraffic::sharing(bool forward, const sim::Link& link,
                              const sim::DeliveryTrace& trace) const {
  Sharing sharing;
  metrics::Window together = window_;
  size_t sharers = 1;
  for (const auto& pair : pairs_) {
    if (receiver_through(*pair, forward) != nullptr && pair->flow.kind != kWebTraffic) {
      together = {std::max(together.from, pair->on.from), std::min(together.to, pair->on.to)};
      ++sharers;
    }
  }
  const bool met = together.from < together.to;
  const auto rate_of = [&link](const Address& to, metrics::Window window) {
    DataSize size;
    for (const sim::PacketRecord& record : link.records()) {
      size += record.to == to && window.contains(record.left) ? record.size : DataSize{};
    }
    return DataRate::from(size, window.length()).kilobits_per_second();
  };
  std::vector<double> rates;
  if (met) {
    sharing.together = together;
    sharing.fair_share_kbps =
        metrics::capacity(trace, together).kilobits_per_second() / static_cast<double>(sharers);
    sharing.rate_kbps = rate_of(Address{}, together);
    rates.push_back(sharing.rate_kbps);
  }
  const auto share_of = [&sharing](double rate) {
    return sharing.fair_share_kbps > 0 ? std::optional{rate / sharing.fair_share_kbps}
                                       : std::nullopt;
  };
  for (const auto& pair : pairs_) {
    const Address* const to = receiver_through(*pair, forward);
    if (to == nullptr) {
      continue;
    }
    FlowShare share = flow_share(*pair, *to, link);
    if (met && pair->flow.kind != kWebTraffic) {
      const double rate = rate_of(*to, together);
      rates.push_back(rate);
      share.share = share_of(rate);
    }
    sharing.flows.push_back(std::move(share));
  }
  if (met) {
    sharing.share = share_of(sharing.rate_kbps);
    sharing.jain = jain_index(rates);
  }
  return sharing;
}

FlowShare CrossTraffic::flow_share(const Pair& pair, const Address& to, const sim::Link& link) {
  FlowShare share;
  share.kind = pair.flow.kind;
  share.on = pair.on;
  if (pair.on.from >= pair.on.to) {
    return share;
  }
  DataSize size;
  std::vector<metrics::Arrival> arrivals;
  for (const sim::PacketRecord& record : link.records()) {
    if (record.to == to) {
      size += pair.on.contains(record.left) ? record.size : DataSize{};
      arrivals.push_back({record.sent, record.arrived});
    }
  }
  share.rate_kbps = DataRate::from(size, pair.on.length()).kilobits_per_second();
  if (pair.flow.kind != kWebTraffic) {  // whose silences would count as delay
    const auto delay = metrics::delay_quantile(arrivals, pair.on, 0.95);
    share.delay95_ms = delay ? std::optional{to_milliseconds(*delay)} : std::nullopt;
  }
  if (to != pair.right_address) {
    return share;  // the reverse direction of a call: how it looked is not taken
  }
  const auto delivered_at = [&pair](TimePoint at) {
    const auto bin = static_cast<size_t>((at - kTimeZero) / kTimelineBin);
    return pair.delivered.empty() ? DataSize{}
                                  : pair.delivered[std::min(bin, pair.delivered.size() - 1)];
  };
  share.goodput_kbps =
      DataRate::from(delivered_at(pair.on.to) - delivered_at(pair.on.from), pair.on.length())
          .kilobits_per_second();
  if (pair.viewer != nullptr) {
    const auto frame95 = metrics::frame_delay_quantile(pair.shown, pair.on, 0.95);
    share.frames = {
        .captured = pair.captured,
        .displayed = std::ranges::count_if(
            pair.shown, [&](const auto& frame) { return pair.on.contains(frame.displayed); }),
        .frozen_s = to_seconds(metrics::freezes(pair.shown, pair.on).frozen),
        .delay95_ms = frame95 ? std::optional{to_milliseconds(*frame95)} : std::nullopt};
  }
  return share;
}

}  // namespace cress::harness
