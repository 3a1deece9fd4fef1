#include "media/codec/opus_packet.hh"

namespace cress::media {
namespace {

// The table-of-contents byte, RFC 6716 §3.1: config (5 bits), stereo, frame count code (2 bits).
constexpr unsigned kCeltConfigs = 16;    // from here on without a speech layer
constexpr unsigned kHybridConfigs = 12;  // pairs of 10 and 20 ms; below: fours of 10 to 60 ms

bool lasts_20_ms(unsigned config) {
  if (config >= kCeltConfigs) {
    return config % 4 == 3;
  }
  return config >= kHybridConfigs ? config % 2 == 1 : config % 4 == 1;
}

}  // namespace

const char* describe(OpusError error) {
  switch (error) {
    case OpusError::kEmpty:
      return "empty sound packet";
    case OpusError::kTooLarge:
      return "sound packet too large";
    case OpusError::kMalformed:
      return "not an Opus packet";
    case OpusError::kNotOneFrame:
      return "not one Opus frame of 20 ms";
    case OpusError::kNoFec:
      return "no copy of the frame before";
  }
  return "unknown Opus error";
}

Result<OpusPacketInfo, OpusError> inspect_opus(std::span<const std::byte> packet) {
  if (packet.empty()) {
    return OpusError::kEmpty;
  }
  if (packet.size() > kOpusPacketMax) {
    return OpusError::kTooLarge;
  }
  const auto toc = std::to_integer<unsigned>(packet[0]);
  const unsigned config = toc >> 3U;
  const bool stereo = (toc & 4U) != 0;
  if ((toc & 3U) != 0 || !lasts_20_ms(config)) {
    return OpusError::kNotOneFrame;
  }
  OpusPacketInfo info;
  if (config >= kCeltConfigs) {
    info.active = packet.size() > 1;
    return info;
  }
  if (packet.size() > 1) {
    // RFC 6716 §4.2.3: these flags come first and have probability 1/2, so they can be read from
    // the first byte's highest bits: one voice-activity flag for a frame of 20 ms, then one for
    // FEC. In stereo the side channel has flags of its own; our encoder never sends that.
    const auto flags = std::to_integer<unsigned>(packet[1]);
    info.active = (flags & 0x80U) != 0;
    info.has_fec = !stereo && (flags & 0x40U) != 0;
  }
  return info;
}

}  // namespace cress::media
