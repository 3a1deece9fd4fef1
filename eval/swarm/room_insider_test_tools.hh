#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "app/call/control_message.hh"
#include "app/room/room_seal.hh"
#include "eval/swarm/fuzz_input_test_tools.hh"
#include "eval/swarm/insider_keys_test_tools.hh"
#include "eval/swarm/insider_session_test_tools.hh"
#include "eval/swarm/person.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/frame/fragment.hh"
#include "media/playout/audio_message.hh"
#include "transport/room/media_head.hh"
#include "transport/room/room_message.hh"
#include "transport/secure/handshake/credential.hh"

namespace cress::swarm {

/// A member of a room that is identified and heard like any other, and then does whatever the input
/// says. All that it seals opens; what it contains may be anything. Threads: none inside; one
/// owner.
class RoomInsider : public InsiderSession {
 public:
  /// `replaces`: a presence of its own, which it ends when it is in.
  RoomInsider(TimePoint now, const secure::RoomSecrets& secrets, const Address& relay,
              std::optional<room::Replacing> replaces = {})
      : InsiderSession(now, secure::room_credential(secrets.access), relay),
        keys_(secrets.media),
        replaces_(replaces) {
    on_message([this](TimePoint at, const session::MessageReceived& message) {
      if (message.flow == session::kControlFlow) {
        handle_room_message(at, message.bytes);
      }
    });
  }

  room::MemberNumber number() const { return number_; }
  /// What ends this presence.
  room::Replacing presence() const { return {number_, token_}; }

  /// What an honest member does: it greets all others, and they get its secret.
  void introduce(TimePoint now) {
    send_card(now, own_card());
    for (const auto& [other, known] : keys_.others()) {
      send_share(now, {other, keys_.share(other, epoch_, ++share_counter_)});
    }
    room::Audience audience{.revision = ++revision_};
    for (const auto& [other, known] : keys_.others()) {
      audience.members.push_back(other);
    }
    notify(now, audience);
  }
  void send_picture(TimePoint now) {
    send_frame(now,
               {.id = next_frame_++, .capture_time = now, .key_frame = true, .data = picture()},
               {epoch_, counter_++, number_});
  }

  void act(TimePoint now, FuzzInput& input) {
    switch (input.below(16)) {
      case 0:
        introduce(now);
        break;
      case 1:
      case 2:
      case 3:
      case 4:
        send_card(now, any_card(input));
        break;
      case 5:
      case 6:
        send_share(now, any_share(input));
        break;
      case 7:
        send_proof(now, input);
        break;
      case 8:
        send_sound(now, input);
        break;
      case 9:
        send_picture(now);
        break;
      case 10:
        send_any_frame(now, input);
        break;
      case 11:
      case 12:
        notify(now, any_message(input));
        break;
      case 13:
        send(now, static_cast<session::FlowId>(input.below(3)), input.bytes(1100));
        break;
      case 14:
        send_control_record(now, input);
        break;
      default:
        send_datagram(now, input);
    }
  }

 private:
  struct Sealing {
    uint32_t epoch = 0;
    uint64_t counter = 0;
    room::MemberNumber from = room::kNobody;
  };
  struct Sealed {
    secure::MediaKind kind;
    uint64_t counter;
    secure::FrameHash hash;
  };
  static constexpr size_t kSealedMax = 128;

  void notify(TimePoint now, const room::RoomMessage& message) {
    send(now, session::kControlFlow, room::build_room_message(message));
  }

  void handle_room_message(TimePoint now, std::span<const std::byte> bytes) {
    const auto message = room::parse_room_message(bytes);
    if (!message) {
      return;
    }
    if (const auto* welcome = std::get_if<room::Welcome>(&*message)) {
      number_ = welcome->number;
      token_ = welcome->token;
      epoch_ = welcome->epoch;
      if (replaces_) {
        notify(now, *std::exchange(replaces_, {}));
      }
      introduce(now);
    } else if (const auto* news = std::get_if<room::MemberNews>(&*message)) {
      const bool is_new = !keys_.others().contains(news->number);
      keys_.learn(news->number, news->card.sealed);
      if (is_new && number_ != room::kNobody) {
        introduce(now);
      }
    } else if (const auto* left = std::get_if<room::MemberLeft>(&*message)) {
      epoch_ = std::max(epoch_, left->epoch);
    }
  }

  // ---- cards, secrets, proofs

  InsiderKeys::CardChoice own_card() {
    InsiderKeys::CardChoice card{.instance = keys_.instance(), .counter = ++card_counter_};
    card.text.member = number_;
    card.text.next_counter = counter_;
    for (const auto& [other, known] : keys_.others()) {
      card.text.greetings.push_back(greeting_of(known.instance));
    }
    card.text.body = app::encode(app::PersonState{.name = "Mal"});
    return card;
  }

  InsiderKeys::CardChoice any_card(FuzzInput& input) {
    InsiderKeys::CardChoice card = own_card();
    if (input.one_in(2)) {
      card.instance = any_instance(input);
    }
    if (input.one_in(8)) {
      card.counter = input.number(8);
    }
    if (input.one_in(8)) {
      card.text.member = any_number(input);
    }
    if (input.one_in(8)) {
      card.text.next_counter = input.number(8);
    }
    if (input.one_in(4)) {
      card.text.greetings.resize(input.below(secure::kRoomOthersMax + 1));
    }
    if (input.one_in(3)) {
      static constexpr std::array<const char*, 4> kNames{"Ada", "Bo", "Cem", ""};
      card.text.body = app::encode(app::PersonState{.name = kNames.at(input.below(4)),
                                                    .muted = input.one_in(2),
                                                    .camera_off = input.one_in(2)});
    } else if (input.one_in(4)) {
      card.text.body = input.bytes(secure::kCardBodyMax);
    }
    return card;
  }
  void send_card(TimePoint now, const InsiderKeys::CardChoice& card) {
    notify(now, room::Card{.revision = ++card_revision_, .sealed = keys_.card(card)});
  }

  room::Share any_share(FuzzInput& input) {
    if (input.one_in(8)) {
      return {any_number(input), input.bytes(room::kShareSizeMax)};
    }
    const uint64_t counter = input.one_in(8) ? input.number(8) : ++share_counter_;
    const room::MemberNumber to = any_number(input);
    return {to, keys_.share(to, any_epoch(input), counter)};
  }
  void send_share(TimePoint now, room::Share share) {
    notify(now, room::Shares{.serial = ++serial_, .shares = {std::move(share)}});
  }

  void send_proof(TimePoint now, FuzzInput& input) {
    secure::FrameProof proof{.kind = input.one_in(2) ? secure::MediaKind::kAudio
                                                     : secure::MediaKind::kVideo};
    if (input.one_in(2) && !sealed_.empty()) {
      proof.first = sealed_.front().counter;
      for (const Sealed& frame : sealed_) {
        const uint64_t at = frame.counter - proof.first;
        if (at < secure::kProofFramesMax && frame.kind == proof.kind) {
          proof.frames.resize(std::max<size_t>(proof.frames.size(), at + 1));
          proof.frames[at] = frame.hash;
        }
      }
    } else {
      proof.first = input.one_in(2) ? counter_ : input.number(8);
    }
    if (proof.frames.empty()) {
      proof.frames.resize(1 + input.below(secure::kProofFramesMax));
      for (auto& frame : proof.frames) {
        frame = input.one_in(3) ? std::nullopt : std::optional{secure::FrameHash{}};
      }
    }
    const room::MemberNumber from = input.one_in(4) ? any_number(input) : number_;
    room::Proof message{.serial = ++serial_,
                        .of_video = input.one_in(2),
                        .bytes = keys_.proof(from, any_instance(input), proof)};
    if (input.one_in(8)) {
      message.bytes = input.bytes(room::kProofSizeMax);
    }
    notify(now, message);
  }

  // ---- frames

  Sealing any_sealing(FuzzInput& input) {
    Sealing sealing{epoch_, counter_++, number_};
    if (input.one_in(4)) {
      sealing.epoch = any_epoch(input);
    }
    if (input.one_in(4)) {
      sealing.counter = input.one_in(2) ? input.number(8) : counter_ + input.below(8192);
    }
    if (input.one_in(8)) {
      sealing.from = any_number(input);
    }
    return sealing;
  }
  void note_sealed(const Sealed& frame) {
    sealed_.push_back(frame);
    if (sealed_.size() > kSealedMax) {
      sealed_.pop_front();
    }
  }

  void send_sound(TimePoint now, FuzzInput& input) {
    const Sealing sealing = any_sealing(input);
    std::vector<std::byte> payload = input.bytes(120);
    // Opus: one frame of 20 ms (RFC 6716 §3.1), with any contents.
    payload.insert(payload.begin(), std::byte{0x98});
    auto message = media::format_sound(
        {.sequence = static_cast<uint32_t>(sounds_++), .captured = now, .payload = payload});
    if (input.one_in(4)) {
      message[input.below(message.size())] ^= static_cast<std::byte>(input.number(1));
    }
    constexpr auto kClear = static_cast<size_t>(room::kSoundClearSize.bytes());
    std::vector<std::byte> metadata{static_cast<std::byte>(input.below(128))};
    metadata.insert(metadata.end(), message.begin(), message.begin() + kClear);
    const auto frame = keys_.frame(sealing.from, sealing.epoch, sealing.counter, metadata,
                                   std::span{message}.subspan(kClear));
    note_sealed({secure::MediaKind::kAudio, sealing.counter, secure::hash_frame(metadata, frame)});
    send(now, session::kAudioFlow,
         room::build_member_message(
             any_number(input),
             room::build_sound_body({.level = std::to_integer<uint8_t>(metadata.front()),
                                     .clear = std::span{metadata}.subspan(1),
                                     .sealed = frame})));
  }

  void send_any_frame(TimePoint now, FuzzInput& input) {
    next_frame_ += static_cast<uint32_t>(input.one_in(32) ? input.number(2) : input.below(3));
    media::EncodedFrame frame{.id = next_frame_++, .capture_time = now};
    frame.key_frame = frame.id == 0 || input.one_in(3);
    frame.anchor = input.one_in(3);
    frame.temporal_layer = frame.key_frame || frame.anchor ? 0 : static_cast<int>(input.below(3));
    frame.reference_id =
        frame.key_frame
            ? frame.id
            : frame.id - 1 - static_cast<uint32_t>(input.below(std::min<size_t>(frame.id, 40)));
    if (input.one_in(4)) {
      frame.capture_time = now + std::chrono::milliseconds{input.number(3)} - 2h;
    }
    frame.data = picture();
    for (size_t changes = input.below(8); changes > 0; --changes) {
      // Width and height are in the first ten bytes (RFC 6386 §9.1).
      frame.data[input.below(input.one_in(2) ? 10 : frame.data.size())] =
          static_cast<std::byte>(input.number(1));
    }
    send_frame(now, std::move(frame), any_sealing(input));
  }
  void send_frame(TimePoint now, media::EncodedFrame frame, const Sealing& sealing) {
    frame.reference_id = frame.key_frame ? frame.id : frame.reference_id;
    const auto metadata = room::frame_metadata(frame);
    frame.data = keys_.frame(sealing.from, sealing.epoch, sealing.counter, metadata, frame.data);
    note_sealed(
        {secure::MediaKind::kVideo, sealing.counter, secure::hash_frame(metadata, frame.data)});
    for (const auto& message : media::fragment(frame, DataSize{900})) {
      send(now, session::kVideoFlow, room::build_member_message(sealing.from, message));
    }
  }
  /// A picture that no camera of the others sees.
  static const std::vector<std::byte>& picture() {
    static const std::vector<std::byte> bytes = [] {
      media::Picture white = media::make_picture(Person::kWidth, Person::kHeight);
      std::ranges::fill(white.data, uint8_t{255});
      media::Vp8Encoder encoder{{.width = Person::kWidth, .height = Person::kHeight}};
      return encoder.encode(white, {.key_frame = true}).data;
    }();
    return bytes;
  }

  // ---- choices

  room::MemberNumber any_number(FuzzInput& input) {
    const auto& others = keys_.others();
    if (input.one_in(4) || others.empty()) {
      return input.one_in(2) ? number_ : static_cast<room::MemberNumber>(input.number(2));
    }
    return std::next(others.begin(), static_cast<std::ptrdiff_t>(input.below(others.size())))
        ->first;
  }
  secure::InstanceId any_instance(FuzzInput& input) {
    const auto other = keys_.others().find(any_number(input));
    if (other != keys_.others().end()) {
      return other->second.instance;
    }
    secure::InstanceId instance = keys_.instance();
    instance[0] ^= static_cast<std::byte>(input.number(1));
    return instance;
  }
  uint32_t any_epoch(FuzzInput& input) {
    switch (input.below(4)) {
      case 0:
        return epoch_;
      case 1:
        return epoch_ + static_cast<uint32_t>(input.below(300));
      case 2:
        return secure::kEpochMax;
      default:
        return static_cast<uint32_t>(input.number(4));
    }
  }
  room::RoomMessage any_message(FuzzInput& input) {
    const auto revision = static_cast<uint32_t>(input.one_in(2) ? ++revision_ : input.number(4));
    const room::MemberNumber number = any_number(input);
    switch (input.below(16)) {
      case 0:
        return room::Card{revision, input.bytes(room::kCardSizeMax)};
      case 1:
        return room::View{revision, number,
                          static_cast<uint32_t>(input.below(room::kPicturesMax + 1)),
                          static_cast<uint32_t>(input.below(room::kHeightMax + 1))};
      case 2:
      case 3:
        return room::KeyFrameWanted{number};
      case 4:
        // Ends the attack, so it is rare.
        return input.one_in(16) ? room::RoomMessage{room::Leaving{}} : room::KeyFrameWanted{number};
      case 5:
      case 6: {
        room::Audience audience{.revision = revision};
        for (size_t left = input.below(room::kPresentMax + 1); left > 0; --left) {
          audience.members.push_back(any_number(input));
        }
        return audience;
      }
      case 7: {
        room::Replacing replacing{.number = number};
        std::ranges::generate(replacing.token,
                              [&] { return static_cast<std::byte>(input.number(1)); });
        replacing.token = input.one_in(2) ? room::PresenceToken{} : replacing.token;
        return replacing;
      }
      case 8: {
        room::Shares shares{.serial = revision};
        for (size_t left = input.below(room::kSharesMax + 1); left > 0; --left) {
          shares.shares.push_back(any_share(input));
        }
        return shares;
      }
      case 9:
        return room::Chat{revision, input.bytes(room::kChatSizeMax)};
      default:
        return relays_message(input, revision, number);
    }
  }
  /// What only a relay should send.
  room::RoomMessage relays_message(FuzzInput& input, uint32_t revision, room::MemberNumber number) {
    const auto epoch = static_cast<uint32_t>(input.below(room::kEpochMax));
    switch (input.below(9)) {
      case 0:
        return room::Welcome{.number = number, .epoch = epoch};
      case 1:
        return room::MemberNews{number, {revision, keys_.card(any_card(input))}};
      case 2:
        return room::MemberLeft{number, room::LeaveReason::kLeft, epoch};
      case 3:
        return room::SpeakerNews{revision, number};
      case 4:
        return room::VideoRate{revision, DataRate{}};
      case 5:
        return room::Farewell{};
      case 6:
        return room::MemberShare{number, any_share(input).bytes};
      case 7:
        return room::MemberChat{number, {revision, input.bytes(64)}};
      default:
        return room::MemberProof{number, {revision, false, input.bytes(64)}};
    }
  }
  static secure::CardGreeting greeting_of(const secure::InstanceId& instance) {
    secure::CardGreeting greeting{};
    std::copy_n(instance.begin(), greeting.size(), greeting.begin());
    return greeting;
  }

  InsiderKeys keys_;
  room::MemberNumber number_ = room::kNobody;
  room::PresenceToken token_{};
  std::optional<room::Replacing> replaces_;
  uint32_t epoch_ = 0;
  uint64_t counter_ = 0;  // of the next frame
  uint64_t card_counter_ = 0;
  uint64_t share_counter_ = 0;
  uint32_t card_revision_ = 0;
  uint32_t revision_ = 0;
  uint32_t serial_ = 0;
  uint32_t next_frame_ = 0;
  uint64_t sounds_ = 0;
  std::deque<Sealed> sealed_;  // the newest kSealedMax
};

}  // namespace cress::swarm
