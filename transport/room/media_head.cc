#include "transport/room/media_head.hh"

#include <algorithm>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::room {
namespace {

constexpr size_t kMemberBytes = static_cast<size_t>(kMemberHeadSize.bytes());
constexpr size_t kClearBytes = static_cast<size_t>(kSoundClearSize.bytes());

}  // namespace

std::optional<MemberMessage> parse_member_message(std::span<const std::byte> message) {
  if (message.size() < kMemberBytes) {
    return std::nullopt;
  }
  return MemberMessage{static_cast<MemberNumber>(number_at(message, 0, kMemberBytes)),
                       message.subspan(kMemberBytes)};
}

void set_member(std::span<std::byte> message, MemberNumber member) {
  check(message.size() >= kMemberBytes, "set_member: no head");
  put_number(message, 0, kMemberBytes, member);
}

std::vector<std::byte> build_member_message(MemberNumber member, std::span<const std::byte> body) {
  std::vector<std::byte> message(kMemberBytes + body.size());
  set_member(message, member);
  std::ranges::copy(body, message.begin() + kMemberBytes);
  return message;
}

std::optional<SoundBody> parse_sound_body(std::span<const std::byte> body) {
  if (body.size() <= 1 + kClearBytes || std::to_integer<uint8_t>(body[0]) > kSilentLevel) {
    return std::nullopt;
  }
  return SoundBody{.level = std::to_integer<uint8_t>(body[0]),
                   .clear = body.subspan(1, kClearBytes),
                   .sealed = body.subspan(1 + kClearBytes)};
}

std::vector<std::byte> build_sound_body(const SoundBody& body) {
  check(body.level <= kSilentLevel && body.clear.size() == kClearBytes && !body.sealed.empty(),
        "build_sound_body: not a sound");
  std::vector<std::byte> bytes{static_cast<std::byte>(body.level)};
  bytes.reserve(1 + kClearBytes + body.sealed.size());
  bytes.insert(bytes.end(), body.clear.begin(), body.clear.end());
  bytes.insert(bytes.end(), body.sealed.begin(), body.sealed.end());
  return bytes;
}

}  // namespace cress::room
