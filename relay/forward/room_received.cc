// What a room does with the messages of its members.

#include <algorithm>
#include <utility>
#include <variant>

#include "relay/forward/member.hh"
#include "relay/forward/room.hh"
#include "relay/forward/slot_bits.hh"
#include "transport/room/media_head.hh"

namespace cress::relay {
namespace {

constexpr size_t kHeldAnchorsMax = 16;
// A frame is reconsidered when its reference has become complete, if it is at most this far behind.
constexpr uint32_t kReconsiderSpan = 64;

}  // namespace

void Room::handle_message(TimePoint now, Member& from, session::MessageReceived message) {
  if (message.flow == session::kControlFlow) {
    handle_control(now, from, message.bytes);
    return;
  }
  // Too short for a header, or larger than a leg can carry: the sender ignores kLegDatagramMax.
  if (message.bytes.size() < static_cast<size_t>(room::kMemberHeadSize.bytes()) ||
      static_cast<int64_t>(message.bytes.size()) > from.leg.endpoint().message_max().bytes()) {
    ++stats_.messages_malformed;
    return;
  }
  room::set_member(message.bytes, from.number());
  if (message.flow == session::kAudioFlow) {
    handle_sound(now, from, std::move(message.bytes));
  } else {
    handle_video(now, from, std::move(message.bytes));
  }
}

void Room::handle_sound(TimePoint now, Member& from, std::vector<std::byte> message) {
  ++stats_.sounds_in;
  if (!from.sounds.take(now, 1)) {
    ++stats_.sounds_over_limit;
    return;
  }
  const auto body = room::parse_sound_body(room::parse_member_message(message)->body);
  if (!body) {
    ++stats_.messages_malformed;
    return;
  }
  from.source.sound.add(DataSize{static_cast<int64_t>(message.size())} +
                        from.leg.endpoint().control().message_overhead());
  if (from.verified_by == 0) {
    ++stats_.sounds_left_out;
    return;  // must not take a place among the loudest: nobody could open it
  }
  speakers_.handle_level(now, from.slot(), body->level);
  const uint64_t self = bit(from.slot());
  for_each_slot(present_ & ~self, [&](size_t slot) {
    Member& member = *slots_.at(slot);
    if (!member.is_in()) {
      return;
    }
    if (!speakers_.is_heard(from.slot()) || (member.hears & self) == 0 || !from.may_reach(slot)) {
      ++stats_.sounds_left_out;
      return;
    }
    member.sound_at.at(from.slot()) = now;
    member.leg.send_sound(now, message, body->level >= options_.speaker.floor_level);
    touch(member);
  });
}

void Room::handle_video(TimePoint now, Member& from, std::vector<std::byte> message) {
  ++stats_.fragments_in;
  const DataSize cost = DataSize{static_cast<int64_t>(message.size())} +
                        from.leg.endpoint().control().message_overhead();
  Source& source = from.source;
  const auto added = source.cache.handle_fragment(now, std::move(message));
  if (!added) {
    ++(added.error() == FrameCache::Refusal::kMalformed ? stats_.messages_malformed
                                                        : stats_.fragments_refused);
    return;
  }
  CachedFrame& frame = *added->frame;
  if (added->is_first && !is_allowed(now, from, *added)) {
    ++stats_.fragments_refused;
    source.cache.refuse(frame);
    return;
  }
  source.video.at(static_cast<size_t>(frame.kind)).add(cost);
  source.last_fragment = now;
  for_each_slot(source.watchers, [&](size_t slot) {
    slots_.at(slot)->leg.handle_fragment(now, source, *added);
    touch(*slots_[slot]);
  });
  if (added->became_whole) {
    handle_whole(now, from, frame);
  }
}

// A sender above its rate limit loses whole frames, before they cost anything.
bool Room::is_allowed(TimePoint now, Member& from, const FrameCache::Added& added) {
  if (added.frame->header.key_frame) {
    from.source.key_frames.handle_key_frame(now);
  }
  if (!from.frames.take(now, 1)) {
    ++stats_.frames_over_limit;
    return false;
  }
  return from.source.allowance.take(now,
                                    static_cast<double>(added.frame->header.frame_size.bytes()));
}

void Room::handle_whole(TimePoint now, Member& from, const CachedFrame& frame) {
  Source& source = from.source;
  source.newest_whole = std::max(source.newest_whole.value_or(0), frame.id());
  source.has_news = true;
  source.whole_at = now;
  source.decodable_at = frame.decodable ? std::optional{now} : source.decodable_at;
  if (frame.kind == FrameKind::kAnchor) {
    source.held_anchors.push_back(frame.id());
    if (source.held_anchors.size() > kHeldAnchorsMax) {
      source.held_anchors.pop_front();
    }
  }
  const uint32_t newest = source.cache.newest().value_or(0);
  const uint32_t last =
      newest - frame.id() > kReconsiderSpan ? frame.id() + kReconsiderSpan : newest;
  for (uint32_t id = frame.id(); id < last;) {
    ++id;
    CachedFrame* later = source.cache.find(id);
    if (later == nullptr || later->refused) {
      continue;
    }
    for_each_slot(source.watchers,
                  [&](size_t slot) { slots_.at(slot)->leg.reconsider(now, source, *later); });
  }
}

void Room::handle_control(TimePoint now, Member& from, std::span<const std::byte> message) {
  if (!from.control.take(now, 1)) {
    ++stats_.control_over_limit;
    return;
  }
  if (!message.empty() && message[0] < room::kRoomMessageByte) {
    return;  // for a call of two: the relay learns of arrivals from the session
  }
  const auto parsed = room::parse_room_message(message);
  if (!parsed) {
    ++stats_.messages_malformed;
    return;
  }
  if (const auto* card = std::get_if<room::Card>(&*parsed)) {
    handle_card(from, *card);
  } else if (const auto* view = std::get_if<room::View>(&*parsed)) {
    if (!from.view || view->revision > from.view->revision) {
      from.view = *view;
    }
  } else if (const auto* wanted = std::get_if<room::KeyFrameWanted>(&*parsed)) {
    Member* of = find(wanted->of);
    if (of != nullptr && of != &from && of->is_in()) {
      from.leg.restart(now, of->source);
    }
  } else if (const auto* audience = std::get_if<room::Audience>(&*parsed)) {
    handle_audience(from, *audience);
  } else if (const auto* shares = std::get_if<room::Shares>(&*parsed)) {
    handle_shares(now, from, *shares);
  } else if (const auto* proof = std::get_if<room::Proof>(&*parsed)) {
    handle_proof(now, from, *proof);
  } else if (const auto* chat = std::get_if<room::Chat>(&*parsed)) {
    handle_chat(now, from, *chat);
  } else if (const auto* replacing = std::get_if<room::Replacing>(&*parsed)) {
    handle_replacing(from, *replacing);
  } else if (std::holds_alternative<room::Leaving>(*parsed)) {
    from.is_gone = true;
    from.reason = room::LeaveReason::kLeft;
  } else {
    ++stats_.messages_malformed;  // only the relay sends these
  }
}

}  // namespace cress::relay
