#include "eval/schemes/tcp/tcp_sender.hh"

#include <algorithm>
#include <array>
#include <utility>

namespace cress::schemes {
namespace {

int64_t segments_of(DataSize payload) { return payload.bytes() / kTcpPayloadMax.bytes(); }

}  // namespace

void TcpRoundTrip::observe(Duration sample, bool window_over) {
  if (!smoothed_) {
    smoothed_ = sample;
    deviation_ = sample / 2;
    variation_ = std::max(4 * deviation_, kVariationMin);
    deviation_max_ = variation_;
    return;
  }
  const Duration error = sample - *smoothed_;
  const Duration excess = (error < Duration::zero() ? -error : error) - deviation_;
  smoothed_ = *smoothed_ + error / 8;
  // A round trip that shrinks gives little information about how late the next may be: an eighth of
  // the weight.
  const bool shrinks = error < Duration::zero() && excess > Duration::zero();
  deviation_ += excess / (shrinks ? 32 : 4);
  deviation_max_ = std::max(deviation_max_, 4 * deviation_);
  variation_ = std::max(variation_, deviation_max_);
  if (window_over) {
    if (deviation_max_ < variation_) {
      variation_ -= (variation_ - deviation_max_) / 4;
    }
    deviation_max_ = kVariationMin;
  }
}

Duration TcpRoundTrip::timeout(int backoffs) const {
  Duration timeout = smoothed_ ? *smoothed_ + variation_ : kTimeoutInitial;
  for (int i = 0; i < backoffs && timeout < kTimeoutMax; ++i) {
    timeout *= 2;
  }
  return std::min(timeout, kTimeoutMax);
}

TcpSender::TcpSender(std::unique_ptr<CongestionControl> control, const Options& options)
    : control_(std::move(control)),
      data_end_((options.data.bytes() - 1) / kTcpPayloadMax.bytes() + 1),
      peer_limit_(options.peer_window.bytes()) {
  check(control_ != nullptr, "TcpSender: a congestion control");
}

DataSize TcpSender::window() const {
  return state_ == State::kRecovery && !control_->governs_recovery()
             ? kTcpPayloadMax * recovery_window_
             : control_->window();
}

bool TcpSender::may_send() const {
  return state_ == State::kRecovery && !control_->governs_recovery()
             ? in_flight() + kTcpPayloadMax <= window()
             : control_->may_send(in_flight());
}

void TcpSender::handle_datagram(TimePoint now, const Address& /*from*/,
                                std::span<const std::byte> bytes) {
  const auto parsed = parse_tcp_segment(bytes);
  if (!parsed) {
    ++stats_.malformed;
    return;
  }
  if (parsed->acknowledgement > kTcpPayloadMax.bytes() * board_.next() ||
      parsed->echo.value_or(now) > now) {
    ++stats_.unexpected;
    return;
  }
  handle_ack(now, *parsed);
}

void TcpSender::handle_ack(TimePoint now, const TcpSegment& ack) {
  const int64_t mss = kTcpPayloadMax.bytes();
  // A late acknowledgement never withdraws what a newer one permitted.
  peer_limit_ = std::max(peer_limit_, ack.acknowledgement + ack.window.bytes());
  echo_ = ack.timestamp;
  std::array<TcpRange, kTcpSackBlocksMax> sacks;
  for (size_t i = 0; i < ack.sacks.size(); ++i) {
    // Whole segments only: a block that names part of one is ignored.
    sacks[i] = {(ack.sacks[i].begin + mss - 1) / mss, ack.sacks[i].end / mss};
  }
  const DataSize in_flight_before = in_flight();
  const TcpScoreboard::Delivery delivery =
      board_.acknowledge(now, std::max(ack.acknowledgement / mss, board_.first()),
                         {sacks.data(), ack.sacks.size()}, ack.echo);
  sample_round_trip(now, ack, delivery.advanced);
  undo_if_spurious(now, ack, delivery.advanced);
  if (state_ != State::kOpen && board_.first() >= repair_end_) {
    leave_repair(now);
  }
  const int64_t lost = board_.find_losses(now, state_ != State::kOpen);
  const bool recovering = state_ == State::kRecovery;
  if (lost > 0 && state_ == State::kOpen) {
    enter_recovery(now);
  }
  if (state_ == State::kRecovery) {
    reduce_proportionally(delivery.newly_delivered, delivery.advanced && lost == 0);
    if (!recovering) {
      recovery_window_ = std::max(recovery_window_, board_.in_flight() + 1);  // fast retransmit
    }
  }
  if (delivery.newly_delivered > 0) {
    report(now, ack, delivery, in_flight_before, lost);
  }
  if (delivery.advanced) {
    backoffs_ = 0;
    restart_timer(now);
  }
}

void TcpSender::sample_round_trip(TimePoint now, const TcpSegment& ack, bool advanced) {
  if (!advanced || !ack.echo) {
    return;
  }
  const bool window_over = board_.first() >= round_end_;
  if (window_over) {
    round_end_ = board_.next();
  }
  round_trip_.observe(now - *ack.echo, window_over);
}

void TcpSender::undo_if_spurious(TimePoint now, const TcpSegment& ack, bool advanced) {
  // The advancing acknowledgement answers a segment older than our first retransmission: the
  // original arrived, nothing was lost (RFC 3522).
  if (state_ == State::kOpen || !advanced || !ack.echo || !first_retransmission_ ||
      *ack.echo >= *first_retransmission_) {
    return;
  }
  board_.forgive();
  control_->on_spurious_loss(now);
  state_ = State::kOpen;
  ++stats_.undone;
}

void TcpSender::report(TimePoint now, const TcpSegment& ack,
                       const TcpScoreboard::Delivery& delivery, DataSize in_flight_before,
                       int64_t lost) {
  AckEvent event{.now = now,
                 .delivered = kTcpPayloadMax * delivery.newly_delivered,
                 .in_flight = in_flight_before,
                 .acknowledged = kTcpPayloadMax * board_.first(),
                 .sent = kTcpPayloadMax * board_.next(),
                 .round_trip = delivery.round_trip,
                 .one_way_delay = std::nullopt,
                 .delivery_rate = std::nullopt,
                 .delivered_total = kTcpPayloadMax * board_.delivered(),
                 .delivered_when_sent = kTcpPayloadMax * delivery.delivered_when_sent,
                 .advanced = delivery.advanced,
                 .in_recovery = state_ == State::kRecovery,
                 .repairing = state_ != State::kOpen,
                 .lost = kTcpPayloadMax * lost,
                 .in_flight_now = in_flight()};
  // Out of order the echo is an older segment's (RFC 7323 §4.3).
  if (delivery.advanced && ack.echo && ack.timestamp >= *ack.echo) {
    event.one_way_delay = ack.timestamp - *ack.echo;
  }
  const Duration elapsed = std::max(delivery.send_elapsed, delivery.ack_elapsed);
  if (delivery.round_trip && elapsed > Duration::zero() && elapsed >= board_.least_round_trip()) {
    event.delivery_rate =
        DataRate::from(event.delivered_total - event.delivered_when_sent, elapsed);
  }
  control_->on_ack(event);
}

void TcpSender::leave_repair(TimePoint now) {
  state_ = State::kOpen;
  if (board_.has_lost() || board_.retransmitted() > 0) {
    // Sent after the repair began and lost since: a congestion event of its own (RFC 6675 §5).
    enter_recovery(now);
  }
}

void TcpSender::begin_repair() {
  repair_end_ = board_.next();
  // A segment retransmitted in an earlier repair and still outstanding would look like an original
  // later.
  if (board_.retransmitted() == 0) {
    first_retransmission_.reset();
  }
}

void TcpSender::enter_recovery(TimePoint now) {
  ++stats_.recoveries;
  state_ = State::kRecovery;
  begin_repair();
  flight_at_loss_ = std::max<int64_t>(segments_of(control_->window()), 1);
  delivered_in_recovery_ = 0;
  sent_in_recovery_ = 0;
  control_->on_loss(now);
}

void TcpSender::reduce_proportionally(int64_t delivered, bool progress) {
  delivered_in_recovery_ += delivered;
  const int64_t in_flight = board_.in_flight();
  const int64_t target = segments_of(control_->window());
  int64_t allowance = 0;
  if (in_flight > target) {
    allowance = (delivered_in_recovery_ * target + flight_at_loss_ - 1) / flight_at_loss_ -
                sent_in_recovery_;
  } else {
    const int64_t conserved = delivered_in_recovery_ - sent_in_recovery_;
    // Slow start up to the target while repairs succeed, packet conservation while they do not (RFC
    // 6937 §5; the choice is RFC 9937's).
    const int64_t limit = progress ? std::max(conserved, delivered) + 1 : conserved;
    allowance = std::min(target - in_flight, limit);
  }
  recovery_window_ = in_flight + std::max<int64_t>(allowance, 0);
}

void TcpSender::restart_timer(TimePoint now) {
  timeout_at_ = board_.outstanding() > 0 ? now + round_trip_.timeout(backoffs_) : kNever;
}

void TcpSender::handle_timeout(TimePoint now) {
  started_ = true;
  waits_for_pace_ = waits_for_pace_ && now < paced_until_;
  if (now >= control_->poll_timeout()) {
    control_->handle_timeout(now);
  }
  if (now >= board_.loss_timeout() && board_.find_losses(now, state_ != State::kOpen) > 0 &&
      state_ == State::kOpen) {
    enter_recovery(now);
    recovery_window_ = board_.in_flight() + 1;
  }
  if (now < timeout_at_) {
    return;
  }
  ++stats_.timeouts;
  const bool repeated = state_ == State::kLoss && backoffs_ > 0;
  state_ = State::kLoss;
  begin_repair();
  board_.lose_everything();
  control_->on_timeout(now, repeated);
  ++backoffs_;
  restart_timer(now);
}

std::optional<Transmit> TcpSender::poll_transmit(TimePoint now) {
  if (!may_send()) {
    return std::nullopt;
  }
  const bool fits_peer =
      kTcpPayloadMax.bytes() * (board_.next() + 1) <= peer_limit_ && board_.next() < data_end_;
  if (!board_.has_lost() && !fits_peer) {
    return std::nullopt;
  }
  waits_for_pace_ = now < paced_until_;
  if (waits_for_pace_) {
    return std::nullopt;
  }
  int64_t number = 0;
  if (board_.has_lost()) {
    number = board_.retransmit(now);
    ++stats_.retransmissions;
    first_retransmission_ = first_retransmission_.value_or(now);
  } else {
    number = board_.next();
    board_.send_new(now);
  }
  if (state_ == State::kRecovery) {
    ++sent_in_recovery_;
  }
  control_->on_sent(now, in_flight());
  if (timeout_at_ == kNever) {
    restart_timer(now);
  }
  return make_segment(now, number);
}

Transmit TcpSender::make_segment(TimePoint now, int64_t number) {
  ++stats_.segments;
  const TcpSegment segment{.sequence = number * kTcpPayloadMax.bytes(),
                           .payload = kTcpPayloadMax,
                           .acknowledgement = 0,
                           .window = DataSize{},
                           .timestamp = now,
                           .echo = echo_,
                           .sacks = {}};
  Transmit transmit{.to = {}, .bytes = encode(segment), .wire_size = wire_size(segment)};
  if (const auto rate = control_->pacing_rate()) {
    paced_until_ = std::max(now, paced_until_) + transmit.wire_size / *rate;
  }
  return transmit;
}

TimePoint TcpSender::poll_timeout() const {
  if (!started_) {
    return kTimeZero;
  }
  return std::min({timeout_at_, board_.loss_timeout(), control_->poll_timeout(),
                   waits_for_pace_ ? paced_until_ : kNever});
}

}  // namespace cress::schemes
