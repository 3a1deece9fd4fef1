#include "eval/schemes/tcp/tcp_receiver.hh"

#include <algorithm>

namespace cress::schemes {
namespace {
// One more than an acknowledgement can name: the newest, and those it should repeat.
constexpr size_t kRecentMax = kTcpSackBlocksMax + 1;
constexpr int64_t kSegmentsPerAck = 2;  // RFC 5681 §4.2
}  // namespace

void TcpReceiver::handle_datagram(TimePoint now, const Address& /*from*/,
                                  std::span<const std::byte> bytes) {
  const auto parsed = parse_tcp_segment(bytes);
  if (!parsed) {
    ++stats_.malformed;
    return;
  }
  const TcpSegment& segment = *parsed;
  if (segment.payload == DataSize{}) {
    return;  // there is no data in the other direction that it could acknowledge
  }
  ++stats_.segments;
  // RFC 7323 §4.3: the timestamp of the oldest segment that the next acknowledgement covers.
  if (segment.sequence <= acknowledged_ && (!echo_ || segment.timestamp >= *echo_)) {
    echo_ = segment.timestamp;
  }
  const Arrival arrival = take(segment);
  ++unacknowledged_segments_;
  const bool quick = quick_acks_used_ < options_.quick_acks;
  if (arrival != Arrival::kInOrder || quick || !ahead_.empty() ||
      unacknowledged_segments_ >= kSegmentsPerAck) {
    quick_acks_used_ += quick ? 1 : 0;
    acknowledge(now);
  } else if (ack_due_ == kNever) {
    ack_due_ = now + options_.ack_delay_max;
  }
}

TcpReceiver::Arrival TcpReceiver::take(const TcpSegment& segment) {
  const TcpRange bytes{segment.sequence, segment.sequence + segment.payload.bytes()};
  if (bytes.end > next_ + options_.window.bytes()) {
    ++stats_.beyond_window;
    return Arrival::kRejected;
  }
  if (bytes.end <= next_) {
    ++stats_.duplicates;
    return Arrival::kRejected;
  }
  if (bytes.begin > next_) {
    bool fresh = false;
    ahead_.add(bytes, [&](TcpRange) { fresh = true; });
    stats_.duplicates += fresh ? 0 : 1;
    note_block(bytes.begin);
    return Arrival::kOutOfOrder;
  }
  const bool hole_before = !ahead_.empty();
  next_ = bytes.end;
  // Data joined up by this segment is read too; ranges do not touch each other, so there is one at
  // most.
  if (const auto joined = ahead_.find(next_)) {
    next_ = joined->end;
  }
  ahead_.erase_below(next_);
  return hole_before ? Arrival::kFilledHole : Arrival::kInOrder;
}

void TcpReceiver::note_block(int64_t sequence) {
  // Points merged into this range, or read, are obsolete.
  const auto range = ahead_.find(sequence);
  std::erase_if(recent_, [&](int64_t point) {
    return point < next_ || (range && point >= range->begin && point < range->end);
  });
  recent_.push_front(sequence);
  if (recent_.size() > kRecentMax) {
    recent_.pop_back();
  }
}

void TcpReceiver::acknowledge(TimePoint now) {
  TcpSegment ack{.sequence = 0,
                 .payload = DataSize{},
                 .acknowledgement = next_,
                 .window = std::min(options_.window, kTcpWindowMax),
                 .timestamp = now,
                 .echo = echo_,
                 .sacks = {}};
  for (const int64_t point : recent_) {
    const auto range = ahead_.find(point);
    if (range && ack.sacks.size() < kTcpSackBlocksMax &&
        std::find(ack.sacks.begin(), ack.sacks.end(), *range) == ack.sacks.end()) {
      ack.sacks.push_back(*range);
    }
  }
  acknowledged_ = next_;
  unacknowledged_segments_ = 0;
  ack_due_ = kNever;
  if (pending_.size() == kPendingAcksMax) {
    pending_.pop_back();
  }
  pending_.push_back(std::move(ack));
}

void TcpReceiver::handle_timeout(TimePoint now) {
  if (now >= ack_due_) {
    acknowledge(now);
  }
}

std::optional<Transmit> TcpReceiver::poll_transmit(TimePoint /*now*/) {
  if (pending_.empty()) {
    return std::nullopt;
  }
  Transmit transmit{
      .to = {}, .bytes = encode(pending_.front()), .wire_size = wire_size(pending_.front())};
  pending_.pop_front();
  return transmit;
}

}  // namespace cress::schemes
