#include "media/frame/fragment.hh"

#include <algorithm>

#include "media/frame/parity.hh"
#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

constexpr uint8_t kKeyFrameFlag = 1;
constexpr unsigned kLayerShift = 1;
constexpr uint8_t kLayerMask = 3U << kLayerShift;
constexpr uint8_t kAnchorFlag = 8;

// docs/protocol/media.md, "Fragment": offsets in bytes, all numbers big-endian.
constexpr size_t kVersionAt = 0;
constexpr size_t kFlagsAt = 1;
constexpr size_t kIndexAt = 2;
constexpr size_t kCountAt = 4;
constexpr size_t kFrameSizeAt = 6;
constexpr size_t kReferenceAt = 9;
constexpr size_t kFrameIdAt = 12;
constexpr size_t kCaptureTimeAt = 16;
constexpr size_t kHeaderBytes = 24;
static_assert(kFragmentHeaderSize == DataSize{kHeaderBytes});
static_assert(kCaptureTimeAt + sizeof(int64_t) == kHeaderBytes);
static_assert(kEncodedFrameMax.bytes() < 1 << 24, "the frame's size has 24 bits");

bool is_layer(int layer, bool key_frame_or_anchor) {
  return 0 <= layer && layer < kTemporalLayersMax && (layer == 0 || !key_frame_or_anchor);
}

std::vector<std::byte> message_without_payload(const EncodedFrame& frame, int64_t index,
                                               int64_t count) {
  const DataSize payload = fragment_payload(frame.size(), index, count);
  std::vector<std::byte> message(kHeaderBytes + static_cast<size_t>(payload.bytes()));
  const auto flags = (frame.key_frame ? kKeyFrameFlag : 0U) |
                     static_cast<unsigned>(frame.temporal_layer) << kLayerShift |
                     (frame.anchor ? kAnchorFlag : 0U);
  put_number(message, kVersionAt, 1, kFragmentVersion);
  put_number(message, kFlagsAt, 1, flags);
  put_number(message, kIndexAt, 2, static_cast<uint64_t>(index));
  put_number(message, kCountAt, 2, static_cast<uint64_t>(narrow<uint16_t>(count)));
  put_number(message, kFrameSizeAt, 3, frame.data.size());
  put_number(message, kReferenceAt, 3, frame.id - frame.reference_id);
  put_number(message, kFrameIdAt, 4, frame.id);
  put_number(message, kCaptureTimeAt, 8,
             static_cast<uint64_t>(frame.capture_time.time_since_epoch().count()));
  return message;
}

// Appends `parity` messages to the `count` that hold the frame's parts.
void append_parity(const EncodedFrame& frame, int count, int parity,
                   std::vector<std::vector<std::byte>>& messages) {
  std::vector<CodedFragment> parts;
  std::vector<WantedFragment> wanted;
  for (int index = 0; index < count + parity; ++index) {
    if (index < count) {
      parts.push_back(
          {index, std::span{messages[static_cast<size_t>(index)]}.subspan(kHeaderBytes)});
    } else {
      messages.push_back(message_without_payload(frame, index, count));
      wanted.push_back({index, std::span{messages.back()}.subspan(kHeaderBytes)});
    }
  }
  derive_fragments(count, parts, wanted);
}

}  // namespace

const char* describe(FragmentError error) {
  switch (error) {
    case FragmentError::kTruncated:
      return "fragment shorter than its header";
    case FragmentError::kBadVersion:
      return "fragment of an unknown version";
    case FragmentError::kBadFlags:
      return "fragment with a reserved flag or an impossible layer";
    case FragmentError::kBadCount:
      return "fragment with an impossible index or count";
    case FragmentError::kBadSize:
      return "fragment of an empty or too large frame";
    case FragmentError::kBadTime:
      return "fragment with an impossible capture time";
    case FragmentError::kBadReference:
      return "fragment with an impossible reference";
    case FragmentError::kBadLength:
      return "fragment of a wrong length";
    case FragmentError::kConflict:
      return "fragment that contradicts an earlier one of its frame";
  }
  return "unknown fragment error";
}

Result<Fragment, FragmentError> parse_fragment(std::span<const std::byte> message) {
  if (message.size() < kHeaderBytes) {
    return FragmentError::kTruncated;
  }
  if (number_at(message, kVersionAt, 1) != kFragmentVersion) {
    return FragmentError::kBadVersion;
  }
  const uint64_t flags = number_at(message, kFlagsAt, 1);
  if ((flags & ~uint64_t{kKeyFrameFlag | kLayerMask | kAnchorFlag}) != 0) {
    return FragmentError::kBadFlags;
  }
  FragmentHeader header;
  header.key_frame = (flags & kKeyFrameFlag) != 0;
  header.temporal_layer = static_cast<int>((flags & kLayerMask) >> kLayerShift);
  header.anchor = (flags & kAnchorFlag) != 0;
  if (!is_layer(header.temporal_layer, header.key_frame || header.anchor)) {
    return FragmentError::kBadFlags;
  }
  header.index = static_cast<uint16_t>(number_at(message, kIndexAt, 2));
  header.count = static_cast<uint16_t>(number_at(message, kCountAt, 2));
  header.frame_size = DataSize{static_cast<int64_t>(number_at(message, kFrameSizeAt, 3))};
  header.reference_distance = static_cast<uint32_t>(number_at(message, kReferenceAt, 3));
  header.frame_id = static_cast<uint32_t>(number_at(message, kFrameIdAt, 4));
  header.capture_time =
      TimePoint{Duration{static_cast<int64_t>(number_at(message, kCaptureTimeAt, 8))}};
  if (header.capture_time > kTimeZero + kCaptureTimeMax ||
      header.capture_time < kTimeZero - kCaptureTimeMax) {
    return FragmentError::kBadTime;
  }
  if (header.frame_size <= DataSize{0} || header.frame_size > kEncodedFrameMax) {
    return FragmentError::kBadSize;
  }
  if (header.count == 0 || header.count > header.frame_size.bytes() ||
      (header.is_parity() && header.index >= kCodedFragmentsMax)) {
    return FragmentError::kBadCount;
  }
  if (header.reference_distance > header.frame_id ||
      header.key_frame != (header.reference_distance == 0)) {
    return FragmentError::kBadReference;
  }
  const std::span<const std::byte> payload = message.subspan(kHeaderBytes);
  if (DataSize{static_cast<int64_t>(payload.size())} !=
      fragment_payload(header.frame_size, header.index, header.count)) {
    return FragmentError::kBadLength;
  }
  return Fragment{header, payload};
}

int64_t fragment_count(DataSize frame_size, DataSize message_max) {
  check(frame_size > DataSize{0}, "fragment_count: empty frame");
  check(message_max >= kFragmentMessageMin, "fragment_count: messages too small");
  const int64_t payload_max = (message_max - kFragmentHeaderSize).bytes();
  return (frame_size.bytes() + payload_max - 1) / payload_max;
}

std::vector<std::vector<std::byte>> fragment(const EncodedFrame& frame, DataSize message_max,
                                             int parity) {
  check(frame.size() <= kEncodedFrameMax, "fragment: frame too large");
  check(frame.reference_id <= frame.id && frame.id - frame.reference_id <= kReferenceDistanceMax &&
            frame.key_frame == (frame.reference_id == frame.id),
        "fragment: impossible reference");
  check(is_layer(frame.temporal_layer, frame.key_frame || frame.anchor),
        "fragment: impossible layer");
  check(parity >= 0, "fragment: negative parity");
  const int64_t count = fragment_count(frame.size(), message_max);
  const int64_t parity_count =
      std::clamp<int64_t>(parity, 0, std::max<int64_t>(0, kCodedFragmentsMax - count));
  std::vector<std::vector<std::byte>> messages;
  messages.reserve(static_cast<size_t>(count + parity_count));
  for (int64_t index = 0; index < count; ++index) {
    const int64_t begin = fragment_offset(frame.size(), index, count).bytes();
    const int64_t end = fragment_offset(frame.size(), index + 1, count).bytes();
    std::vector<std::byte>& message =
        messages.emplace_back(message_without_payload(frame, index, count));
    std::copy(frame.data.begin() + begin, frame.data.begin() + end, message.begin() + kHeaderBytes);
  }
  if (parity_count > 0) {
    append_parity(frame, static_cast<int>(count), static_cast<int>(parity_count), messages);
  }
  return messages;
}

}  // namespace cress::media
