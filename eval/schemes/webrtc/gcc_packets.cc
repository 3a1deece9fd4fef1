#include "eval/schemes/webrtc/gcc_packets.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

constexpr uint8_t kMediaKind = 1;
constexpr uint8_t kPaddingKind = 2;
constexpr uint8_t kFeedbackKind = 3;
constexpr uint8_t kNackKind = 4;
constexpr uint8_t kKeyFrameKind = 5;
constexpr size_t kFeedbackHeader = 19;
constexpr uint16_t kLost = 0xffff;
// The largest valid clock value: three years. Keeps every sum of times far from its limit.
constexpr uint64_t kClockMaxMicroseconds = 100'000'000'000'000;

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
  Writer& put(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
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

int64_t microseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

Result<GccPacket, GccPacketError> parse_feedback(std::span<const std::byte> datagram) {
  if (datagram.size() < kFeedbackHeader) {
    return GccPacketError::kTruncated;
  }
  const size_t count = get<uint16_t>(datagram, 5);
  if (count == 0 || count > kGccFeedbackMax) {
    return GccPacketError::kBadCount;
  }
  if (datagram.size() != kFeedbackHeader + 2 * count) {
    return GccPacketError::kBadLength;
  }
  const auto first = get<uint64_t>(datagram, 7);
  if (first > kClockMaxMicroseconds) {
    return GccPacketError::kBadTime;
  }
  GccFeedback feedback{.first_sequence = get<uint32_t>(datagram, 1),
                       .arrivals = {},
                       .held = std::chrono::microseconds{get<uint32_t>(datagram, 15)}};
  feedback.arrivals.reserve(count);
  const TimePoint start = kTimeZero + std::chrono::microseconds{static_cast<int64_t>(first)};
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    const auto units = get<uint16_t>(datagram, kFeedbackHeader + 2 * i);
    feedback.arrivals.push_back(units == kLost ? std::nullopt
                                               : std::optional{start + units * kGccTimeUnit});
    any = any || units != kLost;
  }
  if (!any) {
    return GccPacketError::kBadCount;
  }
  return GccPacket{.kind = GccPacket::Kind::kFeedback, .feedback = std::move(feedback)};
}

Result<GccPacket, GccPacketError> parse_nack(std::span<const std::byte> datagram) {
  if (datagram.size() < 2) {
    return GccPacketError::kTruncated;
  }
  const size_t count = get<uint8_t>(datagram, 1);
  if (count == 0 || count > kGccNackMax) {
    return GccPacketError::kBadCount;
  }
  if (datagram.size() != 2 + 4 * count) {
    return GccPacketError::kBadLength;
  }
  GccNack nack;
  for (size_t i = 0; i < count; ++i) {
    nack.media_sequences.push_back(get<uint32_t>(datagram, 2 + 4 * i));
  }
  return GccPacket{.kind = GccPacket::Kind::kNack, .nack = std::move(nack)};
}

}  // namespace

std::vector<std::byte> encode(const GccMedia& media) {
  const auto round_trip_ms =
      std::clamp<int64_t>(media.round_trip / std::chrono::milliseconds{1}, 0, 0xffff);
  return Writer{kMediaKind}
      .put(media.transport_sequence)
      .put(media.media_sequence)
      .put(static_cast<uint8_t>(media.sent_again ? 1 : 0))
      .put(static_cast<uint16_t>(round_trip_ms))
      .put(media.fragment)
      .take();
}

std::vector<std::byte> encode(const GccPadding& padding, DataSize size) {
  check(size >= kGccPaddingHeader, "GccPadding: shorter than its header");
  auto bytes = Writer{kPaddingKind}.put(padding.transport_sequence).take();
  bytes.resize(static_cast<size_t>(size.bytes()));
  return bytes;
}

std::vector<std::byte> encode(const GccFeedback& feedback) {
  // Reordered packets: the first by number need not be the first that arrived.
  TimePoint start = kNever;
  for (const auto& arrival : feedback.arrivals) {
    start = std::min(start, arrival.value_or(kNever));
  }
  check(start != kNever && feedback.arrivals.size() <= kGccFeedbackMax,
        "GccFeedback: no arrival or too many");
  Writer writer{kFeedbackKind};
  writer.put(feedback.first_sequence).put(static_cast<uint16_t>(feedback.arrivals.size()));
  writer.put(microseconds(start - kTimeZero));
  writer.put(narrow<uint32_t>(std::clamp<int64_t>(microseconds(feedback.held), 0, 0xffffffff)));
  for (const auto& arrival : feedback.arrivals) {
    const int64_t units = arrival ? (*arrival - start) / kGccTimeUnit : kLost;
    check(!arrival || (units >= 0 && units < kLost), "GccFeedback: arrival out of range");
    writer.put(static_cast<uint16_t>(units));
  }
  return writer.take();
}

std::vector<std::byte> encode(const GccNack& nack) {
  check(!nack.media_sequences.empty() && nack.media_sequences.size() <= kGccNackMax,
        "GccNack: nothing or too much asked for");
  Writer writer{kNackKind};
  writer.put(static_cast<uint8_t>(nack.media_sequences.size()));
  for (const uint32_t sequence : nack.media_sequences) {
    writer.put(sequence);
  }
  return writer.take();
}

std::vector<std::byte> encode(const GccKeyFrameRequest& /*request*/) {
  return Writer{kKeyFrameKind}.take();
}

Result<GccPacket, GccPacketError> parse_gcc_packet(std::span<const std::byte> datagram) {
  if (datagram.empty()) {
    return GccPacketError::kTruncated;
  }
  switch (std::to_integer<uint8_t>(datagram[0])) {
    case kMediaKind:
      if (datagram.size() < static_cast<size_t>(kGccMediaHeader.bytes())) {
        return GccPacketError::kTruncated;
      }
      return GccPacket{
          .kind = GccPacket::Kind::kMedia,
          .media = {.transport_sequence = get<uint32_t>(datagram, 1),
                    .media_sequence = get<uint32_t>(datagram, 5),
                    .sent_again = (get<uint8_t>(datagram, 9) & 1U) != 0,
                    .round_trip = std::chrono::milliseconds{get<uint16_t>(datagram, 10)},
                    .fragment = datagram.subspan(static_cast<size_t>(kGccMediaHeader.bytes()))}};
    case kPaddingKind:
      if (datagram.size() < static_cast<size_t>(kGccPaddingHeader.bytes())) {
        return GccPacketError::kTruncated;
      }
      return GccPacket{.kind = GccPacket::Kind::kPadding, .padding = {get<uint32_t>(datagram, 1)}};
    case kFeedbackKind:
      return parse_feedback(datagram);
    case kNackKind:
      return parse_nack(datagram);
    case kKeyFrameKind:
      if (datagram.size() != 1) {
        return GccPacketError::kBadLength;
      }
      return GccPacket{};
    default:
      return GccPacketError::kBadKind;
  }
}

}  // namespace cress::schemes
