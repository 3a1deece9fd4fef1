#include "app/room/room_seal.hh"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "media/frame/fragment.hh"
#include "transport/base/check.hh"
#include "transport/room/media_head.hh"

namespace cress::room {
namespace {

// docs/protocol/media.md, "Fragment": the flags, and from the reference distance to the end.
constexpr size_t kFlagsAt = 1;
constexpr size_t kReferenceAt = 9;
constexpr size_t kHeaderBytes = static_cast<size_t>(media::kFragmentHeaderSize.bytes());
constexpr size_t kSoundHeadBytes = static_cast<size_t>(room::kSoundClearSize.bytes());

}  // namespace

std::vector<std::byte> frame_metadata(const media::EncodedFrame& frame) {
  // Written as the header itself is, so that its layout is defined in one place.
  const media::EncodedFrame head{.id = frame.id,
                                 .reference_id = frame.reference_id,
                                 .capture_time = frame.capture_time,
                                 .key_frame = frame.key_frame,
                                 .temporal_layer = frame.temporal_layer,
                                 .anchor = frame.anchor,
                                 .data = {std::byte{}}};
  const std::vector<std::byte> message = media::fragment(head, media::kFragmentMessageMin).front();
  std::vector<std::byte> metadata(1 + kHeaderBytes - kReferenceAt);
  metadata.front() = message[kFlagsAt];
  std::copy(message.begin() + kReferenceAt, message.begin() + kHeaderBytes, metadata.begin() + 1);
  return metadata;
}

uint8_t sound_level(const media::AudioFrame& samples) {
  int loudest = 0;
  for (const int16_t sample : samples) {
    loudest = std::max(loudest, std::abs(int{sample}));
  }
  if (loudest == 0) {
    return room::kSilentLevel;
  }
  const double level = -20.0 * std::log10(static_cast<double>(loudest) / -double{INT16_MIN});
  return static_cast<uint8_t>(std::lround(std::min<double>(level, room::kSilentLevel)));
}

DataSize RoomSeal::frame_growth() const {
  return DataSize{static_cast<int64_t>(secure::kSFrameOverheadMax)};
}

void RoomSeal::seal_frame(media::EncodedFrame& frame) {
  frame.data = keys_.seal(now_, secure::MediaKind::kVideo, frame_metadata(frame), frame.data);
}

std::vector<std::byte> RoomSeal::seal_sound(std::vector<std::byte> message,
                                            const media::AudioFrame& samples) {
  check(message.size() >= kSoundHeadBytes, "RoomSeal: not a sound message");
  std::vector<std::byte> metadata(1 + kSoundHeadBytes);
  metadata.front() = static_cast<std::byte>(sound_level(samples));
  std::copy_n(message.begin(), kSoundHeadBytes, metadata.begin() + 1);
  const std::vector<std::byte> sealed = keys_.seal(now_, secure::MediaKind::kAudio, metadata,
                                                   std::span{message}.subspan(kSoundHeadBytes));
  return room::build_member_message(
      room::kNobody, room::build_sound_body({.level = std::to_integer<uint8_t>(metadata.front()),
                                             .clear = std::span{metadata}.subspan(1),
                                             .sealed = sealed}));
}

Result<Unit, secure::SFrameError> open_frame(TimePoint now, secure::RoomKeys& keys,
                                             room::MemberNumber member,
                                             media::EncodedFrame& frame) {
  auto opened =
      keys.open(now, member, secure::MediaKind::kVideo, frame_metadata(frame), frame.data);
  if (!opened) {
    return opened.error();
  }
  frame.data = std::move(opened).value();
  return Unit{};
}

std::optional<std::vector<std::byte>> open_sound(TimePoint now, secure::RoomKeys& keys,
                                                 room::MemberNumber member,
                                                 std::span<const std::byte> body) {
  const auto sound = room::parse_sound_body(body);
  if (!sound) {
    return std::nullopt;
  }
  const auto rest = keys.open(now, member, secure::MediaKind::kAudio,
                              body.first(1 + kSoundHeadBytes), sound->sealed);
  if (!rest) {
    return std::nullopt;
  }
  std::vector<std::byte> message{sound->clear.begin(), sound->clear.end()};
  message.insert(message.end(), rest->begin(), rest->end());
  return message;
}

}  // namespace cress::room
