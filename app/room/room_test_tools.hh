#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/call/call_test_tools.hh"
#include "app/room/room_member.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "relay/forward/room_host_test_tools.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/sim/world.hh"

namespace cress::room {

inline constexpr int kTestWidth = 112;
inline constexpr int kTestHeight = 80;

inline secure::Secret test_media() {
  secure::Secret media;
  std::ranges::fill(media.bytes(), std::byte{42});
  return media;
}

inline std::unique_ptr<control::Control> test_control() {
  return std::make_unique<control::CressControl>(control::call_control());
}

/// A link with constant rate `rate`, which divides 12 Mbit/s; silent for `outage` of every 12 s.
inline std::shared_ptr<const sim::DeliveryTrace> constant_link(DataRate rate,
                                                               Duration outage = {}) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  const Duration every = sim::kOpportunitySize / rate;
  for (Duration at = every; at <= 60s; at += every) {
    if (at % 12s >= outage) {
      trace->opportunities.push_back({at});
    }
  }
  return trace;
}

struct SeatOptions {
  std::string name{};
  DataRate up = DataRate::kilobits_per_second(12'000);
  DataRate down = DataRate::kilobits_per_second(12'000);
  double loss = 0;
  uint64_t seed = 1;
  Duration propagation = 20ms;
  Duration outage{};  // see constant_link
  secure::SigningKey identity{};
  /// The time that each frame takes in another thread; nullopt: decoded at once.
  std::optional<Duration> decoding{};
};

inline sim::LinkOptions link_of(const SeatOptions& options, DataRate rate, uint64_t seed) {
  return {.trace = constant_link(rate, options.outage),
          .propagation = options.propagation,
          .loss = options.loss,
          .seed = seed,
          .queue = nullptr};
}

/// A member with camera and voice, its two links to the relay, and all that came out of it.
struct Seat final : Machine {
  Seat(TimePoint now, const SeatOptions& options)
      : camera({.width = kTestWidth, .height = kTestHeight, .seed = options.seed}),
        voice({.seed = options.seed}),
        up(link_of(options, options.up, 2 * options.seed)),
        down(link_of(options, options.down, 2 * options.seed + 1)),
        decoder(options.decoding.value_or(0ms)),
        joined(now),
        camera_seed(options.seed) {
    RoomMemberOptions member_options;
    member_options.video = room_video({.width = kTestWidth, .height = kTestHeight});
    member_options.media = test_media();
    member_options.person.name = options.name;
    member_options.identity = options.identity;
    member_options.hands_out_decoding = options.decoding.has_value();
    member = std::make_unique<RoomMember>(now, std::move(member_options), test_control());
    next_picture = now + options.seed % 7 * 5ms;
    next_sound = now + options.seed % 5 * 4ms;
  }

  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> bytes) override {
    (void)member->handle_datagram(now, bytes);
    decoder.take(now, *member);
  }
  void handle_timeout(TimePoint now) override {
    if (member->poll_timeout() <= now) {
      member->handle_timeout(now);
    }
    decoder.handle_timeout(now, *member);
    const bool is_in = member->number() != kNobody && sends;
    for (; next_picture <= now; next_picture += camera.frame_rate().time_of(1)) {
      if (is_in) {
        member->capture(now, camera.picture(captured++));
      }
    }
    for (; next_sound <= now; next_sound += media::kAudioFrameLength) {
      if (is_in) {
        member->capture_sound(now, voice.frame(heard++));
      }
    }
    decoder.take(now, *member);
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto bytes = member->poll_transmit(now);
    if (bytes && relay_sees != nullptr) {
      relay_sees->append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    }
    return bytes ? std::optional{Transmit{relay::room_address(0), *std::move(bytes)}}
                 : std::nullopt;
  }
  TimePoint poll_timeout() const override {
    return std::min({member->poll_timeout(), next_picture, next_sound, decoder.poll_timeout()});
  }
  bool drained(TimePoint /*now*/) override {
    while (auto frame = member->poll_shown()) {
      shown.push_back(*std::move(frame));
    }
    while (auto event = member->poll_event()) {
      events.push_back(*event);
    }
    while (auto frame = member->poll_coded()) {
      coded.push_back(*frame);
    }
    while (auto sound = member->poll_played()) {
      played.push_back(*sound);
    }
    return true;
  }

  std::vector<const RoomShown*> shown_of(MemberNumber other, TimePoint from = kTimeZero) const {
    std::vector<const RoomShown*> frames;
    for (const RoomShown& frame : shown) {
      if (frame.member == other && frame.frame.shown >= from) {
        frames.push_back(&frame);
      }
    }
    return frames;
  }
  bool has(RoomEvent::Kind kind, MemberNumber about) const {
    return std::ranges::any_of(
        events, [&](const RoomEvent& e) { return e.kind == kind && e.member == about; });
  }
  const OtherMember* other(const std::string& name) {
    others = member->others();
    const auto at = std::ranges::find(others, name, [](const auto& o) { return o.person.name; });
    return at == others.end() ? nullptr : &*at;
  }

  media::SyntheticCamera camera;
  media::SyntheticVoice voice;
  sim::Link up;
  sim::Link down;
  app::SlowDecoder decoder;
  TimePoint joined;
  uint64_t camera_seed;
  std::unique_ptr<RoomMember> member;
  MemberNumber number = kNobody;  // the relay's, for its datagrams
  sim::World::HostId id = 0;
  bool is_gone = false;
  bool sends = true;
  std::string* relay_sees = nullptr;  // all that goes to the relay, as the relay opens it
  TimePoint next_picture;
  TimePoint next_sound;
  uint64_t captured = 0;
  uint64_t heard = 0;
  std::vector<RoomShown> shown;
  std::vector<RoomEvent> events;
  std::vector<app::CodedVideo> coded;
  std::vector<app::PlayedAudio> played;
  std::vector<OtherMember> others;
};

/// A relay's room and its members in the simulated world.
class SimulatedRoom {
 public:
  explicit SimulatedRoom(relay::RoomOptions options = {}) : host_(std::move(options)) {
    world_.add(host_, {.address = relay::room_address(0)});
  }

  Seat& join(const SeatOptions& options) {
    seats_.push_back(std::make_unique<Seat>(now(), options));
    Seat& seat = *seats_.back();
    const Address address = relay::room_address(seats_.size());
    seat.number = host_.join(now(), address);
    seat.id = world_.add(seat, {.address = address});
    world_.connect(seat.id, kRoom, seat.up);
    world_.connect(kRoom, seat.id, seat.down);
    return seat;
  }
  /// As when a person hangs up: a message to the relay, then the end of the session.
  void leave(Seat& seat) {
    seat.member->leave(now());
    crash(seat);
    host_.room.leave(now(), seat.number, room::LeaveReason::kLeft);
    world_.drain(kRoom);
  }
  /// Its program ends without a word.
  void crash(Seat& seat) {
    seat.is_gone = true;
    world_.replace(seat.id, nullptr);
  }
  void run_until(TimePoint end) {
    world_.drain(kRoom);
    for (const auto& seat : seats_) {
      world_.drain(seat->id);
    }
    world_.run_until(end);
  }
  TimePoint now() const { return world_.now(); }
  relay::Room& room() { return host_.room; }

 private:
  static constexpr sim::World::HostId kRoom = 0;

  relay::RoomHost host_;
  std::vector<std::unique_ptr<Seat>> seats_;
  sim::World world_;
};

}  // namespace cress::room
