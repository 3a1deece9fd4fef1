// Who is in the room, and what shows that frames are theirs: cards, secrets, proofs.

#include <algorithm>
#include <utility>
#include <variant>

#include "app/call/control_message.hh"
#include "app/room/room_member.hh"

namespace cress::room {

// The messages of a room hold what its members make.
static_assert(kCardSizeMax == secure::kCardSizeMax && kProofSizeMax == secure::kProofSizeMax &&
              kShareSizeMax >= secure::RoomKeys::kShareSize);

void RoomMember::handle_member(TimePoint now, const room::MemberNews& news) {
  if (news.number == number()) {
    return;
  }
  auto at = others_.find(news.number);
  if (at == others_.end() && add_other(news.number) == nullptr) {
    return;
  }
  if (news.card.sealed.empty()) {
    return;  // has sent none yet
  }
  const auto card = keys_->handle_card(news.number, news.card.sealed);
  if (!card) {
    ++stats_.cards_refused;
    return;
  }
  at = others_.find(news.number);
  if (at != others_.end() && at->second.is_known && card->is_new) {
    // The same number, another presence: the member before has gone.
    audience_changed_ = true;
    show_chat(at->second, at->second.order.finish());
    if (at->second.is_announced) {
      events_.push_back({.kind = RoomEvent::Kind::kLeft, .member = news.number});
    }
    others_.erase(at);
    at = others_.end();
  }
  Other* other = at == others_.end() ? add_other(news.number) : &at->second;
  if (other == nullptr) {
    return;
  }
  other->is_known = true;
  app::PersonState person = other->view.person;
  if (const auto message = app::parse_control_message(card->body)) {
    if (const auto* told = std::get_if<app::PersonState>(&*message)) {
      person = *told;
    }
  }
  const bool is_changed = person != other->view.person;
  audience_changed_ = audience_changed_ || card->is_live != other->view.is_live;
  other->view.person = std::move(person);
  other->view.is_live = card->is_live;
  other->key = card->key;
  other->view.key_code = secure::key_code(card->key);
  if (card->is_live && !std::exchange(other->is_announced, true)) {
    const bool was_there = std::erase(welcome_->present, news.number) > 0;
    events_.push_back({.kind = was_there ? RoomEvent::Kind::kPresent : RoomEvent::Kind::kJoined,
                       .member = news.number});
    note_key(*other);
  } else if (other->is_announced && is_changed) {
    events_.push_back({.kind = RoomEvent::Kind::kChanged, .member = news.number});
  }
  open_waiting(now, *other);
}

// Trust on first use: whoever comes back under a name should have the key it had.
void RoomMember::note_key(const Other& other) {
  const std::string& name = other.view.person.name;
  const bool is_namesake = std::ranges::any_of(others_, [&](const auto& entry) {
    const Other& one = entry.second;
    return &one != &other && one.is_announced && one.view.person.name == name;
  });
  if (name.empty() || is_namesake) {
    return;
  }
  KnownKeys& known = options_.known_keys;
  const auto before = known.find(name);
  if (before == known.end() && known.size() == kKnownKeysMax) {
    return;
  }
  if (before != known.end() && before->second != other.key) {
    events_.push_back({.kind = RoomEvent::Kind::kKeyChanged, .member = other.view.number});
  }
  known[name] = other.key;
}

void RoomMember::handle_share(TimePoint now, const room::MemberShare& news) {
  if (!keys_->handle_share(now, news.number, news.bytes)) {
    ++stats_.shares_refused;
    return;
  }
  if (const auto other = others_.find(news.number); other != others_.end()) {
    open_waiting(now, other->second);
  }
}

void RoomMember::handle_proof(TimePoint now, const room::MemberProof& news) {
  if (!keys_->handle_proof(now, news.number, news.proof.bytes)) {
    ++stats_.proofs_refused;
  }
}

// Frames and lines that arrived before the proof of their sender's presence.
void RoomMember::open_waiting(TimePoint now, Other& other) {
  if (!other.view.is_live) {
    return;
  }
  const auto waiting = std::exchange(other.waiting, {});
  for (const media::EncodedFrame& frame : waiting) {
    other.receiver.handle_frame(now, frame);
  }
  for (const room::Chat& chat : std::exchange(other.waiting_chats, {})) {
    open_chat(now, other, chat);
  }
}

void RoomMember::handle_left(TimePoint now, const room::MemberLeft& left) {
  keys_->handle_left(now, left.number, left.epoch);
  std::erase(welcome_->present, left.number);
  departed_.push_back(left.number);
  if (departed_.size() > kOthersMax) {
    departed_.pop_front();
  }
  if (const auto other = others_.find(left.number); other != others_.end()) {
    show_chat(other->second, other->second.order.finish());
    others_.erase(other);
    audience_changed_ = true;
    events_.push_back({.kind = RoomEvent::Kind::kLeft, .member = left.number, .left = left.reason});
  }
}

// ---- what this member says of itself

void RoomMember::tell_card() {
  if (keys_ && !farewell_ && (card_changed_ || keys_->card_due())) {
    card_changed_ = false;
    outbox_.put(room::Card{++card_revision_, keys_->make_card(app::encode(options_.person))});
  }
}

void RoomMember::tell_audience() {
  if (!std::exchange(audience_changed_, false)) {
    return;
  }
  room::Audience audience{.revision = ++audience_revision_};
  for (const auto& [number, other] : others_) {
    if (other.view.is_live) {
      audience.members.push_back(number);
    }
  }
  outbox_.put(audience);
}

void RoomMember::tell_shares() {
  room::Shares shares;
  while (auto share = keys_ && !farewell_ ? keys_->poll_share() : std::nullopt) {
    shares.shares.push_back({share->to, std::move(share->bytes)});
    if (shares.shares.size() == room::kSharesMax) {
      shares.serial = ++share_serial_;
      outbox_.put(std::exchange(shares, {}));
    }
  }
  if (!shares.shares.empty()) {
    shares.serial = ++share_serial_;
    outbox_.put(shares);
  }
}

void RoomMember::tell_proofs(TimePoint now) {
  while (keys_ && !farewell_) {
    auto proof = keys_->poll_proof(now);
    if (!proof) {
      return;
    }
    // Refused where several wait already: the link is down, and the frames did not arrive either.
    (void)outbox_.put(room::Proof{.serial = ++proof_serial_,
                                  .of_video = proof->kind == secure::MediaKind::kVideo,
                                  .bytes = std::move(proof->bytes)});
  }
}

}  // namespace cress::room
