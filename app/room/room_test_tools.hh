#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/room/room_member.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "relay/forward/room.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/sim/link.hh"

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

/// A link with constant rate `rate`, which divides 12 Mbit/s.
inline std::shared_ptr<const sim::DeliveryTrace> constant_link(DataRate rate) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  const Duration every = sim::kOpportunitySize / rate;
  for (Duration at = every; at <= 60s; at += every) {
    trace->opportunities.push_back({at});
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
};

/// A member with camera and voice, its two links to the relay, and all its outputs.
struct Seat {
  Seat(TimePoint now, const SeatOptions& options)
      : camera({.width = kTestWidth, .height = kTestHeight, .seed = options.seed}),
        voice({.seed = options.seed}),
        up({.trace = constant_link(options.up),
            .propagation = options.propagation,
            .loss = options.loss,
            .seed = 2 * options.seed,
            .queue = nullptr}),
        down({.trace = constant_link(options.down),
              .propagation = options.propagation,
              .loss = options.loss,
              .seed = 2 * options.seed + 1,
              .queue = nullptr}),
        joined(now),
        camera_seed(options.seed) {
    RoomMemberOptions member_options;
    member_options.video = room_video({.width = kTestWidth, .height = kTestHeight});
    member_options.media = test_media();
    member_options.person.name = options.name;
    member = std::make_unique<RoomMember>(now, std::move(member_options), test_control());
    next_picture = now + options.seed % 7 * 5ms;
    next_sound = now + options.seed % 5 * 4ms;
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
  TimePoint joined;
  uint64_t camera_seed;
  std::unique_ptr<RoomMember> member;
  MemberNumber number = kNobody;  // assigned by the relay, for its datagrams
  bool is_gone = false;
  bool sends = true;
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

/// A relay's room and its members in the simulated world, one thread and virtual time.
class TestRoom {
 public:
  explicit TestRoom(relay::RoomOptions options = {}) : room_(kTimeZero, std::move(options)) {}

  Seat& join(const SeatOptions& options) {
    seats_.push_back(std::make_unique<Seat>(now_, options));
    seats_.back()->number = room_.join(now_).value();
    return *seats_.back();
  }
  /// As when a person hangs up: a message to the relay, then the end of the session.
  void leave(Seat& seat) {
    seat.member->leave(now_);
    seat.is_gone = true;
    room_.leave(now_, seat.number, room::LeaveReason::kLeft);
    drain();
  }
  void run_until(TimePoint end) {
    while (next_event() <= end) {
      now_ = std::max(now_, next_event());
      step();
    }
    now_ = end;
  }
  TimePoint now() const { return now_; }
  relay::Room& room() { return room_; }

 private:
  TimePoint next_event() const {
    TimePoint next = room_.poll_timeout();
    for (const auto& seat : seats_) {
      next = std::min({next, seat->up.poll_timeout(), seat->down.poll_timeout()});
      if (!seat->is_gone) {
        next = std::min({next, seat->member->poll_timeout(), seat->next_picture, seat->next_sound});
      }
    }
    return next;
  }

  void step() {
    for (const auto& seat : seats_) {
      seat->up.handle_timeout(now_);
      while (const auto datagram = seat->up.poll_delivered(now_)) {
        room_.handle_datagram(now_, seat->number, datagram->bytes);
      }
      seat->down.handle_timeout(now_);
      while (const auto datagram = seat->down.poll_delivered(now_)) {
        if (!seat->is_gone) {
          (void)seat->member->handle_datagram(now_, datagram->bytes);
        }
      }
      if (!seat->is_gone) {
        act(*seat);
      }
    }
    if (room_.poll_timeout() <= now_) {
      room_.handle_timeout(now_);
    }
    drain();
  }

  void act(Seat& seat) {
    if (seat.member->poll_timeout() <= now_) {
      seat.member->handle_timeout(now_);
    }
    const bool is_in = seat.member->number() != kNobody && seat.sends;
    while (seat.next_picture <= now_) {
      seat.next_picture += seat.camera.frame_rate().time_of(1);
      if (is_in) {
        seat.member->capture(now_, seat.camera.picture(seat.captured++));
      }
    }
    while (seat.next_sound <= now_) {
      seat.next_sound += media::kAudioFrameLength;
      if (is_in) {
        seat.member->capture_sound(now_, seat.voice.frame(seat.heard++));
      }
    }
  }

  static void push(TimePoint now, sim::Link& link, std::vector<std::byte> bytes) {
    const DataSize size{static_cast<int64_t>(bytes.size())};
    link.push(now, {std::move(bytes), size + sim::kUdpIpOverhead});
  }

  void drain() {
    while (auto transmit = room_.poll_transmit(now_)) {
      for (const auto& seat : seats_) {
        if (seat->number == transmit->to && !seat->is_gone) {
          push(now_, seat->down, std::move(transmit->bytes));
        }
      }
    }
    while (room_.poll_departure()) {
    }
    for (const auto& seat : seats_) {
      if (seat->is_gone) {
        continue;
      }
      while (auto bytes = seat->member->poll_transmit(now_)) {
        push(now_, seat->up, *std::move(bytes));
      }
      while (auto frame = seat->member->poll_shown()) {
        seat->shown.push_back(*std::move(frame));
      }
      while (auto event = seat->member->poll_event()) {
        seat->events.push_back(*event);
      }
      while (auto coded = seat->member->poll_coded()) {
        seat->coded.push_back(*coded);
      }
      while (auto played = seat->member->poll_played()) {
        seat->played.push_back(*played);
      }
    }
  }

  relay::Room room_;
  std::vector<std::unique_ptr<Seat>> seats_;
  TimePoint now_ = kTimeZero;
};

}  // namespace cress::room
