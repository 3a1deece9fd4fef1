// A person who listens with a link, and a peer that has the link, proves it, and then sends
// whatever the input says, sealed as it should be: frames, sound, control messages, control
// records, datagrams. Whatever comes: no check fails and what is kept to be sent is bounded; and
// when the peer has fallen silent, an honest one that joins by the same link sees and hears the
// listener, and is seen and heard.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/call/control_message.hh"
#include "eval/swarm/fuzz_input_test_tools.hh"
#include "eval/swarm/insider_session_test_tools.hh"
#include "eval/swarm/insider_world_test_tools.hh"
#include "eval/swarm/person.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/frame/fragment.hh"
#include "media/playout/audio_message.hh"

namespace {

using namespace cress;
using namespace cress::swarm;

constexpr size_t kActsMax = 120;
constexpr int64_t kQueuedMax = 4'000'000;

void require(bool condition, const std::string& what) {
  if (!condition) {
    std::fprintf(stderr, "insider: %s\n", what.c_str());
    std::abort();
  }
}

std::vector<std::byte> secret() { return std::vector<std::byte>(16, std::byte{42}); }

/// Two frames, the second of which needs the first.
const std::vector<std::vector<std::byte>>& pictures() {
  static const std::vector<std::vector<std::byte>> frames = [] {
    media::Picture picture = media::make_picture(Person::kWidth, Person::kHeight);
    media::Vp8Encoder encoder{{.width = Person::kWidth, .height = Person::kHeight}};
    std::vector<std::vector<std::byte>> encoded{encoder.encode(picture, {.key_frame = true}).data};
    std::ranges::fill(picture.data, uint8_t{200});
    encoded.push_back(encoder.encode(picture).data);
    return encoded;
  }();
  return frames;
}

class HostilePeer : public InsiderSession {
 public:
  using InsiderSession::InsiderSession;

  void act(TimePoint now, FuzzInput& input) {
    switch (input.below(10)) {
      case 0:
      case 1:
      case 2:
        send_frame(now, input);
        break;
      case 3:
      case 4:
        send_sound(now, input);
        break;
      case 5:
      case 6:
        send(now, session::kControlFlow, app::encode(any_message(input)));
        break;
      case 7:
        send(now, static_cast<session::FlowId>(input.below(3)), input.bytes(1100));
        break;
      case 8:
        send_control_record(now, input);
        break;
      default:
        send_datagram(now, input);
    }
  }

 private:
  static app::ControlMessage any_message(FuzzInput& input) {
    switch (input.below(4)) {
      case 0:
        return app::KeyFrameRequest{};
      case 1:
        return app::FrameReport{
            .newest = static_cast<uint32_t>(input.number(input.one_in(2) ? 1 : 4)),
            .before = static_cast<uint32_t>(input.number(4))};
      case 2:
        return app::PersonState{.name = "Mal",
                                .muted = input.one_in(2),
                                .camera_off = input.one_in(2),
                                .shares_screen = input.one_in(2)};
      default:
        return app::LinkReport{
            .forecast = DataRate::kilobits_per_second(static_cast<int64_t>(input.number(2))),
            .loss = static_cast<double>(input.below(1001)) / 1000};
    }
  }

  void send_frame(TimePoint now, FuzzInput& input) {
    next_frame_ += static_cast<uint32_t>(input.one_in(32) ? input.number(2) : input.below(3));
    media::EncodedFrame frame{.id = next_frame_++, .capture_time = now};
    frame.key_frame = frame.id == 0 || input.one_in(3);
    frame.reference_id = frame.key_frame
                             ? frame.id
                             : frame.id - 1 -
                                   static_cast<uint32_t>(input.below(
                                       input.one_in(2) ? 1 : std::min<size_t>(frame.id, 40)));
    if (input.one_in(4)) {
      frame.capture_time = now + std::chrono::milliseconds{input.number(3)} - 2h;
    }
    frame.data = pictures()[frame.key_frame ? 0 : 1];
    for (size_t changes = input.below(6); changes > 0; --changes) {
      // Width and height are in the first ten bytes (RFC 6386 §9.1).
      frame.data[input.below(input.one_in(2) ? 10 : frame.data.size())] =
          static_cast<std::byte>(input.number(1));
    }
    const auto parity = static_cast<int>(input.below(3));
    for (auto& message : media::fragment(frame, DataSize{900}, parity)) {
      if (!input.one_in(16)) {
        send(now, session::kVideoFlow, std::move(message));
      }
    }
  }

  void send_sound(TimePoint now, FuzzInput& input) {
    media::SoundMessage sound{.sequence = sounds_, .captured = now, .payload = input.bytes(200)};
    // Opus: one frame of 20 ms (RFC 6716 §3.1), with any contents.
    sound.payload.insert(sound.payload.begin(), std::byte{0x98});
    sounds_ += static_cast<uint32_t>(input.one_in(16) ? input.number(2) : 1);
    sounds_ &= media::kSoundSequenceMask;
    auto message = media::format_sound(sound);
    if (input.one_in(4)) {
      message[input.below(message.size())] ^= static_cast<std::byte>(input.number(1));
    }
    send(now, session::kAudioFlow, std::move(message));
  }

  uint32_t next_frame_ = 0;
  uint32_t sounds_ = 0;
};

class HostileCall {
 public:
  HostileCall() {
    world_.connect_all(*link_);
    (void)world_.add(ada_, {.address = insider_address(0)});
    (void)world_.add(peer_, {.address = insider_address(1)});
    run(300ms);
    require(peer_.is_in(), "the peer could not join");
  }

  void act(FuzzInput& input) {
    peer_.act(world_.now(), input);
    world_.drain(1);
  }
  void run(Duration length) {
    world_.run_for(length);
    for (const Person* person : {&ada_, bo_.get()}) {
      const auto* endpoint = person != nullptr ? person->endpoint() : nullptr;
      require(endpoint == nullptr || endpoint->queued() <= DataSize{kQueuedMax}, "a long queue");
      require(person == nullptr || person->broken().empty(), "a picture of nobody's camera");
    }
  }

  /// The peer is silent from now on; another one joins.
  void check_settled() {
    world_.replace(1, nullptr);
    run(2500ms);
    live::SecureCallOptions options;
    options.connection = {
        .role = secure::Role::kJoiner, .secret = secret(), .listener = insider_address(0)};
    bo_ = std::make_unique<Person>(world_.now(), "Bo", std::move(options), 1, films().at(1));
    bo_->expect_camera("", ada_);
    ada_.expect_camera("", *bo_);
    world_.drain(world_.add(*bo_, {.address = insider_address(2)}));
    run(1500ms);
    const auto ada_saw = frames(ada_);
    const auto ada_heard = ada_.speech_played();
    run(1700ms);  // a voice pauses for up to 1.4 s
    require(frames(*bo_) > 0 && bo_->speech_played() > 5, "the next peer does not see and hear");
    require(frames(ada_) > ada_saw && ada_.speech_played() > ada_heard + 5,
            "the next peer is not seen and heard");
  }

 private:
  static live::SecureCallOptions listening() {
    live::SecureCallOptions options;
    options.connection = {.role = secure::Role::kListener, .secret = secret()};
    return options;
  }
  /// Drawn once: they are the same for each input.
  static std::vector<std::shared_ptr<Film>>& films() {
    static std::vector<std::shared_ptr<Film>> films{std::make_shared<Film>(0),
                                                    std::make_shared<Film>(1)};
    return films;
  }
  static uint64_t frames(const Person& person) {
    const auto sight = person.sights().find("");
    return sight == person.sights().end() ? 0 : sight->second.frames;
  }

  sim::World world_;
  std::unique_ptr<sim::Link> link_ = wide_link();
  Person ada_{kTimeZero, "Ada", listening(), 0, films().at(0)};
  HostilePeer peer_{kTimeZero, secret(), insider_address(0)};
  std::unique_ptr<Person> bo_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input{std::as_bytes(std::span{data, size})};
  HostileCall call;
  for (size_t i = 0; i < kActsMax; ++i) {
    call.act(input);
    if (!input.one_in(3)) {
      call.run(std::chrono::milliseconds{input.below(48)});
    }
  }
  call.check_settled();
  return 0;
}
