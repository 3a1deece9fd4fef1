#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "app/call/control_message.hh"
#include "app/room/room_member.hh"
#include "media/frame/fragment.hh"
#include "transport/base/check.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/room/media_head.hh"

namespace cress::room {
namespace {

constexpr size_t kSteps = 300;

/// The input, byte by byte; zeros after its end.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  uint32_t next(size_t bytes = 1) {
    uint32_t value = 0;
    for (; bytes > 0; --bytes) {
      value = value << 8U | (rest_.empty() ? 0 : std::to_integer<uint32_t>(rest_.front()));
      rest_ = rest_.subspan(rest_.empty() ? 0 : 1);
    }
    return value;
  }
  std::vector<std::byte> take(size_t most) {
    const auto taken = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return {taken.begin(), taken.end()};
  }

 private:
  std::span<const std::byte> rest_;
};

std::unique_ptr<control::Control> test_control() {
  return std::make_unique<control::CressControl>(control::call_control());
}

/// A relay that sends what the input says, with the help of a member that has the room's link.
class HostileRelay {
 public:
  HostileRelay() : endpoint_(kTimeZero, {}, test_control()), helper_({}, 2) {
    app::open_call_flows(endpoint_);
  }

  void say(TimePoint now, Input& input) {
    const auto number = static_cast<MemberNumber>(input.next() % 5);
    switch (input.next() % 13) {
      case 0:
        send(now, session::kControlFlow, input.take(input.next() % 64));
        break;
      case 1:
        send(now, session::kAudioFlow, input.take(input.next() % 128));
        break;
      case 2:
        send(now, session::kVideoFlow, input.take(input.next()));
        break;
      case 3:
        notify(now, room::Welcome{.number = number, .members_max = input.next(4)});
        break;
      case 4:
        notify(now, room::MemberNews{number, {input.next(), input.take(input.next())}});
        break;
      case 5:
        notify(now,
               room::MemberNews{number, {1, helper_.make_card(input.take(input.next() % 80))}});
        break;
      case 6:
        notify(now, room::MemberLeft{number});
        break;
      case 7:
        notify(now, room::SpeakerNews{input.next(), number});
        notify(now, room::VideoRate{input.next(),
                                    DataRate::kilobits_per_second(int64_t{input.next(2)})});
        break;
      case 8:
        send_sound(now, number, input);
        break;
      case 9:
        notify(now, room::MemberShare{number, input.take(input.next() % 64)});
        notify(now, room::MemberProof{number, {.bytes = input.take(input.next())}});
        break;
      case 10:
        send_frame(now, number, input);
        break;
      case 11:
        notify(now, room::MemberChat{number, {.line = input.take(input.next())}});
        notify(now, room::MemberChat{helper_.member(),
                                     {.line = helper_.seal_chat(now, input.take(input.next()))}});
        break;
      default:
        if (input.next() == 0) {
          notify(now, room::Farewell{.again_in = input.next() * 1ms});
        }
    }
  }

  void exchange(TimePoint now, RoomMember& member) {
    while (const auto share = helper_.poll_share()) {
      notify(now, room::MemberShare{helper_.member(), share->bytes});
    }
    if (const auto proof = helper_.poll_proof(now)) {
      notify(now, room::MemberProof{helper_.member(), {.bytes = proof->bytes}});
    }
    while (const auto bytes = endpoint_.poll_transmit(now)) {
      (void)member.handle_datagram(now, *bytes);
    }
    while (const auto bytes = member.poll_transmit(now)) {
      (void)endpoint_.handle_datagram(now, *bytes);
    }
    while (const auto message = endpoint_.poll_message()) {
      const auto parsed = room::parse_room_message(message->bytes);
      if (const auto* shares = parsed ? std::get_if<room::Shares>(&*parsed) : nullptr) {
        for (const room::Share& share : shares->shares) {
          (void)helper_.handle_share(now, member.number(), share.bytes);
        }
      }
      if (const auto* card = parsed ? std::get_if<room::Card>(&*parsed) : nullptr) {
        (void)helper_.handle_card(member.number(), card->sealed);
      }
    }
  }

 private:
  void send(TimePoint now, session::FlowId flow, std::vector<std::byte> bytes) {
    bytes.resize(std::min(bytes.size(), static_cast<size_t>(endpoint_.message_max().bytes())));
    endpoint_.send(now, flow, std::move(bytes), session::Leave::kNow);
  }
  void notify(TimePoint now, const room::RoomMessage& message) {
    send(now, session::kControlFlow, room::build_room_message(message));
  }
  void send_sound(TimePoint now, MemberNumber number, Input& input) {
    std::vector<std::byte> head{static_cast<std::byte>(input.next() % 128)};
    const auto clear = input.take(10);
    head.insert(head.end(), clear.begin(), clear.end());
    head.resize(11);
    const auto sealed =
        helper_.seal(now, secure::MediaKind::kAudio, head, input.take(input.next() % 100));
    send(now, session::kAudioFlow,
         room::build_member_message(
             number, room::build_sound_body({.level = std::to_integer<uint8_t>(head.front()),
                                             .clear = std::span{head}.subspan(1),
                                             .sealed = sealed})));
  }
  void send_frame(TimePoint now, MemberNumber number, Input& input) {
    media::EncodedFrame frame{.id = input.next(2)};
    const uint32_t flags = input.next();
    frame.key_frame = (flags & 1U) != 0 || frame.id == 0;
    frame.anchor = (flags & 2U) != 0;
    frame.temporal_layer = frame.key_frame || frame.anchor ? 0 : static_cast<int>(flags / 4 % 3);
    frame.reference_id = frame.key_frame ? frame.id : frame.id - 1 - input.next() % frame.id;
    frame.data = input.take(1 + input.next());
    frame.data = helper_.seal(now, secure::MediaKind::kVideo, frame_metadata(frame), frame.data);
    frame.capture_time = now - (flags >= 128 ? 1ms : 0ms);  // half of them modified in transit
    for (const auto& message : media::fragment(frame, DataSize{900})) {
      send(now, session::kVideoFlow, room::build_member_message(number, message));
    }
  }

  session::Endpoint endpoint_;
  secure::RoomKeys helper_;
};

}  // namespace
}  // namespace cress::room

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;
  using namespace cress::room;
  Input input{std::as_bytes(std::span{data, size})};
  HostileRelay relay;
  RoomMemberOptions options;
  options.person.name = "Mo";
  RoomMember member{kTimeZero, options, test_control()};
  TimePoint now = kTimeZero;
  for (size_t i = 0; i < kSteps && !input.empty(); ++i) {
    relay.say(now, input);
    relay.exchange(now, member);
    now += input.next() * 1ms;
    member.handle_timeout(now);
    if (i % 8 == 0) {
      member.capture_sound(now, media::AudioFrame{});
    }
    while (member.poll_event() || member.poll_shown() || member.poll_played() ||
           member.poll_coded()) {
    }
    check(member.others().size() <= RoomMember::kOthersMax, "fuzz: too many");
  }
  return 0;
}
