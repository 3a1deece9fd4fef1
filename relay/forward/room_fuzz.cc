// Three members send anything: no check fails, the room's memory stays bounded, and everything it
// sends is a datagram. The input is a list of steps: member (2 bits), flow (2 bits), time step (4
// bits), a length, and that many bytes of a message.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "relay/forward/room.hh"
#include "transport/base/check.hh"
#include "transport/wire/datagram.hh"

namespace {

using namespace cress;

void drain(TimePoint now, relay::Room& room) {
  while (const auto out = room.poll_transmit(now)) {
    check(wire::parse_datagram(out->bytes).has_value(), "the room sent what is no datagram");
  }
  while (room.poll_departure()) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  relay::RoomOptions options;
  options.cache.bytes_max = DataSize{100'000};
  options.cache.frame_max = DataSize{50'000};
  options.leg_queue_max = DataSize{100'000};
  relay::Room room{kTimeZero, options};
  TimePoint now = kTimeZero;
  uint32_t sequence = 0;
  const auto say = [&](room::MemberNumber from, uint8_t flow, std::span<const std::byte> message) {
    wire::DatagramBuilder builder{DataSize{1400}};
    check(builder.add_message(flow, message), "too long");
    const DataSize payload = builder.payload();
    wire::Header header;
    header.sequence = wire::WireSeq::wrap(sequence);
    sequence += static_cast<uint32_t>(payload.bytes()) + 50;
    room.handle_datagram(now, from, builder.finish(header));
    drain(now, room);
  };
  for (int i = 0; i < 3; ++i) {
    (void)room.join(now);
    drain(now, room);
  }
  for (room::MemberNumber member = 1; member <= 3; ++member) {
    say(member, session::kControlFlow,
        room::build_room_message(room::Audience{.revision = 1, .members = {1, 2, 3}}));
  }
  std::span<const std::byte> rest = std::as_bytes(std::span{data, size});
  while (rest.size() >= 2) {
    const auto step = std::to_integer<unsigned>(rest[0]);
    const auto length = std::min(std::to_integer<size_t>(rest[1]) * 5, rest.size() - 2);
    now += (step >> 4U) * 5ms;
    const auto message = rest.subspan(2, length);
    rest = rest.subspan(2 + length);
    if (room.poll_timeout() <= now) {
      room.handle_timeout(now);
      drain(now, room);
    }
    say(static_cast<room::MemberNumber>(1 + (step & 3U)), static_cast<uint8_t>(step >> 2U & 3U),
        message);
    for (const relay::MemberView& view : room.member_views()) {
      check(view.cached <= options.cache.bytes_max, "a cache beyond its bound");
      check(view.waiting <= options.leg_queue_max + options.cache.frame_max * 9,
            "a queue beyond its bound");
    }
  }
  return 0;
}
