#include "transport/room/outbox.hh"

#include <algorithm>
#include <iterator>

namespace cress::room {
namespace {

template <class T, size_t kIndex = 0>
constexpr size_t kind_of() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<kIndex, RoomMessage>>) {
    return kIndex;
  } else {
    return kind_of<T, kIndex + 1>();
  }
}

}  // namespace

Outbox::Subject Outbox::subject_of(const RoomMessage& message) {
  if (const auto* wanted = std::get_if<KeyFrameWanted>(&message)) {
    return {message.index(), wanted->of};
  }
  if (const auto* news = std::get_if<MemberNews>(&message)) {
    return {kind_of<MemberNews>(), news->number};
  }
  if (const auto* left = std::get_if<MemberLeft>(&message)) {
    return {kind_of<MemberNews>(), left->number};
  }
  if (const auto* shares = std::get_if<Shares>(&message)) {
    return {message.index(), kNobody, false, shares->serial};
  }
  if (const auto* share = std::get_if<MemberShare>(&message)) {
    return {message.index(), share->number};
  }
  if (const auto* proof = std::get_if<Proof>(&message)) {
    return {message.index(), kNobody, proof->of_video, proof->serial};
  }
  if (const auto* proof = std::get_if<MemberProof>(&message)) {
    return {message.index(), proof->number, proof->proof.of_video, proof->proof.serial};
  }
  if (const auto* chat = std::get_if<Chat>(&message)) {
    return {message.index(), kNobody, false, chat->serial};
  }
  if (const auto* chat = std::get_if<MemberChat>(&message)) {
    return {message.index(), chat->number, false, chat->chat.serial};
  }
  return {message.index(), kNobody};
}

bool Outbox::has_room_for(const Subject& subject) const {
  const bool is_proof = subject.kind == kind_of<Proof>() || subject.kind == kind_of<MemberProof>();
  const bool is_chat = subject.kind == kind_of<Chat>() || subject.kind == kind_of<MemberChat>();
  if (!is_proof && !is_chat) {
    return news_.size() < options_.news_max;
  }
  const auto [kind, about, of_video, serial] = subject;
  const auto first = news_.lower_bound({kind, about, of_video, 0});
  const auto last = news_.upper_bound({kind, about, of_video, UINT32_MAX});
  return news_.size() < options_.news_max &&
         static_cast<size_t>(std::distance(first, last)) <
             (is_proof ? options_.proofs_max : options_.chats_max);
}

bool Outbox::put(const RoomMessage& message) {
  const Subject subject = subject_of(message);
  const auto known = news_.find(subject);
  if (known == news_.end()) {
    if (!has_room_for(subject)) {
      return false;
    }
  } else if (known->second.on_its_way) {
    sent_.erase(*known->second.on_its_way);
  }
  news_[subject] = {
      .bytes = build_room_message(message),
      // Audio does not wait for the window either, and cannot be opened without them.
      .leave = subject.kind == kind_of<Shares>() || subject.kind == kind_of<MemberShare>()
                   ? session::Leave::kNow
                   : session::Leave::kWithinWindow,
      .on_its_way = {},
      .not_before = kTimeZero};
  has_waiting_ = true;
  return true;
}

void Outbox::clear() {
  news_.clear();
  sent_.clear();
  retry_at_ = kNever;
  has_waiting_ = false;
}

void Outbox::handle_outcome(TimePoint now, const session::MessageOutcome& outcome) {
  const auto sent = outcome.flow == options_.flow ? sent_.find(outcome.id) : sent_.end();
  if (sent == sent_.end()) {
    return;
  }
  const auto news = news_.find(sent->second);
  sent_.erase(sent);
  if (outcome.kind == session::MessageOutcome::Kind::kDelivered) {
    news_.erase(news);
    return;
  }
  news->second.on_its_way.reset();
  if (outcome.kind == session::MessageOutcome::Kind::kDropped) {
    news->second.not_before = now + options_.retry_after_drop;
  }
  has_waiting_ = true;
}

void Outbox::flush(TimePoint now, session::Endpoint& endpoint) {
  if (!has_waiting_ || endpoint.queued(options_.flow) >= options_.queued_max) {
    return;
  }
  retry_at_ = kNever;
  bool all_went = true;
  for (auto& [subject, news] : news_) {
    if (news.on_its_way) {
      continue;
    }
    if (news.not_before > now) {
      retry_at_ = std::min(retry_at_, news.not_before);
      all_went = false;
      continue;
    }
    if (endpoint.queued(options_.flow) >= options_.queued_max) {
      all_went = false;
      break;
    }
    const session::MessageId id = endpoint.send(now, options_.flow, news.bytes, news.leave);
    news.on_its_way = id;
    sent_.emplace(id, subject);
  }
  has_waiting_ = !all_went;
}

size_t Outbox::waiting(size_t kind) const {
  return static_cast<size_t>(
      std::distance(news_.lower_bound(Subject{kind}), news_.lower_bound(Subject{kind + 1})));
}

}  // namespace cress::room
