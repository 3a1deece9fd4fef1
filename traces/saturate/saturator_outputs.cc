#include <algorithm>
#include <cstring>
#include <utility>

#include "traces/saturate/saturator.hh"
#include "transport/base/take_front.hh"

/// What a Saturator sends, and what it knows. What it hears, and what it does in time:
/// saturator.cc.
namespace cress::traces {
namespace {

// Interval between updates: the rate follows within a fraction of the target delay. While load
// datagrams carry the updates, separate ones would only add to the queue.
constexpr Duration kTellEvery = 10ms;
constexpr Duration kTellEveryOverLink = 50ms;
constexpr Duration kTellEveryUnderLoad = 100ms;
constexpr Duration kKeepAlive = 100ms;
// Of a path that has nothing to tell: what a NAT on the way wants to hear.
constexpr Duration kKeepAliveOther = 500ms;
constexpr int kUpdatesAtOnce = 8;
// All on the way may be lost: after this long without load one packet asks.
constexpr Duration kProbeEvery = 1s;
constexpr Duration kPatienceMin = 150ms;

}  // namespace

SaturatePath Saturator::feedback_path() const {
  const Way& other = way(SaturatePath::kFeedback);
  return other.confirmed && now_ - other.heard < kQuiet ? SaturatePath::kFeedback
                                                        : SaturatePath::kLink;
}

void Saturator::set_due() {
  // How long an answer may take: under load what the last one took there and back.
  const Duration answer =
      is_running() ? 2 * last_round_trip_ : 4 * std::min(round_trip_, kPatienceMax);
  record_sender_.set_patience(std::clamp(answer, kPatienceMin, kPatienceMax));
  const SaturatePath path = feedback_path();
  const bool news = record_sender_.wants(now_, arrivals_.size()) || newest_ > told_newest_ ||
                    collector_.records().size() > told_records_;
  Duration every = kKeepAlive;
  if (news) {
    every = path == SaturatePath::kFeedback ? kTellEvery
            : is_running() && sends()       ? kTellEveryUnderLoad
                                            : kTellEveryOverLink;
  }
  for (const SaturatePath each : {SaturatePath::kLink, SaturatePath::kFeedback}) {
    Way& to = way(each);
    if (each == SaturatePath::kLink && is_running() && sends() && (each != path || !receives())) {
      continue;  // load says enough, and small datagrams between it blur what leaves when
    }
    const Duration wait = each == path ? every : kKeepAliveOther;
    if (to.confirmed && now_ - kTimeZero >= to.said - kTimeZero + wait) {
      const bool under_load = each == SaturatePath::kLink && is_running() && sends();
      to.due = each == path && !under_load ? kUpdatesAtOnce : 1;
    }
  }
}

// --- what goes ------------------------------------------------------------------------------

bool Saturator::may_load() const {
  const Way& link = way(SaturatePath::kLink);
  if (!sends() || !is_running() || !link.confirmed || burst_left_ == 0 ||
      link.next >= kSaturateDatagramsMax) {
    return false;
  }
  return link.next - window_.newest() < window_.allowed(now_) || now_ - loaded_at_ >= kProbeEvery;
}

bool Saturator::wants_transmit(SaturatePath path) const {
  const Way& to = way(path);
  return !to.out.empty() || (to.peer && to.confirmed && key_ &&
                             (to.due > 0 || (path == SaturatePath::kLink && may_load())));
}

std::optional<Transmit> Saturator::poll_transmit(TimePoint now, SaturatePath path) {
  now_ = std::max(now_, now);
  Way& to = way(path);
  if (!to.out.empty()) {
    return take_front(to.out);
  }
  if (!to.peer || !to.confirmed || !key_) {
    return std::nullopt;
  }
  if (path == SaturatePath::kLink && may_load()) {
    --burst_left_;
    loaded_at_ = now_;
    size_tried_ = std::min(size_tried_, now_);
    return make_update(path, true);
  }
  if (to.due > 0) {
    --to.due;
    Transmit transmit = make_update(path, false);
    if (path != feedback_path() || !record_sender_.wants(now_, arrivals_.size())) {
      to.due = 0;
    }
    return transmit;
  }
  return std::nullopt;
}

std::vector<SaturateRecord> Saturator::records_of(const RecordSender::Piece& piece) const {
  std::vector<SaturateRecord> records;
  records.reserve(piece.count);
  for (size_t i = 0; i < piece.count; ++i) {
    const SaturateArrival& arrival = arrivals_[static_cast<size_t>(piece.first) + i];
    records.push_back({arrival.sequence, arrival.arrived});
  }
  return records;
}

SaturatePhase Saturator::phase() const {
  if (closes_left_ > 0 || state_ == State::kDone) {
    return SaturatePhase::kDone;
  }
  return state_ == State::kCollecting ? SaturatePhase::kCollecting : SaturatePhase::kRunning;
}

Transmit Saturator::make_update(SaturatePath path, bool load) {
  Way& to = way(path);
  SaturateUpdate update;
  update.sequence = std::min(to.next++, kSaturateDatagramsMax);
  update.sent = now_;
  update.newest = newest_;
  update.newest_sent = newest_sent_;
  update.newest_arrived = newest_arrived_;
  update.records_total = arrivals_.size();
  update.records_from = collector_.records().size();
  update.stopped_at = stopped_at_;
  update.measured_from = from_;
  update.measured_to = to_;
  update.phase = phase();
  update.closed = closed_;
  update.wants_end = wants_end_;
  update.filled = window_.has_filled();
  if (path == feedback_path() && is_active()) {
    const RecordSender::Piece piece = record_sender_.take(now_, arrivals_.size());
    update.first_record = piece.first;
    update.records = records_of(piece);
    told_newest_ = newest_;
    told_records_ = update.records_from;
  }
  const DataSize payload = packet_size_ - ip_overhead(*to.peer);
  std::vector<std::byte> bytes =
      encode_saturate({path, options_.connects, std::move(update)}, *key_,
                      load ? static_cast<size_t>(payload.bytes()) : 0);
  // Noise: a link that compresses would carry zeros in no time.
  for (size_t i = covered_size(bytes); i < bytes.size(); i += 8) {
    const uint64_t noise = padding_.next();
    std::memcpy(&bytes[i], &noise, std::min<size_t>(8, bytes.size() - i));
  }
  if (path == SaturatePath::kLink && sent_.size() < kSaturateDatagramsMax) {
    sent_.push_back({now_, DataSize{static_cast<int64_t>(bytes.size())} + ip_overhead(*to.peer)});
  }
  to.said = now_;
  return {*to.peer, std::move(bytes)};
}

// --- what is known --------------------------------------------------------------------------

SaturatePath Saturator::silent_path() const {
  return way(SaturatePath::kLink).confirmed ? SaturatePath::kFeedback : SaturatePath::kLink;
}

Duration Saturator::measured(TimePoint now) const {
  if (state_ != State::kMeasuring && state_ != State::kCollecting && state_ != State::kDone) {
    return {};
  }
  const TimePoint from = options_.connects ? from_ : to_own(peer_from_);
  const TimePoint to = options_.connects         ? to_
                       : peer_to_ == TimePoint{} ? peer_to_
                                                 : to_own(peer_to_);
  return std::max(Duration{}, (to == TimePoint{} ? now : to) - from);
}

Saturator::Pace Saturator::outgoing() const {
  Pace pace{.wanted = sends(), .rate = {}, .delay = out_delay_};
  const double bits = window_.packets_per_second() * static_cast<double>(packet_size_.bits());
  pace.rate = DataRate::bits_per_second(static_cast<int64_t>(bits));
  return pace;
}

Saturator::Pace Saturator::incoming() const {
  Pace pace{.wanted = receives(), .rate = {}, .delay = in_delay_};
  DataSize arrived;
  for (auto it = arrivals_.rbegin(); it != arrivals_.rend() && it->arrived > now_ - 1s; ++it) {
    arrived += it->size;
  }
  pace.rate = DataRate::from(arrived, 1s);
  return pace;
}

SaturateMeasurement::Direction Saturator::received_direction() const {
  return {.arrivals = arrivals_, .wanted = receives(), .complete = closed_, .packet_size = {}};
}

SaturateMeasurement::Direction Saturator::sent_direction() const {
  SaturateMeasurement::Direction direction{
      .arrivals = {},
      .wanted = sends(),
      .complete = peer_closed_ && collector_.records().size() == peer_total_,
      .packet_size = packet_size_};
  direction.arrivals.reserve(collector_.records().size());
  TimePoint last{TimePoint::min()};
  for (const SaturateRecord& record : collector_.records()) {
    if (record.sequence < sent_.size()) {
      const Sent& sent = sent_[static_cast<size_t>(record.sequence)];
      last = std::max(last, to_own(record.arrived));
      direction.arrivals.push_back({record.sequence, sent.at, last, sent.size});
    }
  }
  return direction;
}

SaturateMeasurement Saturator::measurement() const {
  SaturateMeasurement result;
  result.up = options_.connects ? sent_direction() : received_direction();
  result.down = options_.connects ? received_direction() : sent_direction();
  result.round_trip = round_trip_ == Duration::max() ? Duration{} : round_trip_;
  result.clock_offset = clock_offset_;
  if (begun_ == TimePoint{} && state_ != State::kWarmingUp) {
    return result;
  }
  const bool told = peer_from_ != TimePoint{};
  result.from = options_.connects ? from_ : told ? to_own(peer_from_) : begun_;
  result.to = options_.connects ? to_ : peer_to_ != TimePoint{} ? to_own(peer_to_) : to_;
  result.from = result.from == TimePoint{} ? begun_ : result.from;
  result.to = std::max(result.from, result.to == TimePoint{} ? now_ : result.to);
  return result;
}

}  // namespace cress::traces
