#include "eval/harness/run.hh"

#include <algorithm>
#include <span>
#include <utility>

#include "eval/harness/cross_traffic.hh"
#include "eval/harness/live_quality.hh"
#include "eval/metrics/audio.hh"
#include "eval/metrics/delay_over_time.hh"
#include "eval/metrics/frames.hh"
#include "eval/metrics/motion.hh"
#include "eval/metrics/picture_quality.hh"
#include "eval/metrics/rates.hh"
#include "media/frame/scale_picture.hh"
#include "transport/sim/world.hh"

namespace cress::harness {
namespace {

/// One direction of a running simulation: sender, receiver, link, and the records.
struct Direction {
  std::string name;
  const sim::DeliveryTrace& trace;
  sim::Link& link;
  schemes::SchemeHost& sender;
  schemes::SchemeHost& receiver;
  media::VideoSource* video = nullptr;  // null: no media in this direction
  std::vector<schemes::HostSample> samples{};
  DataSize delivered_before_window{};
  DataSize delivered_at_end{};
  std::vector<schemes::CodedFrame> coded{};
  std::vector<metrics::ShownFrame> shown{};
  std::vector<uint32_t> shown_ids{};
  std::optional<WorstMoments> worst{};  // where there are pictures
  std::optional<LiveQuality> live{};    // likewise
  bool has_sound = false;
  std::vector<metrics::PlayedSound> played{};
};

std::optional<double> in_milliseconds(std::optional<Duration> delay) {
  return delay ? std::optional{to_milliseconds(*delay)} : std::nullopt;
}

/// Of the scheme under test: other traffic has addresses.
bool is_own(const sim::PacketRecord& record) { return record.to == Address{}; }

std::vector<metrics::Arrival> arrivals_of(const sim::Link& link) {
  std::vector<metrics::Arrival> arrivals;
  arrivals.reserve(link.records().size());
  for (const sim::PacketRecord& record : link.records()) {
    if (is_own(record)) {
      arrivals.push_back({record.sent, record.arrived});
    }
  }
  return arrivals;
}

std::vector<metrics::Delivery> deliveries_of(const sim::Link& link) {
  std::vector<metrics::Delivery> deliveries;
  deliveries.reserve(link.records().size());
  for (const sim::PacketRecord& record : link.records()) {
    if (is_own(record)) {
      deliveries.push_back({record.left, record.size});
    }
  }
  return deliveries;
}

int attempts_at(const Direction& direction, uint32_t frame_id) {
  const auto coded =
      std::ranges::lower_bound(direction.coded, frame_id, {}, &schemes::CodedFrame::frame_id);
  return coded != direction.coded.end() && coded->frame_id == frame_id ? coded->attempts : 1;
}

metrics::PlayedSound::Kind kind_of(app::SoundKind kind) {
  switch (kind) {
    case app::SoundKind::kNormal:
    case app::SoundKind::kFec:
      return metrics::PlayedSound::Kind::kReal;
    case app::SoundKind::kConcealed:
      return metrics::PlayedSound::Kind::kMadeUp;
    case app::SoundKind::kSilence:
      return metrics::PlayedSound::Kind::kSilence;
    case app::SoundKind::kComfort:
      break;
  }
  return metrics::PlayedSound::Kind::kMadeUp;
}

void note_sound(const RunSpec& spec, Direction& direction) {
  auto& receiver = static_cast<schemes::CallHost&>(direction.receiver);
  while (const auto played = receiver.poll_played()) {
    direction.played.push_back({played->captured, played->played, kind_of(played->kind)});
    if (spec.on_played) {
      spec.on_played(direction.name, *played);
    }
  }
}

/// Scores shown frames at once, so that only one picture of each is alive.
void note_frames(const RunSpec& spec, Direction& direction, TimePoint now) {
  auto& sender = static_cast<schemes::CallHost&>(direction.sender);
  auto& receiver = static_cast<schemes::CallHost&>(direction.receiver);
  while (const auto coded = sender.poll_coded()) {
    direction.coded.push_back(*coded);
  }
  while (auto frame = receiver.poll_shown()) {
    const media::PicturePtr original = direction.video->picture(frame->frame_id);
    frame->shown += spec.processing.of(static_cast<int64_t>(original->luma_size()),
                                       attempts_at(direction, frame->frame_id));
    if (!direction.shown.empty()) {
      // A screen displays pictures in order, however long each was decoded.
      frame->shown = std::max(frame->shown, direction.shown.back().displayed);
    }
    frame->picture = media::at_size(std::move(frame->picture), original->width, original->height);
    const auto quality = metrics::picture_quality(*frame->picture, *original);
    direction.shown.push_back({frame->captured, frame->shown, quality.ssim, quality.psnr_db});
    direction.shown_ids.push_back(frame->frame_id);
    direction.worst->note({.frame = frame->frame_id,
                           .captured = frame->captured,
                           .shown = frame->shown,
                           .ssim = quality.ssim,
                           .picture = frame->picture});
    direction.live->note({.number = frame->frame_id,
                          .captured = frame->captured,
                          .displayed = frame->shown,
                          .ssim = quality.ssim,
                          .picture = frame->picture});
    if (spec.on_shown) {
      spec.on_shown(direction.name, *frame);
    }
  }
  direction.live->advance(now);
  note_sound(spec, direction);
}

VideoResult video_result(const Direction& direction, metrics::Window window) {
  VideoResult result;
  DataSize coded;
  for (const schemes::CodedFrame& frame : direction.coded) {
    if (window.contains(frame.captured)) {
      ++result.frames_captured;
      coded += frame.size;
      result.key_frames += frame.key_frame ? 1 : 0;
    }
  }
  result.bitrate_kbps = DataRate::from(coded, window.length()).kilobits_per_second();
  result.frames_displayed =
      std::count_if(direction.shown.begin(), direction.shown.end(),
                    [&](const auto& frame) { return window.contains(frame.displayed); });
  const auto delay = [&](double q) {
    return in_milliseconds(metrics::frame_delay_quantile(direction.shown, window, q));
  };
  result.frame_delay_p50_ms = delay(0.50);
  result.frame_delay_p95_ms = delay(0.95);
  result.frame_delay_p99_ms = delay(0.99);
  if (const auto quality = metrics::mean_quality(direction.shown, window)) {
    result.ssim_db = quality->ssim_db;
    result.psnr_db = quality->psnr_db;
  }
  const metrics::Freezes freezes = metrics::freezes(direction.shown, window);
  result.freezes = freezes.count;
  result.frozen_s = to_seconds(freezes.frozen);
  const metrics::Freezes w3c = metrics::freezes_w3c(direction.shown, window);
  result.freezes_w3c = w3c.count;
  result.frozen_w3c_s = to_seconds(w3c.frozen);
  result.gaps_500ms = metrics::gaps_over(direction.shown, window, 500ms);
  result.harmonic_fps = metrics::harmonic_fps(direction.shown, window);
  result.live_ssim_db = metrics::ssim_to_db(direction.live->mean_ssim());
  return result;
}

SoundResult sound_result(const Direction& direction, metrics::Window window) {
  SoundResult result;
  result.mouth_to_ear_p50_ms =
      in_milliseconds(metrics::mouth_to_ear_quantile(direction.played, window, 0.50));
  result.mouth_to_ear_p95_ms =
      in_milliseconds(metrics::mouth_to_ear_quantile(direction.played, window, 0.95));
  result.concealed = metrics::concealed_share(direction.played, window);
  return result;
}

DirectionResult direction_result(const RunSpec& spec, const Direction& direction) {
  const metrics::Window window = spec.window();
  const auto deliveries = deliveries_of(direction.link);
  const DataRate capacity = metrics::capacity(direction.trace, window);
  const DataRate throughput = metrics::throughput(deliveries, window);
  DirectionResult result;
  result.scheme = spec.scheme;
  result.link = spec.link.name;
  result.direction = direction.name;
  result.seed = spec.seed;
  result.window = window;
  result.capacity_kbps = capacity.kilobits_per_second();
  result.throughput_kbps = throughput.kilobits_per_second();
  result.goodput_kbps =
      DataRate::from(direction.delivered_at_end - direction.delivered_before_window,
                     window.length())
          .kilobits_per_second();
  result.utilization = metrics::utilization(throughput, capacity);
  // The same packets as counted above, seen where they arrive: the window moves with the
  // propagation.
  const metrics::Window at_receiver{window.from + spec.link.delay, window.to + spec.link.delay};
  const auto arrivals = arrivals_of(direction.link);
  const auto segments = metrics::delay_segments(arrivals, at_receiver);
  result.delay50_ms = in_milliseconds(metrics::delay_quantile(segments, 0.50));
  result.delay95_ms = in_milliseconds(metrics::delay_quantile(segments, 0.95));
  result.omniscient95_ms = in_milliseconds(metrics::delay_quantile(
      metrics::omniscient_arrivals(direction.trace, spec.link.delay, at_receiver), at_receiver,
      0.95));
  if (result.delay95_ms && result.omniscient95_ms) {
    result.self_inflicted_ms = *result.delay95_ms - *result.omniscient95_ms;
  }
  result.packets_delivered = std::ranges::count_if(direction.link.records(), is_own);
  result.packets_lost = static_cast<int64_t>(direction.link.lost());
  result.packets_dropped = static_cast<int64_t>(direction.link.queue_stats().dropped);
  if (direction.video != nullptr) {
    result.video = video_result(direction, window);
  }
  if (direction.has_sound) {
    result.sound = sound_result(direction, window);
  }
  return result;
}

void add_timeline(const RunSpec& spec, const Direction& direction, std::vector<TimelineRow>& rows) {
  const metrics::Window whole{kTimeZero, kTimeZero + spec.duration};
  const auto capacity = metrics::capacity_per_bin(direction.trace, whole, kTimelineBin);
  const auto throughput =
      metrics::throughput_per_bin(deliveries_of(direction.link), whole, kTimelineBin);
  const auto arrivals = arrivals_of(direction.link);
  const auto delays =
      metrics::delay_peaks(metrics::delay_segments(arrivals, whole), whole, kTimelineBin);
  for (size_t bin = 0; bin < capacity.size(); ++bin) {
    TimelineRow row{.scheme = spec.scheme, .link = spec.link.name, .direction = direction.name};
    row.time = static_cast<int64_t>(bin) * kTimelineBin;
    row.capacity_kbps = capacity[bin].kilobits_per_second();
    row.throughput_kbps = throughput[bin].kilobits_per_second();
    if (bin < delays.size()) {
      row.delay_ms = to_milliseconds(delays[bin]);
    }
    if (bin < direction.samples.size()) {
      const schemes::HostSample& sample = direction.samples[bin];
      row.window_bytes = sample.window ? std::optional{sample.window->bytes()} : std::nullopt;
      row.forecast_kbps =
          sample.forecast ? std::optional{sample.forecast->kilobits_per_second()} : std::nullopt;
    }
    rows.push_back(std::move(row));
  }
}

void add_frames(const RunSpec& spec, const Direction& direction, std::vector<FrameRow>& rows) {
  const size_t first = rows.size();
  for (const schemes::CodedFrame& coded : direction.coded) {
    FrameRow row{.scheme = spec.scheme, .link = spec.link.name, .direction = direction.name};
    row.frame = coded.frame_id;
    row.captured = coded.captured - kTimeZero;
    row.size_bytes = coded.size.bytes();
    row.budget_bytes = coded.budget ? std::optional{coded.budget->bytes()} : std::nullopt;
    row.quantizer = coded.quantizer;
    row.key_frame = coded.key_frame;
    rows.push_back(std::move(row));
  }
  // Frames are encoded with ascending ids, so a displayed one is found by bisection.
  const std::span mine{rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end()};
  for (size_t i = 0; i < direction.shown.size(); ++i) {
    const auto row = std::lower_bound(
        mine.begin(), mine.end(), direction.shown_ids[i],
        [](const FrameRow& candidate, uint32_t id) { return candidate.frame < id; });
    if (row != mine.end() && row->frame == direction.shown_ids[i]) {
      row->shown = direction.shown[i].displayed - kTimeZero;
      row->ssim_db = metrics::ssim_to_db(direction.shown[i].ssim);
      row->psnr_db = direction.shown[i].psnr_db;
    }
  }
}

void add_moments(const RunSpec& spec, Direction& direction, std::vector<MomentRow>& rows) {
  if (direction.worst) {
    for (WorstMoment& worst : direction.worst->finish()) {
      rows.push_back({spec.scheme, spec.link.name, direction.name, std::move(worst)});
    }
  }
}

/// Steps the world bin by bin, sampling each sender's estimates.
void simulate(const RunSpec& spec, sim::World& world, std::span<Direction> directions,
              CrossTraffic& cross, const std::function<void(double)>& on_progress) {
  const auto [from, end] = spec.window();
  for (TimePoint at = kTimeZero; at < end; at += kTimelineBin) {
    if (world.now() < from && from <= at) {
      world.run_until(from);
      for (Direction& direction : directions) {
        direction.delivered_before_window = direction.receiver.delivered();
      }
    }
    world.run_until(at);
    for (Direction& direction : directions) {
      direction.samples.push_back(direction.sender.sample(at));
      if (direction.video != nullptr) {
        note_frames(spec, direction, at);
      }
    }
    cross.note();
    if (on_progress) {
      on_progress(to_seconds(at) / to_seconds(spec.duration));
    }
  }
  world.run_until(end);
  cross.note();
  for (Direction& direction : directions) {
    direction.delivered_at_end = direction.receiver.delivered();
    if (direction.video != nullptr) {
      note_frames(spec, direction, end);
    }
  }
}

sim::Link make_link(const LinkSpec& spec, std::shared_ptr<const sim::DeliveryTrace> trace,
                    const Rng& rng, uint64_t stream) {
  constexpr uint64_t kQueueStream = 100;
  return sim::Link{{.trace = std::move(trace),
                    .propagation = spec.delay,
                    .detours = spec.detours,
                    .jitter = spec.jitter,
                    .loss = spec.loss,
                    .burst_loss = spec.burst_loss,
                    .duplicate = spec.duplicate,
                    .seed = rng.fork(stream).next(),
                    .queue = spec.queue.make(rng.fork(stream + kQueueStream))}};
}

}  // namespace

RunOutput run(const RunSpec& spec, const schemes::SchemeContext& context,
              const std::function<void(double)>& on_progress) {
  const Rng rng{spec.seed};
  const schemes::SchemeInfo& scheme = schemes::find_scheme(spec.scheme);
  LinkSpec link = spec.link;
  if (!scheme.queue.empty()) {
    link.queue = QueueSpec::parse(scheme.queue);  // this queue is part of the scheme
  }
  sim::Link forward = make_link(link, link.down, rng, 1);
  sim::Link reverse = make_link(link, link.up, rng, 2);
  schemes::FlowPair pair;
  if (spec.forward_video) {
    auto call = schemes::make_call(
        spec.scheme, context, spec.seed, {spec.forward_video, spec.forward_sound},
        {spec.reverse_video, spec.reverse_sound}, {.forward = link.down, .reverse = link.up});
    pair = {std::move(call.left), std::move(call.right)};
  } else {
    pair = schemes::make_flow(spec.scheme, context, spec.seed,
                              {.forward = link.down, .queue = scheme.queue});
  }
  std::vector<Direction> directions;
  directions.push_back({.name = "forward",
                        .trace = *spec.link.down,
                        .link = forward,
                        .sender = *pair.left,
                        .receiver = *pair.right,
                        .video = spec.forward_video.get(),
                        .has_sound = spec.forward_video && spec.forward_sound});
  if (spec.reverse_video) {
    directions.push_back({.name = "reverse",
                          .trace = *spec.link.up,
                          .link = reverse,
                          .sender = *pair.right,
                          .receiver = *pair.left,
                          .video = spec.reverse_video.get(),
                          .has_sound = spec.reverse_sound != nullptr});
  }
  for (Direction& direction : directions) {
    if (direction.video != nullptr) {
      direction.worst.emplace(spec.window());
      direction.live.emplace(spec.window(), *direction.video);
    }
  }
  sim::World world{{*pair.left, *pair.right, forward, reverse}};
  CrossTraffic cross{spec, context};
  cross.connect(world, forward, reverse);
  simulate(spec, world, directions, cross, on_progress);
  RunOutput output;
  for (Direction& direction : directions) {
    output.results.push_back(direction_result(spec, direction));
    if (!cross.empty()) {
      output.results.back().sharing =
          cross.sharing(direction.name == "forward", direction.link, direction.trace);
    }
    add_timeline(spec, direction, output.timeline);
    add_frames(spec, direction, output.frames);
    add_moments(spec, direction, output.moments);
  }
  return output;
}

}  // namespace cress::harness
