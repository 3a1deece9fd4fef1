#include "relay/members/hostile_datagram.hh"

#include "media/frame/fragment.hh"
#include "transport/room/media_head.hh"
#include "transport/room/room_message.hh"
#include "transport/session/endpoint.hh"
#include "transport/wire/datagram.hh"

namespace cress::relay {
namespace {

/// A message that a member must not send.
std::vector<std::byte> hostile_message(Rng& rng, uint32_t& frame_id, session::FlowId flow) {
  if (flow == session::kControlFlow) {
    switch (rng.below(5)) {
      case 0:
        return room::build_room_message(
            room::KeyFrameWanted{static_cast<room::MemberNumber>(1 + rng.below(12))});
      case 1:
        return room::build_room_message(
            room::Card{.revision = static_cast<uint32_t>(rng.next()),
                       .sealed = std::vector<std::byte>(room::kCardSizeMax)});
      case 2:
        return room::build_room_message(
            room::View{.revision = static_cast<uint32_t>(rng.next()),
                       .pinned = static_cast<room::MemberNumber>(rng.below(70)),
                       .pictures = static_cast<uint32_t>(rng.below(65)),
                       .height = 4320});
      case 3:
        return room::build_room_message(room::Welcome{.number = 1});
      default:
        break;
    }
  } else if (flow == session::kAudioFlow) {
    return std::vector<std::byte>(14 + rng.below(900));  // level 0: the loudest possible
  } else if (rng.chance(0.8)) {
    // Frames of all kinds with arbitrary references and sizes.
    frame_id += static_cast<uint32_t>(rng.chance(0.01) ? rng.below(2000) : rng.below(3));
    const bool key = rng.chance(0.3);
    const auto layer = static_cast<int>(key ? 0 : rng.below(3));
    const auto back = 1 + static_cast<uint32_t>(rng.below(40));
    const media::EncodedFrame frame{
        .id = frame_id,
        .reference_id = key ? frame_id : frame_id - back,
        .capture_time = TimePoint{Duration{static_cast<int64_t>(rng.next() >> 8U)}},
        .key_frame = key,
        .temporal_layer = layer,
        .anchor = layer == 0 && rng.chance(0.7),
        .data = std::vector<std::byte>(1 + rng.below(50'000))};
    const auto pieces = media::fragment(frame, DataSize{1100}, static_cast<int>(rng.below(3)));
    const auto member = static_cast<room::MemberNumber>(
        rng.next());  // a separate statement: arguments are evaluated in no particular order
    return room::build_member_message(member, pieces[rng.below(pieces.size())]);
  }
  std::vector<std::byte> noise(rng.below(1100));
  for (std::byte& b : noise) {
    b = static_cast<std::byte>(rng.next());
  }
  return noise;
}

}  // namespace

std::vector<std::byte> hostile_datagram(Rng& rng, uint32_t& frame_id, uint64_t& sequence) {
  wire::DatagramBuilder builder{DataSize{1200}};
  const auto flow = static_cast<session::FlowId>(rng.below(3));
  (void)builder.add_message(flow, hostile_message(rng, frame_id, flow));
  if (rng.chance(0.1)) {
    // It claims to have received everything, long ago.
    const uint64_t made = rng.next() >> 20U;
    (void)builder.add_forecast({.received_or_lost = rng.next() >> 8U,
                                .time_100us = made,
                                .counts = {1000, 1'000'000},
                                .arrivals = {{rng.next() >> 40U, made / 2}},
                                .decided_before = 0,
                                .lost_complete_from = 0,
                                .lost = {}});
  }
  const DataSize payload = builder.payload();
  wire::Header header;
  header.sequence = wire::WireSeq::wrap(sequence);
  auto datagram = builder.finish(header);
  sequence += static_cast<uint64_t>(payload.bytes() + 50);
  if (rng.chance(0.1) && payload > DataSize{}) {
    // Not in the header: a record could not carry it.
    const auto size = static_cast<uint64_t>(payload.bytes());
    datagram[datagram.size() - size + rng.below(size)] = static_cast<std::byte>(rng.next());
  }
  return datagram;
}

}  // namespace cress::relay
