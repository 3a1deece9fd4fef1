#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "app/call/media_seal.hh"
#include "transport/base/time.hh"
#include "transport/room/member_number.hh"
#include "transport/secure/group/room_keys.hh"

namespace cress::room {

/// The part of a frame's fragment header that is authenticated with it (docs/protocol/room.md,
/// "Video"): if it is modified in transit, the frame does not open.
std::vector<std::byte> frame_metadata(const media::EncodedFrame& frame);
/// The loudest sample in -dBov: 0 loudest, 127 silence (RFC 6464 §3).
uint8_t sound_level(const media::AudioFrame& samples);

/// Encrypts what a member sends. Threads: none inside; that of the member.
class RoomSeal final : public app::MediaSeal {
 public:
  /// `keys` are borrowed and must outlive it.
  explicit RoomSeal(secure::RoomKeys& keys) : keys_(keys) {}
  /// The time of the following calls.
  void set_now(TimePoint now) { now_ = now; }

  DataSize frame_growth() const override;
  void seal_frame(media::EncodedFrame& frame) override;
  std::vector<std::byte> seal_sound(std::vector<std::byte> message,
                                    const media::AudioFrame& samples) override;
  const std::vector<std::byte>& fragment_head() const override { return head_; }

 private:
  secure::RoomKeys& keys_;
  TimePoint now_ = kTimeZero;
  std::vector<std::byte> head_ = std::vector<std::byte>(2);  // the relay writes the number
};

/// Replaces the encrypted frame of `member` by the encoded one; on error nothing has changed.
Result<Unit, secure::SFrameError> open_frame(TimePoint now, secure::RoomKeys& keys,
                                             room::MemberNumber member, media::EncodedFrame& frame);
/// Decrypts the body of a message of the audio flow (after the member's number) to the audio
/// message in it. nullopt: not such a body, or it does not open.
std::optional<std::vector<std::byte>> open_sound(TimePoint now, secure::RoomKeys& keys,
                                                 room::MemberNumber member,
                                                 std::span<const std::byte> body);

}  // namespace cress::room
