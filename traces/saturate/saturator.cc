#include "traces/saturate/saturator.hh"

#include <algorithm>
#include <cstring>
#include <variant>

#include "transport/base/check.hh"

namespace cress::traces {
namespace {

constexpr Duration kTick = 10ms;
constexpr Duration kHelloEvery = 250ms;
constexpr Duration kHelloAgainEvery = 1s;
// What one event may set free: a third of a gigabit per second at two events a tick.
constexpr int kBurstMax = 256;
// Answers to strangers that wait to be sent.
constexpr size_t kAnswersMax = 16;
constexpr Duration kDrainMax = 3s;
constexpr int kCloses = 4;
constexpr Duration kSizeTrial = 3s;
// Common sizes under 1500: PPPoE and tunnels, mobile networks; 1280 is IPv6's minimum.
constexpr std::array kPacketSizes{DataSize{1440}, DataSize{1400}, DataSize{1340}, DataSize{1280}};

}  // namespace

Saturator::Saturator(TimePoint start, const SaturatorOptions& options)
    : options_(options),
      now_(start),
      start_(start),
      next_tick_(start),
      state_since_(start),
      padding_(0),
      packet_size_(options.packet_size) {
  check(options.packet_size >= kPacketSizes.back() && options.packet_size <= DataSize{9000},
        "Saturator: packet_size out of range");
  check(options.duration > Duration{}, "Saturator: duration must be positive");
  // One half is sent, the other never.
  std::copy_n(options_.entropy.begin(), own_nonce_.size(), own_nonce_.begin());
  std::copy_n(options_.entropy.begin() + 16, 16, secret_.begin());
  uint64_t seed = 0;
  std::memcpy(&seed, own_nonce_.data(), sizeof seed);
  padding_ = Rng{seed};
  if (options_.connects) {
    check(options_.up || options_.down, "Saturator: one direction at least");
    up_ = options_.up;
    down_ = options_.down;
    wants_feedback_ = options_.feedback_peer.has_value();
    way(SaturatePath::kLink).peer = options_.peer;
    way(SaturatePath::kFeedback).peer = options_.feedback_peer;
  }
}

// --- input ----------------------------------------------------------------------------------

void Saturator::handle_datagram(TimePoint now, SaturatePath path, const Address& from,
                                std::span<const std::byte> bytes) {
  now_ = std::max(now_, now);
  burst_left_ = kBurstMax;
  const auto datagram = parse_saturate(bytes);
  if (!datagram || datagram->path != path) {
    ++stats_.malformed;
    return;
  }
  const auto* update = std::get_if<SaturateUpdate>(&datagram->body);
  const bool good = update == nullptr ? tag_is_good(bytes, options_.token)
                                      : key_.has_value() && tag_is_good(bytes, *key_);
  if (!good || datagram->from_connector == options_.connects) {
    ++stats_.unauthenticated;
    return;
  }
  if (update != nullptr) {
    on_update(now, path, *update, DataSize{static_cast<int64_t>(bytes.size())} + ip_overhead(from));
  } else if (const auto* hello = std::get_if<SaturateHello>(&datagram->body)) {
    on_hello(path, from, *hello);
  } else if (const auto* challenge = std::get_if<SaturateChallenge>(&datagram->body)) {
    on_challenge(path, *challenge);
  } else {
    on_start(path, from, std::get<SaturateStart>(datagram->body));
  }
}

void Saturator::on_hello(SaturatePath path, const Address& from, const SaturateHello& hello) {
  if (options_.connects || way(path).out.size() >= kAnswersMax) {
    return;
  }
  const SaturateChallenge challenge{hello.connector, own_nonce_,
                                    path_cookie(secret_, from, path, hello.connector)};
  way(path).out.push_back(
      {from, encode_saturate({path, options_.connects, challenge}, options_.token)});
}

void Saturator::on_challenge(SaturatePath path, const SaturateChallenge& challenge) {
  Way& to = way(path);
  if (!options_.connects || challenge.connector != own_nonce_ || !to.peer ||
      to.out.size() >= kAnswersMax) {
    return;
  }
  const SaturateKey key = session_key(options_.token, own_nonce_, challenge.listener);
  if (key_ != key && key_.has_value() && state_ != State::kWaiting) {
    return;  // the listener was restarted: it has no session
  }
  key_ = key;
  const SaturateStart start{own_nonce_, challenge.cookie, up_, down_, wants_feedback_};
  to.out.push_back({*to.peer, encode_saturate({path, options_.connects, start}, options_.token)});
}

void Saturator::on_start(SaturatePath path, const Address& from, const SaturateStart& start) {
  if (options_.connects ||
      !same_nonce(start.cookie, path_cookie(secret_, from, path, start.connector))) {
    ++stats_.unauthenticated;
    return;
  }
  if (start.connector != connector_) {
    if (state_ != State::kWaiting) {
      return;  // busy with another peer
    }
    ways_ = {};
    connector_ = start.connector;
    key_ = session_key(options_.token, connector_, own_nonce_);
  }
  Way& to = way(path);
  to.peer = from;
  to.confirmed = true;
  to.heard = now_;
  to.due = 1;
  if (state_ == State::kWaiting) {
    up_ = start.up;
    down_ = start.down;
    wants_feedback_ = start.feedback;
    if (way(SaturatePath::kLink).confirmed &&
        (!wants_feedback_ || way(SaturatePath::kFeedback).confirmed)) {
      begin();
    }
  }
}

void Saturator::on_update(TimePoint arrived, SaturatePath path, const SaturateUpdate& update,
                          DataSize size) {
  Way& on = way(path);
  on.heard = std::max(on.heard, now_);
  heard_ = now_;
  if (options_.connects && !on.confirmed) {
    on.confirmed = true;
    if (state_ == State::kWaiting && way(SaturatePath::kLink).confirmed &&
        (!wants_feedback_ || way(SaturatePath::kFeedback).confirmed)) {
      begin();
    }
  }
  if (path == SaturatePath::kLink) {
    log_arrival(arrived, update, size);
    note_newest(arrived, update);
  }
  if (!is_active()) {
    return;
  }
  const size_t known = collector_.records().size();
  collector_.add(update.first_record, update.records);
  for (size_t i = known; i < collector_.records().size() && !full_size_arrived_; ++i) {
    const uint64_t sequence = collector_.records()[i].sequence;
    full_size_arrived_ = sequence < sent_.size() && sent_[sequence].size >= packet_size_;
  }
  const uint64_t acknowledged = record_sender_.received();
  record_sender_.on_received(update.records_from);
  if (collector_.records().size() > known || record_sender_.received() > acknowledged) {
    progress_ = now_;
  }
  learn_status(update);
  learn_phase(update);
}

void Saturator::log_arrival(TimePoint arrived, const SaturateUpdate& update, DataSize size) {
  if (!receives() || closed_ || !key_ || state_ == State::kDone ||
      update.sequence >= kSaturateDatagramsMax) {
    return;
  }
  const auto index = static_cast<size_t>(update.sequence);
  if (index >= seen_.size()) {
    seen_.resize(index + 1);
  }
  if (seen_[index]) {
    ++stats_.repeated;
    return;
  }
  seen_[index] = true;
  const TimePoint last = arrivals_.empty() ? arrived : arrivals_.back().arrived;
  arrivals_.push_back({update.sequence, update.sent, std::max(arrived, last), size});
  progress_ = now_;
}

void Saturator::note_newest(TimePoint arrived, const SaturateUpdate& update) {
  if (update.sequence + 1 <= newest_) {
    return;
  }
  newest_ = update.sequence + 1;
  newest_sent_ = update.sent;
  newest_arrived_ = arrived;
  const Duration one_way = arrived - update.sent;
  fastest_in_ = std::min(fastest_in_, one_way);
  in_delay_ = loaded(one_way, fastest_in_);
}

Duration Saturator::loaded(Duration one_way, Duration fastest) const {
  return one_way - fastest + (round_trip_ == Duration::max() ? Duration{} : round_trip_);
}

/// The other end's report about what was sent to it.
void Saturator::learn_status(const SaturateUpdate& update) {
  const uint64_t next = way(SaturatePath::kLink).next;
  if (update.newest == 0 || update.newest > next) {
    return;
  }
  const Duration round_trip = now_ - update.newest_sent - (update.sent - update.newest_arrived);
  const Duration one_way = update.newest_arrived - update.newest_sent;
  if (round_trip <= Duration{}) {
    return;
  }
  last_round_trip_ = std::min(round_trip, kPatienceMax);
  fastest_out_ = std::min(fastest_out_, one_way);
  if (round_trip < round_trip_) {
    round_trip_ = round_trip;
    clock_offset_ = one_way - round_trip / 2;
  }
  if (update.newest > window_.newest()) {
    out_delay_ = std::min(round_trip, loaded(one_way, fastest_out_));
  }
  window_.on_feedback(now_,
                      {.known_at = std::min(now_, to_own(update.sent)),
                       .newest_arrived = update.newest_arrived,
                       .newest = update.newest,
                       .arrived = update.records_total,
                       .delay = std::min(round_trip, loaded(one_way, fastest_out_))},
                      next);
}

/// The other end's phase.
void Saturator::learn_phase(const SaturateUpdate& update) {
  if (update.sent < peer_known_at_) {
    return;
  }
  peer_known_at_ = update.sent;
  peer_total_ = update.records_total;
  peer_closed_ = peer_closed_ || update.closed;
  peer_filled_ = peer_filled_ || update.filled;
  peer_stopped_at_ = std::max(peer_stopped_at_, update.stopped_at);
  peer_wants_end_ = peer_wants_end_ || update.wants_end;
  if (options_.connects) {
    return;
  }
  if (update.measured_from != TimePoint{}) {
    peer_from_ = update.measured_from;
    peer_to_ = update.measured_to;
    if (state_ == State::kWarmingUp) {
      enter(State::kMeasuring);
    }
  }
  if (update.phase != SaturatePhase::kRunning && is_running()) {
    collect_from_here();
  }
  if (update.phase == SaturatePhase::kDone) {
    enter(State::kDone);
  }
}

void Saturator::handle_too_large(TimePoint now, SaturatePath path, DataSize path_mtu) {
  now_ = std::max(now_, now);
  if (path != SaturatePath::kLink || full_size_arrived_) {
    return;  // a size that gets through is not too large, whatever is reported
  }
  for (const DataSize size : kPacketSizes) {
    if (size < packet_size_ && (path_mtu == DataSize{} || size <= path_mtu)) {
      packet_size_ = size;
      size_tried_ = now_;
      return;
    }
  }
}

// --- time -----------------------------------------------------------------------------------

void Saturator::enter(State state) {
  state_ = state;
  state_since_ = now_;
  progress_ = now_;
}

void Saturator::begin() {
  enter(State::kWarmingUp);
  begun_ = now_;
  heard_ = now_;
  next_tick_ = now_;
  for (Way& to : ways_) {
    to.due = to.confirmed ? 1 : 0;  // also a reason to read poll_timeout() again
  }
}

void Saturator::collect_from_here() {
  if (is_running()) {
    stopped_at_ = std::max<uint64_t>(1, way(SaturatePath::kLink).next);
    enter(State::kCollecting);
  }
}

void Saturator::finish(TimePoint now) {
  now_ = std::max(now_, now);
  if (state_ == State::kWaiting) {
    enter(State::kDone);
  } else if (!options_.connects) {
    wants_end_ = true;
  } else if (is_running()) {
    from_ = from_ == TimePoint{} ? begun_ : from_;
    to_ = now_;
    collect_from_here();
  }
}

void Saturator::handle_timeout(TimePoint now) {
  now_ = std::max(now_, now);
  burst_left_ = kBurstMax;
  if (now_ < next_tick_) {
    return;
  }
  next_tick_ = now_ + kTick;
  if (options_.connects) {
    run_handshake();
  }
  if (!is_active()) {
    return;
  }
  if (now_ - heard_ > kSilenceMax) {
    to_ = to_ == TimePoint{} ? heard_ : to_;
    enter(State::kDone);
    return;
  }
  if (is_running()) {
    run_measuring();
    mind_packet_size();
  } else {
    run_collecting();
  }
  set_due();
}

TimePoint Saturator::poll_timeout() const {
  const bool idle = state_ == State::kDone || state_ == State::kFailed ||
                    (state_ == State::kWaiting && !options_.connects);
  return idle ? kNever : next_tick_;
}

void Saturator::run_handshake() {
  if (state_ == State::kWaiting && now_ - start_ > kConnectMax) {
    enter(State::kFailed);
    return;
  }
  for (const SaturatePath path : {SaturatePath::kLink, SaturatePath::kFeedback}) {
    Way& to = way(path);
    const bool again = to.confirmed && is_active() && now_ - to.heard > kQuiet;
    if (to.peer && (again || (!to.confirmed && state_ == State::kWaiting)) &&
        now_ - kTimeZero >= to.hello - kTimeZero + (again ? kHelloAgainEvery : kHelloEvery)) {
      say_hello(path);
    }
  }
}

void Saturator::say_hello(SaturatePath path) {
  Way& to = way(path);
  to.hello = now_;
  to.out.push_back({*to.peer, encode_saturate({path, options_.connects, SaturateHello{own_nonce_}},
                                              options_.token)});
}

void Saturator::run_measuring() {
  if (!options_.connects) {
    wants_end_ = wants_end_ || measured(now_) > options_.duration;
    return;
  }
  const bool stands = (!sends() || window_.has_filled()) && (!receives() || peer_filled_);
  if (state_ == State::kWarmingUp && (stands || now_ - begun_ > kWarmUpMax)) {
    // Whole milliseconds: a trace's lines then mean the same instants.
    from_ = std::chrono::ceil<std::chrono::milliseconds>(now_);
    enter(State::kMeasuring);
  }
  const bool over = state_ == State::kMeasuring && now_ >= from_ + options_.duration;
  const bool full = sent_.size() >= kSaturateDatagramsMax || seen_.size() >= kSaturateDatagramsMax;
  if (over || peer_wants_end_ || full) {
    finish(now_);
    to_ = over ? from_ + options_.duration : to_;
  }
}

void Saturator::mind_packet_size() {
  const bool has_time = size_tried_ != kNever && now_ - size_tried_ > kSizeTrial + last_round_trip_;
  if (has_time && !full_size_arrived_ && now_ - heard_ < kSizeTrial / 2) {
    handle_too_large(now_, SaturatePath::kLink, {});
  }
}

bool Saturator::is_complete() const {
  return closed_ && peer_closed_ && collector_.records().size() == peer_total_ &&
         record_sender_.received() == arrivals_.size();
}

void Saturator::run_collecting() {
  if (!closed_) {
    const bool drained = peer_stopped_at_ > 0 && newest_ >= peer_stopped_at_;
    const TimePoint last = std::max(state_since_, newest_arrived_);
    closed_ = !receives() || drained || now_ - last > kDrainMax;
    progress_ = closed_ ? now_ : progress_;
  }
  if (closes_left_ > 0) {
    if (--closes_left_ == 0) {
      enter(State::kDone);
    }
    for (Way& to : ways_) {
      to.due = to.confirmed ? 1 : 0;
    }
  } else if (is_complete() && options_.connects) {
    closes_left_ = kCloses;
  } else if (now_ - progress_ > kCollectStallMax || (is_complete() && now_ - heard_ > kQuiet)) {
    enter(State::kDone);  // complete as far as possible; or the final messages were lost
  }
}

}  // namespace cress::traces
