#include "eval/schemes/tcp/tcp_scoreboard.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {
// RFC 8985 §6.2 step 4 (and DupThresh of RFC 5681): three segments beyond a gap end the waiting.
constexpr int64_t kReorderingSegments = 3;
}  // namespace

void TcpScoreboard::note_departure(TimePoint now) {
  if (in_flight_ == 0) {
    delivery_time_ = now;  // a flight begins: before it nothing could be delivered
    delivery_sent_ = now;
  }
}

void TcpScoreboard::send_new(TimePoint now) {
  note_departure(now);
  const int64_t number = next();
  segments_.push_back({.sent = now,
                       .serial = next_serial_,
                       .delivered_when_sent = delivered_,
                       .delivery_time = delivery_time_,
                       .delivery_sent = delivery_sent_});
  transmissions_.push_back({number, next_serial_});
  ++next_serial_;
  ++in_flight_;
}

int64_t TcpScoreboard::retransmit(TimePoint now) {
  check(lost_ > 0, "retransmit: something is lost");
  note_departure(now);
  for (;;) {
    const Transmission candidate = lost_queue_.front();
    lost_queue_.pop_front();
    if (candidate.segment < first_) {
      continue;
    }
    Segment& segment = at(candidate.segment);
    if (segment.state != State::kLost || segment.serial != candidate.serial) {
      continue;
    }
    retransmitted_ += segment.retransmitted ? 0 : 1;
    segment = {.sent = now,
               .serial = next_serial_,
               .delivered_when_sent = delivered_,
               .delivery_time = delivery_time_,
               .delivery_sent = delivery_sent_,
               .state = State::kInFlight,
               .retransmitted = true};
    transmissions_.push_back({candidate.segment, next_serial_});
    ++next_serial_;
    --lost_;
    ++in_flight_;
    return candidate.segment;
  }
}

void TcpScoreboard::deliver(TimePoint now, const Segment& segment, bool original,
                            Delivery& delivery) {
  ++delivered_;
  ++delivery.newly_delivered;
  (segment.state == State::kLost ? lost_ : in_flight_) -= 1;
  retransmitted_ -= segment.retransmitted ? 1 : 0;
  // Sooner than any round trip: it was the original that arrived (RFC 8985 §6.2 step 2).
  const bool ambiguous =
      segment.retransmitted &&
      (original || (least_round_trip_ && now - segment.sent < *least_round_trip_));
  if (segment.serial > newest_serial_ && !ambiguous) {
    newest_serial_ = segment.serial;
    newest_round_trip_ = now - segment.sent;
    least_round_trip_ =
        std::min(least_round_trip_.value_or(newest_round_trip_), newest_round_trip_);
    delivery.round_trip = newest_round_trip_;
    delivery.newest_sent = segment.sent;
    delivery.delivered_when_sent = segment.delivered_when_sent;
    delivery.send_elapsed = segment.sent - segment.delivery_sent;
    delivery.ack_elapsed = now - segment.delivery_time;
    delivery_sent_ = segment.sent;
  }
}

TcpScoreboard::Delivery TcpScoreboard::acknowledge(TimePoint now, int64_t segment,
                                                   std::span<const TcpRange> sacks,
                                                   std::optional<TimePoint> echo) {
  check(segment <= next(), "acknowledge: what was sent");
  Delivery delivery;
  const int64_t highest = sacked_.empty() ? first_ : sacked_.end();
  while (first_ < segment) {
    const Segment& head = segments_.front();
    if (head.state != State::kSacked) {
      // An echo from before the retransmission: the original arrived, however long that took.
      deliver(now, head, echo && *echo < head.sent, delivery);
      reordering_seen_ |= first_ < highest && !head.retransmitted;
    }
    segments_.pop_front();
    ++first_;
    delivery.advanced = true;
  }
  sacked_.erase_below(first_);
  for (const TcpRange& sack : sacks) {
    const TcpRange block{std::max(sack.begin, first_), std::min(sack.end, next())};
    if (block.begin >= block.end) {
      continue;
    }
    sacked_.add(block, [&](TcpRange fresh) {
      for (int64_t number = fresh.begin; number < fresh.end; ++number) {
        Segment& sacked = at(number);
        deliver(now, sacked, false, delivery);
        reordering_seen_ |= number < highest && !sacked.retransmitted;
        sacked.state = State::kSacked;
      }
    });
  }
  if (delivery.newly_delivered > 0) {
    delivery_time_ = now;
  }
  drop_stale_transmissions();
  return delivery;
}

bool TcpScoreboard::is_current(const Transmission& transmission) const {
  if (transmission.segment < first_) {
    return false;
  }
  const Segment& segment = segments_[static_cast<size_t>(transmission.segment - first_)];
  return segment.state == State::kInFlight && segment.serial == transmission.serial;
}

void TcpScoreboard::drop_stale_transmissions() {
  while (!transmissions_.empty() && !is_current(transmissions_.front())) {
    transmissions_.pop_front();
  }
}

void TcpScoreboard::lose(int64_t number) {
  Segment& segment = at(number);
  segment.state = State::kLost;
  lost_queue_.push_back({number, segment.serial});
  --in_flight_;
  ++lost_;
}

int64_t TcpScoreboard::find_losses(TimePoint now, bool repairing) {
  const bool impatient = !reordering_seen_ && (repairing || sacked_.total() >= kReorderingSegments);
  const Duration patience =
      impatient ? Duration::zero() : least_round_trip_.value_or(Duration::zero()) / 4;
  int64_t found = 0;
  loss_timeout_ = kNever;
  for (;;) {
    drop_stale_transmissions();
    if (transmissions_.empty() || transmissions_.front().serial >= newest_serial_) {
      return found;
    }
    const int64_t number = transmissions_.front().segment;
    const TimePoint due = at(number).sent + newest_round_trip_ + patience;
    if (patience > Duration::zero() && due > now) {
      loss_timeout_ = due;
      return found;
    }
    lose(number);
    ++found;
  }
}

void TcpScoreboard::lose_everything() {
  if (!segments_.empty() && segments_.front().state == State::kSacked) {
    // The receiver withdrew what it had SACKed, or it lies: its SACKs are ignored from now on (RFC
    // 2018 §8).
    for (Segment& segment : segments_) {
      if (segment.state == State::kSacked) {
        segment.state = State::kInFlight;
        ++in_flight_;
        --delivered_;
        retransmitted_ += segment.retransmitted ? 1 : 0;
      }
    }
    sacked_.clear();
  }
  lost_queue_.clear();
  transmissions_.clear();
  lost_ = 0;
  in_flight_ = 0;
  for (int64_t number = first_; number < next(); ++number) {
    Segment& segment = at(number);
    if (segment.state != State::kSacked) {
      segment.state = State::kLost;
      lost_queue_.push_back({number, segment.serial});
      ++lost_;
    }
  }
  loss_timeout_ = kNever;
}

void TcpScoreboard::forgive() {
  lost_queue_.clear();
  transmissions_.clear();
  in_flight_ += lost_;
  lost_ = 0;
  for (int64_t number = first_; number < next(); ++number) {
    Segment& segment = at(number);
    if (segment.state != State::kSacked) {
      segment.state = State::kInFlight;
      transmissions_.push_back({number, segment.serial});
    }
  }
  std::sort(transmissions_.begin(), transmissions_.end(),
            [](const Transmission& a, const Transmission& b) { return a.serial < b.serial; });
  loss_timeout_ = kNever;
}

}  // namespace cress::schemes
