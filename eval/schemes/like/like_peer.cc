#include "eval/schemes/like/like_peer.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

// Datagrams, big-endian. Media: kind 1, sequence (4), sent time in µs (8), then media
// (of a call: a fragment, docs/protocol/media.md). Report: kind 2, loss in 1/65535 (2), queueing
// delay in ms (4), received kbit/s (4), 1 if a key frame is wanted (1).
constexpr uint8_t kMediaKind = 1;
constexpr uint8_t kReportKind = 2;
constexpr size_t kMediaHeader = 13;
constexpr size_t kReportSize = 12;
constexpr double kLossUnit = 65535;
// The largest valid clock value: three years. Keeps every sum of times below far from its limit.
constexpr uint64_t kSentTimeMaxMicroseconds = 100'000'000'000'000;

class Writer {
 public:
  explicit Writer(uint8_t kind) : bytes_{static_cast<std::byte>(kind)} {}
  template <class T>
  Writer& put(T value) {
    for (size_t i = sizeof(T); i-- > 0;) {
      bytes_.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
    }
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

template <class T>
T get(std::span<const std::byte> bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = value << 8U | std::to_integer<uint64_t>(bytes[at + i]);
  }
  return static_cast<T>(value);
}

}  // namespace

static_assert(LikePeer::kMediaHeaderSize == DataSize{kMediaHeader});

LikePeer::LikePeer(TimePoint start, const LikeOptions& options)
    : reports_silence_(options.reports_silence),
      controller_(start, options),
      next_report_(start + kReportInterval) {}

std::span<const std::byte> LikePeer::handle_datagram(TimePoint now,
                                                     std::span<const std::byte> datagram) {
  if (datagram.empty()) {
    return {};
  }
  if (datagram[0] == std::byte{kReportKind}) {
    handle_report(now, datagram);
    return {};
  }
  if (datagram[0] != std::byte{kMediaKind} || datagram.size() < kMediaHeader) {
    return {};
  }
  const auto sent_microseconds = get<uint64_t>(datagram, 5);
  if (sent_microseconds > kSentTimeMaxMicroseconds) {
    return {};
  }
  const TimePoint sent =
      kTimeZero + std::chrono::microseconds{static_cast<int64_t>(sent_microseconds)};
  books_.handle_arrival(get<uint32_t>(datagram, 1), now - sent,
                        DataSize{static_cast<int64_t>(datagram.size())});
  return datagram.subspan(kMediaHeader);
}

void LikePeer::handle_timeout(TimePoint now, bool needs_key_frame) {
  controller_.handle_timeout(now);
  if (now >= next_report_) {
    send_report(now, needs_key_frame);
  }
}

void LikePeer::send(TimePoint now, std::span<const std::byte> media) {
  check(DataSize{static_cast<int64_t>(media.size())} <= kMediaMax, "LikePeer: media too long");
  Writer writer{kMediaKind};
  writer.put(next_sequence_++);
  writer.put(std::chrono::duration_cast<std::chrono::microseconds>(now - kTimeZero).count());
  auto datagram = writer.take();
  datagram.insert(datagram.end(), media.begin(), media.end());
  outgoing_.push_back(std::move(datagram));
}

void LikePeer::send_report(TimePoint now, bool needs_key_frame) {
  next_report_ = now + kReportInterval;
  const auto feedback = books_.take_feedback(kReportInterval);
  if (!feedback || (!reports_silence_ && feedback->received == DataRate{})) {
    return;
  }
  Writer writer{kReportKind};
  writer.put(static_cast<uint16_t>(feedback->loss * kLossUnit));
  writer.put(static_cast<uint32_t>(to_milliseconds(feedback->queueing_delay)));
  writer.put(static_cast<uint32_t>(
      std::min(feedback->received.kilobits_per_second(), 4e9)));  // what the field holds
  writer.put(static_cast<uint8_t>(needs_key_frame ? 1 : 0));
  outgoing_.push_back(writer.take());
}

void LikePeer::handle_report(TimePoint now, std::span<const std::byte> datagram) {
  if (datagram.size() != kReportSize) {
    return;
  }
  controller_.handle_feedback(
      now, {.loss = get<uint16_t>(datagram, 1) / kLossUnit,
            .queueing_delay = std::chrono::milliseconds{get<uint32_t>(datagram, 3)},
            .received = DataRate::kilobits_per_second(get<uint32_t>(datagram, 7))});
  key_frame_wanted_ = key_frame_wanted_ || get<uint8_t>(datagram, 11) != 0;
}

std::optional<Transmit> LikePeer::poll_transmit() {
  if (outgoing_.empty()) {
    return std::nullopt;
  }
  Transmit transmit{.to = {}, .bytes = std::move(outgoing_.front())};
  outgoing_.pop_front();
  return transmit;
}

TimePoint LikePeer::poll_timeout() const {
  return std::min(controller_.poll_timeout(), next_report_);
}

bool LikePeer::take_key_frame_wanted() { return std::exchange(key_frame_wanted_, false); }

}  // namespace cress::schemes
