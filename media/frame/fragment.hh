#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "media/frame/encoded_frame.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// An encoded frame is cut into fragments; the transport carries one fragment as one message. The
/// layout is drawn in docs/protocol/media.md, "Fragment".
inline constexpr uint8_t kFragmentVersion = 1;
inline constexpr DataSize kFragmentHeaderSize{24};
/// The smallest message that `fragment` accepts: with 40 bytes of frame per message, the largest
/// frame still has fewer than 2^16 fragments.
inline constexpr DataSize kFragmentMessageMin{64};
/// 24 bits: six days at 30 frames per second.
inline constexpr uint32_t kReferenceDistanceMax = (1U << 24U) - 1;

/// The header of a fragment. Shape: a header made by `parse_fragment` keeps count <= frame_size,
/// index < count or, for parity, < kCodedFragmentsMax, 0 < frame_size <= kEncodedFrameMax,
/// reference_distance <= frame_id, and 0 exactly for a key frame; the layer of a key frame or an
/// anchor is 0.
struct FragmentHeader {
  bool key_frame = false;
  int temporal_layer = 0;
  bool anchor = false;  ///< the flag's value; a key frame is an anchor without it too
  /// Below `count`: a part of the frame. From `count` on: parity number index - count.
  uint16_t index = 0;
  /// Number of parts, without parity.
  uint16_t count = 1;
  DataSize frame_size{};
  uint32_t reference_distance = 0;
  uint32_t frame_id = 0;
  TimePoint capture_time{};
  bool is_parity() const { return index >= count; }
  friend bool operator==(const FragmentHeader&, const FragmentHeader&) = default;
};

/// Four years, on either side of the clock's zero: differences of such times do not overflow.
inline constexpr Duration kCaptureTimeMax = std::chrono::microseconds{(int64_t{1} << 47) - 1};

/// Why bytes from the peer are not a fragment, or not one of this frame.
enum class FragmentError {
  kTruncated,     ///< shorter than the header
  kBadVersion,    ///< not kFragmentVersion
  kBadFlags,      ///< a reserved flag, a layer beyond the last, a key frame or anchor above layer 0
  kBadCount,      ///< no fragments, an index beyond them, or more fragments than bytes
  kBadSize,       ///< an empty frame or one beyond kEncodedFrameMax
  kBadTime,       ///< a capture time beyond kCaptureTimeMax
  kBadReference,  ///< refers before frame 0, or a key frame with a reference, or a delta frame
                  ///< without one
  kBadLength,     ///< a length other than the even split gives this index or parity
  kConflict,      ///< contradicts an earlier fragment of the same frame
};
const char* describe(FragmentError error);

struct Fragment {
  FragmentHeader header;
  /// Borrowed from the message passed to `parse_fragment`.
  std::span<const std::byte> payload;
};

/// Total: any bytes give a fragment or one error.
Result<Fragment, FragmentError> parse_fragment(std::span<const std::byte> message);

/// The number of messages of at most `message_max` bytes (header included, >= kFragmentMessageMin)
/// for a frame of `frame_size` (> 0), without parity.
int64_t fragment_count(DataSize frame_size, DataSize message_max);

/// The offset of fragment `index` of `count` in its frame: an even split, sizes differ by one byte
/// at most, the longer ones first. index == count gives the frame's end.
constexpr DataSize fragment_offset(DataSize frame_size, int64_t index, int64_t count) {
  const int64_t longer = frame_size.bytes() % count;
  return DataSize{frame_size.bytes() / count * index + (index < longer ? index : longer)};
}

/// Payload bytes of fragment `index`: its part of the frame, or for parity the length of the
/// longest part.
constexpr DataSize fragment_payload(DataSize frame_size, int64_t index, int64_t count) {
  const int64_t part = index < count ? index : 0;
  return fragment_offset(frame_size, part + 1, count) - fragment_offset(frame_size, part, count);
}

/// Cuts `frame` into messages of at most `message_max` bytes each, header included, all of nearly
/// the same size, and appends `parity` (>= 0) parity fragments, or as many as the code allows:
/// kCodedFragmentsMax with the others (parity.hh). `frame`: 1..kEncodedFrameMax bytes, its
/// reference at most kReferenceDistanceMax back and == id exactly for a key frame, its layer below
/// kTemporalLayersMax and 0 for a key frame or an anchor.
std::vector<std::vector<std::byte>> fragment(const EncodedFrame& frame, DataSize message_max,
                                             int parity = 0);

}  // namespace cress::media
