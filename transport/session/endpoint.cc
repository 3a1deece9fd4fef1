#include "transport/session/endpoint.hh"

#include <algorithm>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::session {
namespace {

// An ordinary forecast with its frame header: 8 small counts and a loss or two. A larger one is
// sent alone.
constexpr DataSize kForecastReserve{52};
// Losses are reported repeatedly for this long, in case the forecasts that report them are lost
// themselves.
constexpr Duration kLossReportedFor = 1s;
// Datagrams are sent as ECT(1) for this long; after that only if the peer reported that it sees the
// ECN field.
constexpr Duration kEcnTest = 500ms;
// How many forecasts report that the peer's ECN field arrives: some of them may be lost.
constexpr int kEcnTimesReported = 20;
// mosh's smoothing of the round-trip time (RFC 6298 §2).
constexpr int kRttGain = 8;

uint16_t wrap_milliseconds(TimePoint now) {
  const auto stamp = static_cast<uint16_t>(floor_milliseconds(now));
  return stamp == wire::kNoTimestamp ? 0 : stamp;
}

// Tenths of a millisecond since the epoch, and back; any time from a peer is accepted.
constexpr Duration kWireTick = 100us;
uint64_t to_wire(TimePoint at) {
  return static_cast<uint64_t>(std::max<int64_t>(at.time_since_epoch() / kWireTick, 0));
}
TimePoint from_wire(uint64_t time_100us) {
  constexpr uint64_t kWireTimeMax = uint64_t{1} << 46U;  // two centuries
  return kTimeZero + static_cast<int64_t>(std::min(time_100us, kWireTimeMax)) * kWireTick;
}

}  // namespace

Endpoint::Endpoint(TimePoint start, EndpointOptions options,
                   std::unique_ptr<control::Control> control)
    : options_(options), control_(std::move(control)), last_now_(start), next_heartbeat_(start) {
  check(control_ != nullptr && options_.heartbeat_interval > Duration{} &&
            options_.datagram_max <= wire::kDatagramMax && message_max() > DataSize{},
        "Endpoint: options out of range");
}

void Endpoint::set_datagram_max(DataSize size) {
  while (size < options_.datagram_max && !queues_.empty()) {
    note_dropped(queues_.drop_from_longest());
  }
  options_.datagram_max = std::min(size, wire::kDatagramMax);
  check(message_max() > DataSize{}, "Endpoint: datagrams too small");
}

DataSize Endpoint::message_max() const {
  return options_.datagram_max - wire::kHeaderSize - kForecastReserve - wire::kMessageOverhead;
}

MessageId Endpoint::send(TimePoint now, FlowId flow, std::vector<std::byte> bytes, Leave leave) {
  check(now >= last_now_, "Endpoint: time went back");
  check(DataSize{static_cast<int64_t>(bytes.size())} <= message_max(),
        "Endpoint: message too long");
  last_now_ = now;
  const MessageId id = queues_.push(flow, std::move(bytes), leave);
  while (queues_.size(flow) > queues_.size_max(flow)) {
    note_dropped(queues_.drop_front(flow));
  }
  while (queues_.size() > options_.queue_floor && queues_.size() > control_->forecast_total()) {
    note_dropped(queues_.drop_from_longest());
  }
  return id;
}

MessageId Endpoint::send_copy(TimePoint now, FlowId flow, std::span<const std::byte> bytes,
                              Leave leave) {
  std::vector<std::byte> copy = take_buffer(options_.spare, bytes.size());
  copy.assign(bytes.begin(), bytes.end());
  return send(now, flow, std::move(copy), leave);
}

void Endpoint::note_dropped(const QueuedMessage& message) {
  if (message.report_outcome) {
    outcomes_.push_back({message.flow, message.id, MessageOutcome::Kind::kDropped});
  }
}

DataSize Endpoint::window(TimePoint now) const {
  if (!window_ || window_->first != now) {
    window_ = {now, control_->window(now)};
  }
  return window_->second;
}

DataSize Endpoint::available_window(TimePoint now) const {
  return std::max(DataSize{}, window(now) - queues_.size());
}

bool Endpoint::fits_window(const QueuedMessage& message) const {
  return message.size() + control_->message_overhead() <= flight_left_.value_or(DataSize{});
}

bool Endpoint::has_sendable(TimePoint now) const {
  const QueuedMessage* next = queues_.front();
  if (next == nullptr || next->leave == Leave::kNow) {
    return next != nullptr;
  }
  return now >= paced_until_ && (fits_window(*next) || now - left_at_ >= control_->patience(now));
}

bool Endpoint::has_transmit(TimePoint now) {
  last_now_ = std::max(last_now_, now);
  if (!flight_left_ && !queues_.empty()) {
    flight_left_ = window(now);
  }
  if (has_sendable(now) || now >= std::min(next_heartbeat_, control_->feedback_due())) {
    return true;
  }
  flight_left_.reset();
  return false;
}

std::optional<std::vector<std::byte>> Endpoint::poll_transmit(TimePoint now) {
  if (!has_transmit(now)) {
    return std::nullopt;
  }
  wire::DatagramBuilder builder{
      options_.datagram_max,
      take_buffer(options_.spare, static_cast<size_t>(options_.datagram_max.bytes()))};
  if (fed_back_at_ != now) {
    fed_back_at_ = now;
    if (const auto feedback = control_->poll_feedback(now)) {
      check(builder.add_forecast(frame_of(now, *feedback)), "Endpoint: feedback beyond a datagram");
    }
  }
  add_messages(now, builder);
  const DataSize payload = builder.payload();
  paced_until_ = std::max(paced_until_, now) + control_->spacing(now, payload);
  return builder.finish(stamp(now, payload, has_sendable(now)));
}

void Endpoint::add_messages(TimePoint now, wire::DatagramBuilder& builder) {
  while (has_sendable(now) && builder.fits_message(queues_.front()->size())) {
    QueuedMessage message = queues_.pop();
    builder.add_message(message.flow, message.bytes);
    left_at_ = message.leave == Leave::kNow ? left_at_ : now;
    *flight_left_ -= message.size() + control_->message_overhead();
    if (message.report_outcome) {
      if (undecided_.size() == kUndecidedMax) {
        outcomes_.push_back(
            {undecided_.front().flow, undecided_.front().id, MessageOutcome::Kind::kLost});
        undecided_.pop_front();
      }
      undecided_.push_back({next_sequence_, message.flow, message.id});
    }
    give_buffer(options_.spare, std::move(message.bytes));
  }
}

wire::Header Endpoint::stamp(TimePoint now, DataSize payload, bool more_follow) {
  while (!recent_.empty() && recent_.front().first < now - control_->reordering_max()) {
    recent_.pop_front();
  }
  recent_.emplace_back(now, next_sequence_);
  first_sent_ = first_sent_.value_or(now);
  wire::Header header;
  if (!more_follow) {
    const Duration silence = control_->heartbeat_interval(now, options_.heartbeat_interval);
    header.time_to_next_ms =
        narrow<uint16_t>(std::chrono::ceil<std::chrono::milliseconds>(silence).count());
    next_heartbeat_ = now + silence;
  }
  header.sequence = wire::WireSeq::wrap(next_sequence_);
  header.throwaway = narrow<uint32_t>(next_sequence_ - recent_.front().second);
  header.timestamp_ms = wrap_milliseconds(now);
  if (newest_timestamp_) {
    const auto held = std::chrono::floor<std::chrono::milliseconds>(now - newest_timestamp_->first);
    const auto reply = static_cast<uint16_t>(newest_timestamp_->second + held.count());
    header.timestamp_reply_ms = reply == wire::kNoTimestamp ? uint16_t{0} : reply;
  }
  control_->on_sent(now, next_sequence_, payload);
  window_.reset();
  next_sequence_ = control::sequence_after(next_sequence_, payload);
  ++stats_.datagrams_sent;
  return header;
}

Ecn Endpoint::ecn(TimePoint now) const {
  const bool tests = now - first_sent_.value_or(now) < kEcnTest;
  return control_->answers_marks() && (ecn_confirmed_ || tests) ? Ecn::kEct1 : Ecn::kNotEct;
}

bool Endpoint::tell_ecn() { return ecn_told_ && (*ecn_told_)++ < kEcnTimesReported; }

wire::ForecastFrame Endpoint::frame_of(TimePoint now, const control::Feedback& feedback) {
  history_.decide_before(now, control_->decided_before(now));
  history_.forget_decided_before(now - kLossReportedFor);
  wire::ForecastFrame frame{.received_or_lost = history_.received_or_lost(),
                            .time_100us = to_wire(feedback.made_at),
                            .counts = feedback.counts,
                            .arrivals = {},
                            .decided_before = history_.decided_before(),
                            .lost_complete_from = history_.lost_complete_from(),
                            .lost = {},
                            .sees_ecn = tell_ecn()};
  frame.arrivals.reserve(feedback.arrivals.size());
  for (const control::ArrivalStamp& stamp : feedback.arrivals) {
    frame.arrivals.push_back({stamp.sequence, to_wire(stamp.at), stamp.marked});
  }
  for (const control::SequenceRange& range : history_.lost()) {
    if (range.from >= frame.lost_complete_from) {
      frame.lost.push_back({range.from, range.to});
    }
  }
  return frame;
}

Result<Unit, wire::WireError> Endpoint::handle_datagram(TimePoint now,
                                                        std::span<const std::byte> datagram,
                                                        Ecn ecn) {
  check(now >= last_now_, "Endpoint: time went back");
  last_now_ = now;
  window_.reset();
  fed_back_at_.reset();
  const auto parsed = wire::parse_datagram(datagram);
  if (!parsed) {
    ++stats_.datagrams_malformed;
    return parsed.error();
  }
  ++stats_.datagrams_received;
  const wire::Header& header = parsed->header;
  const uint64_t sequence = header.sequence.unwrap(newest_sequence_);
  newest_sequence_ = std::max(newest_sequence_, sequence);
  const auto arrival = history_.handle_arrival(now, sequence, parsed->payload, header.throwaway);
  control_->handle_arrival(now, {.sequence = sequence,
                                 .payload = parsed->payload,
                                 .time_to_next = std::chrono::milliseconds{header.time_to_next_ms},
                                 .asks_for_feedback = !parsed->messages.empty(),
                                 .sent_ms = header.timestamp_ms != wire::kNoTimestamp
                                                ? std::optional{header.timestamp_ms}
                                                : std::nullopt,
                                 .marked = ecn == Ecn::kCe});
  if (ecn == Ecn::kEct1 || ecn == Ecn::kCe) {
    ecn_told_ = ecn_told_.value_or(0);
  }
  stats_.datagrams_late += arrival == control::DeliveryHistory::Arrival::kLate ? 1 : 0;
  if (arrival == control::DeliveryHistory::Arrival::kDuplicate) {
    ++stats_.datagrams_duplicate;
    return Unit{};
  }
  handle_timestamps(now, header);
  if (parsed->forecast) {
    handle_forecast(now, *parsed->forecast);
  }
  for (const wire::MessageView& message : parsed->messages) {
    if (!queues_.is_open(message.flow)) {
      ++stats_.messages_for_unknown_flow;
      continue;
    }
    received_.push_back({message.flow, {message.bytes.begin(), message.bytes.end()}});
  }
  return Unit{};
}

void Endpoint::handle_timestamps(TimePoint now, const wire::Header& header) {
  if (header.timestamp_ms != wire::kNoTimestamp) {
    newest_timestamp_ = {now, header.timestamp_ms};
  }
  if (header.timestamp_reply_ms != wire::kNoTimestamp) {
    const auto rtt = std::chrono::milliseconds{
        static_cast<uint16_t>(wrap_milliseconds(now) - header.timestamp_reply_ms)};
    const Duration smoothed = stats_.smoothed_rtt.value_or(rtt);
    stats_.smoothed_rtt = smoothed + (rtt - smoothed) / kRttGain;
  }
}

void Endpoint::handle_forecast(TimePoint now, const wire::ForecastFrame& forecast) {
  // Differs from the original, which also accepts an older forecast that was overtaken: only newer
  // ones are accepted.
  if (newest_forecast_time_100us_ && forecast.time_100us < *newest_forecast_time_100us_) {
    return;
  }
  newest_forecast_time_100us_ = forecast.time_100us;
  control::Feedback feedback{
      .made_at = from_wire(forecast.time_100us), .counts = forecast.counts, .arrivals = {}};
  feedback.arrivals.reserve(forecast.arrivals.size());
  for (const wire::ArrivalStamp& stamp : forecast.arrivals) {
    feedback.arrivals.push_back({stamp.sequence, from_wire(stamp.time_100us), stamp.marked});
    // Needs an unmarked arrival: on a path that marks every datagram, marks carry no information.
    ecn_confirmed_ = ecn_confirmed_ || (forecast.sees_ecn && !stamp.marked);
  }
  control_->handle_feedback(now, feedback, next_sequence_, forecast.received_or_lost);
  decide_sent(forecast);
}

void Endpoint::decide_sent(const wire::ForecastFrame& forecast) {
  auto range = forecast.lost.begin();
  while (!undecided_.empty() && undecided_.front().sequence < forecast.decided_before) {
    const SentMessage sent = undecided_.front();
    undecided_.pop_front();
    while (range != forecast.lost.end() && range->to <= sent.sequence) {
      ++range;
    }
    // What the peer no longer remembers is taken as lost: repeating is harmless, trusting is not.
    const bool lost = sent.sequence < forecast.lost_complete_from ||
                      (range != forecast.lost.end() && range->from <= sent.sequence);
    outcomes_.push_back({sent.flow, sent.id,
                         lost ? MessageOutcome::Kind::kLost : MessageOutcome::Kind::kDelivered});
  }
}

void Endpoint::handle_timeout(TimePoint now) {
  check(now >= last_now_, "Endpoint: time went back");
  last_now_ = now;
}

std::optional<MessageReceived> Endpoint::poll_message() { return take_front(received_); }

std::optional<MessageOutcome> Endpoint::poll_outcome() { return take_front(outcomes_); }

TimePoint Endpoint::poll_timeout() const {
  const TimePoint must_speak = std::min(next_heartbeat_, control_->feedback_due());
  // A waiting message can be sent when the window grows by itself; new feedback arrives with a
  // datagram.
  if (queues_.empty()) {
    return must_speak;
  }
  if (paced_until_ > last_now_) {
    return std::min(must_speak, paced_until_);
  }
  const Duration patience = control_->patience(last_now_);
  const TimePoint impatient = patience == Duration::max() ? kNever : left_at_ + patience;
  return std::min({must_speak, control_->next_change(last_now_), std::max(impatient, last_now_)});
}

}  // namespace cress::session
