// Whatever a relay does with cards and frames, including modified real ones, and whenever it
// reports that a member left: no check fails, no frame opens as another member's or twice, and a
// real card exchange afterwards lets all members open each other's frames. Input: a sequence of (1
// byte: action, 1 byte: member, 1 byte: which of the real bytes is changed, or 255 for none of
// them, 1 byte: length, that many bytes).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "transport/secure/group/room_keys.hh"
#include "transport/secure/handshake/credential.hh"

namespace {

using namespace cress;
using namespace cress::secure;

constexpr int kInputsMax = 64;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

struct Room {
  std::vector<std::unique_ptr<RoomKeys>> members;  // 1, 2, 3
  TimePoint now = kTimeZero;

  Room() {
    const Secret media = derive_room(std::as_bytes(std::span{"sixteen bytes and more"})).media;
    for (uint16_t number = 1; number <= 3; ++number) {
      members.push_back(std::make_unique<RoomKeys>(media, number));
    }
  }
  void exchange(RoomKeys& a, RoomKeys& b) {
    for (int round = 0; round < 2; ++round) {
      [[maybe_unused]] const auto one = a.handle_card(b.member(), b.make_card({}));
      [[maybe_unused]] const auto two = b.handle_card(a.member(), a.make_card({}));
    }
    exchange_shares();
  }
  /// The relay reports all leaves to all in the end.
  void exchange_leaves() {
    for (const auto& keys : members) {
      while (keys->epoch() < members[0]->epoch()) {
        keys->handle_left(now, 500, members[0]->epoch());
      }
    }
  }
  void exchange_shares() {
    for (const auto& from : members) {
      while (const auto share = from->poll_share()) {
        (void)members.at(share->to - 1U)->handle_share(now, from->member(), share->bytes);
      }
    }
  }
  void require_heard(RoomKeys& from, RoomKeys& at) {
    exchange_shares();
    const auto frame = from.seal(now, MediaKind::kAudio, {}, {});
    require(at.open(now, from.member(), MediaKind::kAudio, {}, frame).has_value());
    require(!at.open(now, from.member(), MediaKind::kAudio, {}, frame));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Room room;
  RoomKeys& victim = *room.members[0];
  RoomKeys& friendly = *room.members[1];
  RoomKeys& third = *room.members[2];
  room.exchange(victim, friendly);
  room.require_heard(friendly, victim);
  int inputs = 0;
  for (std::span rest{data, size}; rest.size() >= 4 && inputs < kInputsMax; ++inputs) {
    const uint8_t what = rest[0];
    const auto member = static_cast<uint16_t>(rest[1] % 5);
    const size_t length = std::min<size_t>(rest[3], rest.size() - 4);
    const auto given = std::as_bytes(rest.subspan(4, length));
    std::vector<std::byte> bytes{given.begin(), given.end()};
    const bool is_card = what % 4 < 2;
    RoomKeys& source = rest[1] % 2 == 0 ? friendly : third;
    if (rest[2] != 255) {
      bytes = is_card ? source.make_card(given.first(std::min(given.size(), kCardBodyMax)))
                      : source.seal(room.now, MediaKind::kAudio, {}, given);
      bytes[rest[2] % bytes.size()] ^= std::byte{1};
    }
    room.now += std::chrono::milliseconds{what};
    rest = rest.subspan(4 + length);
    if (is_card) {
      // A flipped bit is a forgery; so is arbitrary input.
      require(!victim.handle_card(member, bytes));
    } else if (what % 4 == 2) {
      require(!victim.open_chat(room.now, member, bytes));
      require(!victim.open(room.now, member, MediaKind::kAudio, {}, bytes));
    } else if (member != friendly.member()) {
      victim.handle_left(room.now, member, room.members[0]->epoch() + 1);
    }
  }
  room.exchange_leaves();
  room.require_heard(friendly, victim);
  room.exchange(victim, third);
  room.require_heard(third, victim);
  room.require_heard(victim, friendly);
  return 0;
}
