#pragma once

#include <cstddef>
#include <span>

#include "transport/base/result.hh"

namespace cress::media {

/// The largest packet of one frame (RFC 6716 §3.2.1): a length of 1275 and the byte before it.
inline constexpr size_t kOpusPacketMax = 1276;

enum class OpusError {
  kEmpty,        ///< no bytes
  kTooLarge,     ///< more than kOpusPacketMax
  kMalformed,    ///< not an Opus packet
  kNotOneFrame,  ///< not exactly 20 ms of audio in one frame
  kNoFec,        ///< holds no copy of the frame before
};
const char* describe(OpusError error);

/// What a packet's header says, without decoding.
struct OpusPacketInfo {
  /// The packet's voice-activity flag: speech, not background (RFC 6716 §4.2.3). CELT-only packets
  /// have no such flag: true if anything follows the first byte.
  bool active = false;
  /// Holds a coarser copy of the frame before (RFC 6716 §2.1.7).
  bool has_fec = false;
  friend bool operator==(const OpusPacketInfo&, const OpusPacketInfo&) = default;
};

/// Total: any bytes give a result or one error. Accepts what our encoder makes: a single frame of
/// 20 ms, mono or stereo. Threads: pure function.
Result<OpusPacketInfo, OpusError> inspect_opus(std::span<const std::byte> packet);

}  // namespace cress::media
