#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "media/frame/fragment.hh"
#include "relay/forward/room_host_test_tools.hh"
#include "relay/members/model_member.hh"
#include "transport/room/media_head.hh"
#include "transport/sim/world.hh"
#include "transport/wire/datagram.hh"

namespace cress::relay {

/// So many bits a second, in opportunities of 1500 bytes.
inline std::shared_ptr<const sim::DeliveryTrace> constant_trace(DataRate rate) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (int64_t i = 1; i * sim::kOpportunitySize.bits() <= 20 * rate.bits_per_second(); ++i) {
    trace->opportunities.push_back({i * (sim::kOpportunitySize / rate)});
  }
  return trace;
}

struct LegLinks {
  std::shared_ptr<const sim::DeliveryTrace> down;
  std::shared_ptr<const sim::DeliveryTrace> up;
  double loss = 0;
};

/// Looks at every fragment that a room sends: did all of the frame that it refers to go to the same
/// leg before?
class ReferenceWatch {
 public:
  void handle_sent(const LegTransmit& out) {
    const auto datagram = wire::parse_datagram(out.bytes);
    for (const wire::MessageView& message : datagram->messages) {
      if (message.flow == session::kVideoFlow) {
        const auto from = room::parse_member_message(message.bytes);
        handle_fragment(sent_[{out.to, from->member}], media::parse_fragment(from->body)->header);
      }
    }
  }
  /// Frames whose reference had not gone.
  uint64_t without_reference() const { return without_reference_; }

 private:
  struct SentFrame {
    size_t count = 0;
    std::set<uint16_t> parts;
  };
  void handle_fragment(std::map<uint32_t, SentFrame>& frames, const media::FragmentHeader& header) {
    SentFrame& frame = frames[header.frame_id];
    if (frame.parts.empty() && !header.key_frame) {
      const auto reference = frames.find(header.frame_id - header.reference_distance);
      const bool is_whole =
          reference != frames.end() && reference->second.parts.size() >= reference->second.count;
      without_reference_ += is_whole ? 0 : 1;
    }
    frame.count = header.count;
    if (!header.is_parity()) {
      frame.parts.insert(header.index);
    }
  }

  std::map<std::pair<room::MemberNumber, room::MemberNumber>, std::map<uint32_t, SentFrame>> sent_;
  uint64_t without_reference_ = 0;
};

/// A Room and members without codecs in the simulated world, each with a link up and one down.
class SimulatedRoom {
 public:
  explicit SimulatedRoom(RoomOptions options = {}) : host_(std::move(options)) {
    world_.add(host_, {.address = room_address(0)});
    host_.on_sent = [this](const LegTransmit& out) {
      for (const std::byte b : out.bytes) {
        digest_ = (digest_ ^ std::to_integer<uint64_t>(b)) * 0x100000001b3U;
      }
      if (watches_) {
        references_.handle_sent(out);
      }
    };
  }

  /// Joins now. Returns the member's place here.
  size_t join(const LegLinks& links, ModelMemberOptions options = {}) {
    const size_t at = seats_.size();
    const uint64_t seed = 100 * (1 + at);
    const auto link = [&](const auto& trace, uint64_t which) {
      return sim::LinkOptions{
          .trace = trace, .loss = links.loss, .seed = seed + which, .queue = {}};
    };
    const Address address = room_address(at + 1);
    const room::MemberNumber number = host_.join(now(), address);
    seats_.push_back(std::make_unique<Seat>(number, ModelMember{now(), options, seed},
                                            link(links.up, 1), link(links.down, 2)));
    Seat& seat = *seats_.back();
    const sim::World::HostId id = world_.add(seat, {.address = address});
    world_.connect(id, kRoom, seat.up);
    world_.connect(kRoom, id, seat.down);
    drain_room();
    return at;
  }
  void leave(size_t at, room::LeaveReason reason = room::LeaveReason::kLeft) {
    host_.room.leave(now(), number(at), reason);
    forget(at);
    drain_room();
  }
  /// The member stops here and says nothing.
  void forget(size_t at) { world_.replace(at + 1, nullptr); }
  /// After a request to the room itself.
  void drain_room() { world_.drain(kRoom); }
  void run_until(TimePoint end) { world_.run_until(end); }
  /// Something of the member's link, in addition to what it says itself.
  void push_up(size_t at, std::vector<std::byte> datagram) {
    up(at).push(now(), sim::datagram_of({.to = room_address(0), .bytes = std::move(datagram)},
                                        room_address(at + 1)));
  }
  /// From now on; before the first frame is sent.
  void watch_references() { watches_ = true; }
  uint64_t sent_without_reference() const { return references_.without_reference(); }
  /// Of all datagrams that the room sent, in order (FNV-1a).
  uint64_t digest() const { return digest_; }

  TimePoint now() const { return world_.now(); }
  Room& room() { return host_.room; }
  RoomHost& host() { return host_; }
  /// Takes the room's place in the world, and passes on to host().
  void replace_host(Machine& machine) { world_.replace(kRoom, &machine); }
  ModelMember& member(size_t at) { return seats_.at(at)->member; }
  room::MemberNumber number(size_t at) const { return seats_.at(at)->number; }
  bool is_lossy(size_t at) const { return seats_.at(at)->down.options().loss > 0; }
  sim::Link& up(size_t at) { return seats_.at(at)->up; }
  const std::vector<Departure>& departures() const { return host_.departures; }

 private:
  static constexpr sim::World::HostId kRoom = 0;

  struct Seat final : Machine {
    Seat(room::MemberNumber given, ModelMember who, sim::LinkOptions to_room,
         sim::LinkOptions from_room)
        : number(given),
          member(std::move(who)),
          up(std::move(to_room)),
          down(std::move(from_room)) {}
    void handle_datagram(TimePoint now, const Address& /*from*/,
                         std::span<const std::byte> bytes) override {
      member.handle_datagram(now, bytes);
    }
    void handle_timeout(TimePoint now) override { member.handle_timeout(now); }
    std::optional<Transmit> poll_transmit(TimePoint now) override {
      auto bytes = member.poll_transmit(now);
      return bytes ? std::optional{Transmit{room_address(0), *std::move(bytes)}} : std::nullopt;
    }
    TimePoint poll_timeout() const override { return member.poll_timeout(); }

    room::MemberNumber number;
    ModelMember member;
    sim::Link up;
    sim::Link down;
  };

  RoomHost host_;
  std::vector<std::unique_ptr<Seat>> seats_;
  sim::World world_;
  bool watches_ = false;
  ReferenceWatch references_;
  uint64_t digest_ = 0xcbf29ce484222325U;
};

}  // namespace cress::relay
