#include "app/room/room_member.hh"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <variant>

#include "app/call/control_message.hh"
#include "media/frame/frame_report.hh"
#include "transport/base/take_front.hh"
#include "transport/room/media_head.hh"

namespace cress::room {
namespace {

using app::SoundKind;

// Layers 1 and 2 may be dropped for a narrow leg; every fourth frame is of layer 0, and every
// fourth of those an anchor: one every half second at 30 frames per second.
constexpr int kLayers = 3;
constexpr int kAnchorInterval = 4;
constexpr Duration kPlayCatchUpMax = 200ms;
// The most that a peer can make us reserve for incomplete frames: two large key frames.
constexpr DataSize kIncompleteMax{2 * media::kEncodedFrameMax.bytes()};
constexpr Duration kIncompleteAge = 8s;
// The relay merges the requests of all: at most one per second reaches the sender anyway.
constexpr Duration kStuckMax = 1s;

double loudest_dbov(const media::AudioFrame& samples) {
  return -static_cast<double>(sound_level(samples));
}

}  // namespace

app::VideoSenderOptions room_video(app::VideoSenderOptions video) {
  video.temporal_layers = kLayers;
  video.anchor_interval = kAnchorInterval;
  // A rate that one member has plenty of is too much for another's leg.
  video.quantizer_min_of_plenty = video.quantizer_min;
  return video;
}

RoomMember::RoomMember(TimePoint start, RoomMemberOptions options,
                       std::unique_ptr<control::Control> control)
    : options_(std::move(options)),
      endpoint_(start, options_.endpoint, std::move(control)),
      now_(start) {
  app::open_call_flows(endpoint_, true);
}

void RoomMember::capture(TimePoint now, const media::PicturePtr& picture) {
  if (sender_ && !farewell_) {
    seal_->set_now(now);
    sender_->capture(now, picture);
    drain(now);
  }
}

std::shared_ptr<app::EncodeWork> RoomMember::poll_encode_work() {
  return sender_ ? sender_->poll_encode_work() : nullptr;
}

void RoomMember::handle_encoded(TimePoint now, app::EncodeWork& work) {
  if (sender_) {
    seal_->set_now(now);
    sender_->handle_encoded(now, work);
    drain(now);
  }
}

void RoomMember::capture_sound(TimePoint now, const media::AudioFrame& samples) {
  if (sender_ && !farewell_) {
    seal_->set_now(now);
    sender_->capture_sound(now, samples);
    drain(now);
  }
}

void RoomMember::set_person(TimePoint now, app::PersonState person) {
  options_.person = std::move(person);
  card_changed_ = true;
  drain(now);
}

void RoomMember::set_view(TimePoint now, MemberNumber pinned, uint32_t pictures, uint32_t height) {
  view_ = {.revision = view_.revision + 1,
           .pinned = pinned,
           .pictures = std::min(pictures, room::kPicturesMax),
           .height = std::min(height, room::kHeightMax)};
  if (welcome_) {
    outbox_.put(view_);
  }
  drain(now);
}

void RoomMember::leave(TimePoint now) {
  if (welcome_ && !farewell_) {
    outbox_.put(room::Leaving{});
  }
  drain(now);
}

void RoomMember::set_datagram_max(DataSize size) {
  endpoint_.set_datagram_max(std::min(size, options_.endpoint.datagram_max));
}

// ---- messages of the relay

void RoomMember::handle_message(TimePoint now, const session::MessageReceived& message) {
  if (farewell_) {
    return;
  }
  if (message.flow == session::kControlFlow) {
    handle_control(now, message.bytes);
  } else if (message.flow == session::kAudioFlow || message.flow == session::kVideoFlow) {
    handle_media(now, message);
  }
}

void RoomMember::handle_media(TimePoint now, const session::MessageReceived& message) {
  const auto media = room::parse_member_message(message.bytes);
  if (!media || media->member == kNobody || media->member == number()) {
    ++stats_.from_unknown;
    return;
  }
  const auto at = others_.find(media->member);
  if (message.flow == session::kVideoFlow) {
    // The first frames may arrive before the card: both were sent when the other end joined.
    Other* other = at == others_.end() ? add_other(media->member) : &at->second;
    if (other != nullptr) {
      other->receiver.handle_fragment(now, media->body);
    }
    return;
  }
  if (at == others_.end() || !keys_) {
    ++stats_.from_unknown;
    return;
  }
  const auto sound = open_sound(now, *keys_, at->first, media->body);
  if (!sound) {
    ++at->second.view.sounds_unopened;
    return;
  }
  at->second.receiver.handle_sound(now, *sound);
  next_play_ = next_play_.value_or(now);
}

bool RoomMember::open(MemberNumber number, media::EncodedFrame& frame) {
  const auto opened = keys_ ? open_frame(now_, *keys_, number, frame)
                            : Result<Unit, secure::SFrameError>{secure::SFrameError::kUnknownKey};
  if (opened) {
    return true;
  }
  Other& other = others_.at(number);
  const bool may_open_later =
      opened.error() == secure::SFrameError::kNoSecretYet ||
      (opened.error() == secure::SFrameError::kUnknownKey && !other.view.is_live);
  if (may_open_later && other.waiting.size() < kWaitingMax) {
    other.waiting.push_back(std::move(frame));
  } else {
    ++other.view.frames_unopened;
  }
  return false;
}

void RoomMember::handle_control(TimePoint now, std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.front() != room::kRoomMessageByte) {
    if (const auto report = media::parse_frame_report(bytes)) {
      if (sender_) {
        sender_->handle_report(*report);
      }
    } else if (media::parse_key_frame_request(bytes)) {
      if (sender_) {
        sender_->handle_key_frame_request(now);
      }
    } else {
      ++stats_.control_malformed;
    }
    return;
  }
  const auto message = room::parse_room_message(bytes);
  if (!message) {
    ++stats_.control_malformed;
    return;
  }
  if (const auto* welcome = std::get_if<room::Welcome>(&*message)) {
    handle_welcome(now, *welcome);
  } else if (const auto* farewell = std::get_if<room::Farewell>(&*message)) {
    handle_farewell(*farewell);
  } else if (!welcome_) {
    // The welcome was sent first and lost. The messages after it will not be repeated.
    if (early_.size() < kEarlyMax) {
      early_.emplace_back(bytes.begin(), bytes.end());
    }
  } else if (const auto* news = std::get_if<room::MemberNews>(&*message)) {
    handle_member(now, *news);
  } else if (const auto* left = std::get_if<room::MemberLeft>(&*message)) {
    handle_left(now, *left);
  } else if (const auto* share = std::get_if<room::MemberShare>(&*message)) {
    handle_share(now, *share);
  } else if (const auto* proof = std::get_if<room::MemberProof>(&*message)) {
    handle_proof(now, *proof);
  } else if (const auto* chat = std::get_if<room::MemberChat>(&*message)) {
    handle_chat(now, *chat);
  } else if (const auto* speaker = std::get_if<room::SpeakerNews>(&*message)) {
    handle_speaker(*speaker);
  } else if (const auto* rate = std::get_if<room::VideoRate>(&*message)) {
    handle_video_rate(now, *rate);
  } else {
    ++stats_.control_malformed;  // which only members send
  }
}

void RoomMember::handle_welcome(TimePoint now, const room::Welcome& welcome) {
  if (welcome_ || welcome.number == kNobody) {
    return;
  }
  welcome_ = welcome;
  keys_.emplace(options_.media, welcome.number,
                secure::RoomKeysOptions{.epoch = welcome.epoch, .identity = options_.identity});
  seal_.emplace(*keys_);
  sender_.emplace(now,
                  app::CallSenderOptions{.video = options_.video,
                                         .trade = app::trade_of(options_.prefer),
                                         .hands_out_encoding = options_.hands_out_encoding,
                                         .seal = &*seal_},
                  endpoint_);
  sender_->set_video_rate_max(now, DataRate{});  // nothing before the relay sets a rate
  card_changed_ = true;
  if (view_.revision > 0) {
    outbox_.put(view_);
  }
  if (options_.replaces) {
    outbox_.put(*options_.replaces);
  }
  others_.erase(welcome.number);
  for (const MemberNumber present : welcome.present) {
    if (present != welcome.number && !others_.contains(present)) {
      add_other(present);
    }
  }
  events_.push_back({.kind = RoomEvent::Kind::kWelcome, .member = welcome.number});
  for (const auto& bytes : std::exchange(early_, {})) {
    handle_control(now, bytes);
  }
}

RoomMember::Other* RoomMember::add_other(MemberNumber number) {
  if (std::ranges::find(departed_, number) != departed_.end()) {
    return nullptr;
  }
  if (others_.size() == kOthersMax) {
    ++stats_.others_refused;
    return nullptr;
  }
  app::CallReceiverOptions options;
  options.open_frame = [this, number](media::EncodedFrame& frame) { return open(number, frame); };
  options.assembler.bytes_max = kIncompleteMax;
  options.assembler.age_max = kIncompleteAge;
  options.stuck_max = kStuckMax;
  options.paced_by_sound_card = true;  // by the mixer
  options.hands_out_decoding = options_.hands_out_decoding;
  options.playout = app::trade_of(options_.prefer).playout;
  Other& other = others_.try_emplace(number, std::move(options)).first->second;
  other.view.number = number;
  return &other;
}

void RoomMember::handle_speaker(const room::SpeakerNews& speaker) {
  if (speaker.revision > speaker_.revision) {
    const bool is_changed = speaker.number != speaker_.number;
    speaker_ = speaker;
    if (is_changed) {
      events_.push_back({.kind = RoomEvent::Kind::kSpeaker, .member = speaker.number});
    }
  }
}

void RoomMember::handle_video_rate(TimePoint now, const room::VideoRate& rate) {
  if (rate.revision > video_rate_.revision) {
    video_rate_ = rate;
    video_rate_max_ = rate.rate;
    sender_->set_video_rate_max(now, rate.rate);
  }
}

void RoomMember::handle_farewell(const room::Farewell& farewell) {
  if (!farewell_) {
    farewell_ = farewell;
    outbox_.clear();
    events_.push_back({.kind = RoomEvent::Kind::kFarewell, .farewell = farewell});
  }
}

// ---- received media

void RoomMember::settle_others(TimePoint now) {
  for (auto& [number, other] : others_) {
    if (keys_ && !other.view.is_distrusted && keys_->is_distrusted(number)) {
      other.view.is_distrusted = true;
      events_.push_back({.kind = RoomEvent::Kind::kDistrusted, .member = number});
    }
    other.receiver.settle(now);
    while (auto frame = other.receiver.poll_shown()) {
      // It may have been in the decoder, or waited for display, when distrust began.
      if (!other.view.is_distrusted) {
        ++other.view.frames_shown;
        shown_.push_back({number, *std::move(frame)});
      }
    }
    if (other.view.is_live && !other.view.is_distrusted &&
        other.receiver.poll_key_frame_request(now)) {
      ++other.view.key_frames_asked;
      outbox_.put(room::KeyFrameWanted{number});
    }
  }
}

app::PlayedAudio RoomMember::play(TimePoint now) {
  app::PlayedAudio mixed{.captured = now, .played = now, .kind = SoundKind::kComfort};
  for (auto& [number, other] : others_) {
    const app::PlayedAudio voice = other.receiver.play(now);
    const bool is_speech = voice.kind == SoundKind::kNormal || voice.kind == SoundKind::kFec;
    const bool is_concealed = voice.kind == SoundKind::kConcealed;
    other.view.level_dbov = loudest_dbov(voice.samples);
    other.view.sound_played += is_speech || is_concealed ? 1 : 0;
    other.view.sound_concealed += is_concealed ? 1 : 0;
    mixer_.add(voice.samples);
    // The voice that represents best how well the room can be heard.
    if (voice.kind < mixed.kind) {
      mixed.kind = voice.kind;
      mixed.captured = voice.captured;
    }
  }
  mixed.samples = mixer_.take();
  drain(now);
  return mixed;
}

std::vector<OtherMember> RoomMember::others() const {
  std::vector<OtherMember> all;
  all.reserve(others_.size());
  for (const auto& [number, other] : others_) {
    all.push_back(other.view);
    all.back().frames_undecodable = other.receiver.video().stats().frames_undecodable;
    all.back().frames_over_budget = other.receiver.video().stats().frames_over_budget;
  }
  return all;
}

// ---- the machine

void RoomMember::drain(TimePoint now) {
  now_ = now;
  while (const auto message = endpoint_.poll_message()) {
    handle_message(now, *message);
  }
  while (const auto outcome = endpoint_.poll_outcome()) {
    if (sender_) {
      sender_->handle_outcome(now, *outcome);
    }
    outbox_.handle_outcome(now, *outcome);
  }
  settle_others(now);
  tell_card();
  tell_audience();
  tell_shares();
  tell_proofs(now);
  outbox_.flush(now, endpoint_);
}

Result<Unit, wire::WireError> RoomMember::handle_datagram(TimePoint now,
                                                          std::span<const std::byte> datagram,
                                                          Ecn ecn) {
  now_ = now;
  auto result = endpoint_.handle_datagram(now, datagram, ecn);
  drain(now);
  return result;
}

void RoomMember::handle_timeout(TimePoint now) {
  now_ = now;
  endpoint_.handle_timeout(now);
  if (keys_) {
    keys_->handle_timeout(now);
  }
  for (auto& [number, other] : others_) {
    if (other.receiver.poll_timeout() <= now) {
      other.receiver.handle_timeout(now);
    }
    show_chat(other, other.order.handle_timeout(now));
  }
  if (!options_.paced_by_sound_card && next_play_ && *next_play_ <= now) {
    *next_play_ += media::kAudioFrameLength;
    if (now - *next_play_ > kPlayCatchUpMax) {
      next_play_ = now + media::kAudioFrameLength;
    }
    played_.push_back(play(now));
  }
  drain(now);
}

void RoomMember::handle_decoded(TimePoint now, const app::DecodeWork& work) {
  now_ = now;
  for (auto& [number, other] : others_) {
    other.receiver.handle_decoded(now, work);
  }
  drain(now);
}

std::shared_ptr<app::DecodeWork> RoomMember::poll_decode_work() {
  for (auto& [number, other] : others_) {
    if (auto work = other.receiver.poll_decode_work()) {
      return work;
    }
  }
  return nullptr;
}

std::optional<std::vector<std::byte>> RoomMember::poll_transmit(TimePoint now) {
  outbox_.flush(now, endpoint_);
  return endpoint_.poll_transmit(now);
}

TimePoint RoomMember::poll_timeout() const {
  TimePoint next = std::min(endpoint_.poll_timeout(), outbox_.poll_timeout());
  if (keys_) {
    next = std::min({next, keys_->poll_timeout(), farewell_ ? kNever : keys_->proof_timeout()});
  }
  if (!options_.paced_by_sound_card) {
    next = std::min(next, next_play_.value_or(kNever));
  }
  for (const auto& [number, other] : others_) {
    next = std::min({next, other.receiver.poll_timeout(), other.order.poll_timeout()});
  }
  return next;
}

std::optional<RoomEvent> RoomMember::poll_event() { return take_front(events_); }
std::optional<RoomShown> RoomMember::poll_shown() { return take_front(shown_); }
std::optional<app::PlayedAudio> RoomMember::poll_played() { return take_front(played_); }
std::optional<app::CodedVideo> RoomMember::poll_coded() {
  return sender_ ? sender_->poll_coded() : std::nullopt;
}

}  // namespace cress::room
