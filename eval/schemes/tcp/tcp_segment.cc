#include "eval/schemes/tcp/tcp_segment.hh"

#include <cstring>

namespace cress::schemes {
namespace {

constexpr size_t kFixedBytes = 40;
constexpr size_t kSackBytes = 16;
constexpr uint8_t kEchoPresent = 1;

template <class T>
void put(std::vector<std::byte>& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xff));
  }
}

template <class T>
T get(std::span<const std::byte> bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[offset + i]) << (8 * i)));
  }
  return value;
}

bool valid(TcpRange block) {
  return block.begin >= 0 && block.begin < block.end && block.end <= kTcpSequenceMax;
}

bool valid(const TcpSegment& segment) {
  for (const TcpRange& block : segment.sacks) {
    if (!valid(block)) {
      return false;
    }
  }
  return segment.sequence >= 0 && segment.sequence <= kTcpSequenceMax &&
         segment.acknowledgement >= 0 && segment.acknowledgement <= kTcpSequenceMax &&
         segment.payload >= DataSize{} && segment.payload <= kTcpPayloadMax &&
         segment.window >= DataSize{} && segment.window <= kTcpWindowMax &&
         segment.timestamp >= kTimeZero && segment.echo.value_or(kTimeZero) >= kTimeZero;
}

}  // namespace

DataSize wire_size(const TcpSegment& segment) {
  const auto blocks = static_cast<int64_t>(segment.sacks.size());
  return kTcpHeader + segment.payload + DataSize{blocks > 0 ? 4 + 8 * blocks : 0};
}

std::vector<std::byte> encode(const TcpSegment& segment) {
  check(segment.sacks.size() <= kTcpSackBlocksMax && valid(segment), "encode: segment in limits");
  std::vector<std::byte> out;
  out.reserve(kFixedBytes + kSackBytes * segment.sacks.size());
  put(out, static_cast<uint8_t>(segment.echo ? kEchoPresent : 0));
  put(out, static_cast<uint8_t>(segment.sacks.size()));
  put(out, static_cast<uint16_t>(segment.payload.bytes()));
  put(out, static_cast<uint32_t>(segment.window.bytes()));
  put(out, static_cast<uint64_t>(segment.sequence));
  put(out, static_cast<uint64_t>(segment.acknowledgement));
  put(out, static_cast<uint64_t>(segment.timestamp.time_since_epoch().count()));
  put(out, static_cast<uint64_t>(segment.echo.value_or(kTimeZero).time_since_epoch().count()));
  for (const TcpRange& block : segment.sacks) {
    put(out, static_cast<uint64_t>(block.begin));
    put(out, static_cast<uint64_t>(block.end));
  }
  return out;
}

Result<TcpSegment, TcpSegmentError> parse_tcp_segment(std::span<const std::byte> bytes) {
  if (bytes.size() < kFixedBytes) {
    return TcpSegmentError::kTruncated;
  }
  const auto flags = get<uint8_t>(bytes, 0);
  const auto blocks = get<uint8_t>(bytes, 1);
  if ((flags & ~kEchoPresent) != 0 || blocks > kTcpSackBlocksMax) {
    return TcpSegmentError::kBadFlags;
  }
  const size_t wanted = kFixedBytes + kSackBytes * blocks;
  if (bytes.size() != wanted) {
    return bytes.size() < wanted ? TcpSegmentError::kTruncated : TcpSegmentError::kTrailing;
  }
  TcpSegment segment;
  segment.payload = DataSize{get<uint16_t>(bytes, 2)};
  segment.window = DataSize{get<uint32_t>(bytes, 4)};
  segment.sequence = static_cast<int64_t>(get<uint64_t>(bytes, 8));
  segment.acknowledgement = static_cast<int64_t>(get<uint64_t>(bytes, 16));
  segment.timestamp = TimePoint{Duration{static_cast<int64_t>(get<uint64_t>(bytes, 24))}};
  const auto echo = static_cast<int64_t>(get<uint64_t>(bytes, 32));
  if ((flags & kEchoPresent) != 0) {
    segment.echo = TimePoint{Duration{echo}};
  } else if (echo != 0) {
    return TcpSegmentError::kBadRange;  // one meaning, one encoding
  }
  for (size_t i = 0; i < blocks; ++i) {
    const size_t at = kFixedBytes + kSackBytes * i;
    segment.sacks.push_back({static_cast<int64_t>(get<uint64_t>(bytes, at)),
                             static_cast<int64_t>(get<uint64_t>(bytes, at + 8))});
  }
  if (!valid(segment)) {
    return TcpSegmentError::kBadRange;
  }
  return segment;
}

}  // namespace cress::schemes
