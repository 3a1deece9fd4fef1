// Any bytes give a room message or an error; a parsed message is within its bounds, and can be
// built and parsed again to the same. Also parses the same bytes as media headers.

#include <cstdint>
#include <span>

#include "transport/base/check.hh"
#include "transport/room/media_head.hh"
#include "transport/room/room_message.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;
  using namespace cress::room;
  const auto bytes = std::as_bytes(std::span{data, size});
  if (const auto parsed = parse_room_message(bytes)) {
    const auto built = build_room_message(*parsed);
    check(built.size() <= 1100, "a room message grew");
    check(parse_room_message(built) == parsed, "a room message changed on its way");
  }
  if (const auto message = parse_member_message(bytes)) {
    const auto built = build_member_message(message->member, message->body);
    check(std::equal(built.begin(), built.end(), bytes.begin(), bytes.end()), "a head changed");
    if (const auto sound = parse_sound_body(message->body)) {
      const auto body = build_sound_body(*sound);
      check(std::equal(body.begin(), body.end(), message->body.begin(), message->body.end()),
            "a sound changed");
    }
  }
  return 0;
}
