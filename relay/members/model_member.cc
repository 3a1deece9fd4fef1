#include "relay/members/model_member.hh"

#include "media/frame/fragment.hh"
#include "media/frame/frame_report.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/room/media_head.hh"

namespace cress::relay {
namespace {

std::byte fill_of(uint32_t id) { return static_cast<std::byte>(id * 31U + 5U); }

}  // namespace

ModelMember::ModelMember(TimePoint now, ModelMemberOptions options, uint64_t seed)
    : options_(options),
      rng_(seed),
      endpoint_(now, {}, std::make_unique<control::CressControl>(control::room_control())),
      next_picture_(now + rng_.below(33) * 1ms),
      next_sound_(now + rng_.below(20) * 1ms) {
  endpoint_.open_flow(session::kAudioFlow, {.priority = session::Priority::kAudio,
                                            .report_outcomes = false,
                                            .queue_max = DataSize{600}});
  endpoint_.open_flow(session::kControlFlow, {.priority = session::Priority::kControl});
  endpoint_.open_flow(session::kVideoFlow, {.priority = session::Priority::kVideo});
  if (options_.has_card) {
    outbox_.put(room::Card{.revision = 1, .sealed = std::vector<std::byte>(100, std::byte{7})});
  }
}

void ModelMember::handle_datagram(TimePoint now, std::span<const std::byte> datagram, Ecn ecn) {
  (void)endpoint_.handle_datagram(now, datagram, ecn);
  drain(now);
}

void ModelMember::handle_timeout(TimePoint now) {
  endpoint_.handle_timeout(now);
  for (; next_picture_ <= now; next_picture_ += kPictureEvery) {
    capture(now);
  }
  for (; next_sound_ <= now; next_sound_ += kSoundEvery) {
    capture_sound(now);
  }
  for (auto& [number, seen] : seen_) {
    seen.clock.handle_timeout(now);
    show(now, number, seen);
  }
  drain(now);
}

uint64_t ModelMember::undecodable() const {
  uint64_t count = 0;
  for (const auto& [number, seen] : seen_) {
    count += std::ranges::count_if(seen.reference_of, [&whole = seen.whole](const auto& entry) {
      return !whole.contains(entry.second);
    });
  }
  return count;
}

// The usual pattern: an anchor every half second, then layers 2, 1, 2 and base.
FrameKind ModelMember::next_kind() const {
  const uint32_t since = next_id_ - anchored_at_;
  if (!newest_sent_base_ || needs_anchor_ || since >= 15) {
    return FrameKind::kAnchor;
  }
  switch (options_.layers == 3 ? since % 4 : 0) {
    case 0:
      return FrameKind::kBase;
    case 2:
      return FrameKind::kLayer1;
    default:
      return FrameKind::kLayer2;
  }
}

DataRate ModelMember::rate() const {
  return options_.video_rate.value_or(video_rate_ ? video_rate_->rate : DataRate{});
}

DataSize ModelMember::size_of(FrameKind kind, bool key) {
  const DataSize mean = rate() * kPictureEvery;
  const double weight = key                          ? 6
                        : kind == FrameKind::kAnchor ? 3.5
                        : kind == FrameKind::kBase   ? 1.5
                        : kind == FrameKind::kLayer1 ? 0.8
                                                     : 0.6;
  return DataSize{
      static_cast<int64_t>(static_cast<double>(mean.bytes()) * weight * rng_.uniform(0.7, 1.3))};
}

void ModelMember::capture(TimePoint now) {
  if (!options_.has_camera || rate() == DataRate{}) {
    ++next_id_;
    return;
  }
  const uint32_t id = next_id_;
  const FrameKind kind = next_kind();
  ++next_id_;
  const bool key = kind == FrameKind::kAnchor && (!known_anchor_ || wants_key_);
  const DataSize window = endpoint_.available_window(now);
  const DataSize size = std::min(size_of(kind, key), DataSize{window.bytes() * 9 / 10});
  if (size < DataSize{300}) {
    return;
  }
  const bool is_anchor = kind == FrameKind::kAnchor;
  const media::EncodedFrame frame{
      .id = id,
      .reference_id = key         ? id
                      : is_anchor ? *known_anchor_
                                  : *newest_sent_base_,
      .capture_time = now,
      .key_frame = key,
      .temporal_layer = kind == FrameKind::kLayer1   ? 1
                        : kind == FrameKind::kLayer2 ? 2
                                                     : 0,
      .anchor = is_anchor,
      .data = std::vector<std::byte>(static_cast<size_t>(size.bytes()), fill_of(id))};
  send_frame(now, kind, frame);
}

void ModelMember::send_frame(TimePoint now, FrameKind kind, const media::EncodedFrame& frame) {
  if (frame.anchor) {
    anchored_at_ = frame.id;
    needs_anchor_ = false;
    wants_key_ = wants_key_ && !frame.key_frame;
    sent_anchors_.insert(frame.id);
  }
  if (kind <= FrameKind::kBase) {
    newest_sent_base_ = frame.id;
  }
  for (const auto& message :
       media::fragment(frame, endpoint_.message_max() - room::kMemberHeadSize, options_.parity)) {
    const auto message_id =
        endpoint_.send(now, session::kVideoFlow, room::build_member_message(0, message));
    carried_[message_id] = {frame.id, kind};
  }
}

void ModelMember::capture_sound(TimePoint now) {
  ++sounds_;
  if (!options_.speaks && sounds_ % 10 != 0) {
    return;  // silence is reported now and then
  }
  std::vector<std::byte> clear(10);
  for (size_t i = 0; i < 8; ++i) {
    clear[i] = static_cast<std::byte>(now.time_since_epoch().count() >> (8 * i));
  }
  const std::vector<std::byte> sealed(options_.speaks ? 90 : 20, std::byte{3});
  const auto level =
      static_cast<uint8_t>(options_.speaks ? 25 + rng_.below(10) : 80 + rng_.below(40));
  const auto body = room::build_sound_body({.level = level, .clear = clear, .sealed = sealed});
  const session::Leave leave = endpoint_.control().outstanding(now) > DataSize{3000}
                                   ? session::Leave::kWithinWindow
                                   : session::Leave::kNow;
  endpoint_.send(now, session::kAudioFlow, room::build_member_message(0, body), leave);
}

void ModelMember::drain(TimePoint now) {
  while (const auto message = endpoint_.poll_message()) {
    handle_message(now, *message);
  }
  while (const auto outcome = endpoint_.poll_outcome()) {
    outbox_.handle_outcome(now, *outcome);
    const auto carried =
        outcome->flow == session::kVideoFlow ? carried_.find(outcome->id) : carried_.end();
    if (carried != carried_.end()) {
      needs_anchor_ =
          needs_anchor_ || (outcome->kind != session::MessageOutcome::Kind::kDelivered &&
                            carried->second.second <= FrameKind::kBase);
      carried_.erase(carried);
    }
  }
  outbox_.flush(now, endpoint_);
}

void ModelMember::handle_message(TimePoint now, const session::MessageReceived& message) {
  if (message.flow == session::kControlFlow) {
    handle_control(message.bytes);
    return;
  }
  const auto parsed = room::parse_member_message(message.bytes);
  if (message.flow == session::kAudioFlow) {
    handle_sound(now, parsed->member, parsed->body);
  } else {
    handle_fragment(now, parsed->member, parsed->body);
  }
}

void ModelMember::handle_sound(TimePoint now, room::MemberNumber from,
                               std::span<const std::byte> body) {
  const auto parsed = room::parse_sound_body(body);
  int64_t captured = 0;
  for (size_t i = 0; i < 8; ++i) {
    captured |= std::to_integer<int64_t>(parsed->clear[i]) << (8 * i);
  }
  heard_.push_back({from, TimePoint{Duration{captured}}, now});
}

void ModelMember::handle_fragment(TimePoint now, room::MemberNumber from,
                                  std::span<const std::byte> body) {
  Seen& seen = seen_[from];
  const auto result = seen.assembler.handle_fragment(now, body);
  if (result && result->has_value()) {
    media::EncodedFrame frame = **result;
    wrong_bytes_ +=
        std::ranges::count_if(frame.data, [&frame](std::byte b) { return b != fill_of(frame.id); });
    seen.whole.insert(frame.id);
    seen.reference_of[frame.id] = frame.reference_id;
    seen.clock.handle_frame(now, std::move(frame));
    show(now, from, seen);
  }
}

void ModelMember::show(TimePoint now, room::MemberNumber from, Seen& seen) {
  while (const auto frame = seen.clock.poll_decode(now)) {
    const FrameKind kind = frame->key_frame || frame->anchor ? FrameKind::kAnchor
                           : frame->temporal_layer == 0      ? FrameKind::kBase
                           : frame->temporal_layer == 1      ? FrameKind::kLayer1
                                                             : FrameKind::kLayer2;
    shown_.push_back({from, frame->id, kind, frame->capture_time, now});
  }
}

void ModelMember::handle_control(std::span<const std::byte> bytes) {
  if (media::parse_key_frame_request(bytes)) {
    wants_key_ = true;
    needs_anchor_ = true;
  } else if (const auto report = media::parse_frame_report(bytes)) {
    for (const uint32_t anchor : sent_anchors_) {
      const uint32_t back = report->newest - anchor;
      if (anchor <= report->newest &&
          (back == 0 || (back <= 32 && (report->before >> (back - 1) & 1U) != 0)) &&
          anchor >= known_anchor_.value_or(0)) {
        known_anchor_ = anchor;
      }
    }
    sent_anchors_.erase(sent_anchors_.begin(),
                        sent_anchors_.lower_bound(known_anchor_.value_or(0)));
  } else if (const auto message = room::parse_room_message(bytes)) {
    handle_room_message(*message);
  }
}

// It takes every card for valid.
void ModelMember::put_audience() {
  room::Audience audience{.revision = ++audience_revision_};
  for (const auto& [number, card] : others_) {
    if (card.revision > 0) {
      audience.members.push_back(number);
    }
  }
  outbox_.put(audience);
}

void ModelMember::handle_room_message(const room::RoomMessage& message) {
  if (const auto* welcome = std::get_if<room::Welcome>(&message)) {
    welcome_ = *welcome;
    epoch_ = std::max(epoch_, welcome->epoch);
  } else if (const auto* news = std::get_if<room::MemberNews>(&message)) {
    others_[news->number] = news->card;
    put_audience();
  } else if (const auto* left = std::get_if<room::MemberLeft>(&message)) {
    others_.erase(left->number);
    put_audience();
    seen_.erase(left->number);
    epoch_ = std::max(epoch_, left->epoch);
  } else if (const auto* speaker = std::get_if<room::SpeakerNews>(&message)) {
    speaker_ = *speaker;
  } else if (const auto* rate = std::get_if<room::VideoRate>(&message)) {
    if (!video_rate_ || rate->revision > video_rate_->revision) {
      video_rate_ = *rate;
    }
  } else if (const auto* farewell = std::get_if<room::Farewell>(&message)) {
    farewell_ = *farewell;
  }
}

}  // namespace cress::relay
