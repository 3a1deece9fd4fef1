#include "transport/secure/group/room_keys.hh"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::secure {
namespace {

// docs/protocol/wire.md, "Member cards"
constexpr std::byte kCardVersion{3};
constexpr size_t kInstanceOffset = 1;
constexpr size_t kCounterOffset = 17;
constexpr size_t kCardHeader = 25;
constexpr size_t kCardFixed =
    2 + sizeof(PublicKey) + sizeof(AgreementPublic) + 8 + 1 + sizeof(Signature);
static_assert(kCardHeader + kCardFixed + kRoomOthersMax * sizeof(CardGreeting) + kCardBodyMax +
                  kTagSize <=
              kCardSizeMax);

// docs/protocol/wire.md, "Sender secrets"
constexpr std::byte kShareVersion{1};
constexpr size_t kShareEpochAt = 1;
constexpr size_t kShareCounterAt = 5;
constexpr size_t kShareHeader = 13;

Secret next_media(const Secret& media) { return expand(media, "cress room next"); }

Secret media_after(Secret media, uint32_t epochs) {
  check(epochs <= kEpochMax, "RoomKeys: epoch out of range");
  for (; epochs > 0; --epochs) {
    media = next_media(media);
  }
  return media;
}

std::string label_with(std::string_view label, const InstanceId& instance) {
  std::string out{label};
  std::transform(instance.begin(), instance.end(), std::back_inserter(out),
                 [](std::byte byte) { return static_cast<char>(byte); });
  return out;
}

InstanceId random_instance() {
  InstanceId instance{};
  fill_random(instance);
  return instance;
}

/// What a card's signature covers: its header, and its text up to the signature.
std::vector<std::byte> signed_card(std::span<const std::byte> header,
                                   std::span<const std::byte> text) {
  return labelled("cress card 3", {header, text.first(text.size() - sizeof(Signature))});
}

/// What only the two of a pair have, and only with the room's link.
Secret pair_secret(const Secret& agreed, const Secret& card_root) {
  std::array<std::byte, 2 * Secret::kSize> both{};
  std::ranges::copy(agreed.bytes(), both.begin());
  std::ranges::copy(card_root.bytes(), both.begin() + Secret::kSize);
  const Secret secret = extract(both, "cress share 1");
  wipe(both);
  return secret;
}

/// Of shares that the presence `from` makes for the other one of a pair.
AeadKey share_key(Use use, const Secret& pair, const InstanceId& from) {
  return {Aead::kAes128Gcm, use, expand(pair, label_with("cress share", from))};
}

CardGreeting greeting_of(const InstanceId& instance) {
  CardGreeting greeting{};
  std::copy_n(instance.begin(), greeting.size(), greeting.begin());
  return greeting;
}

AeadKey card_key(Use use, const Secret& root, const InstanceId& instance) {
  return {Aead::kAes128Gcm, use, expand(root, label_with("cress card", instance))};
}

}  // namespace

struct RoomKeys::Card {
  InstanceId instance{};
  uint64_t counter = 0;
  CardText text;
};

RoomKeys::RoomKeys(const Secret& media, uint16_t member, RoomKeysOptions options)
    : options_(std::move(options)),
      card_root_(expand(media, "cress room card")),
      member_(member),
      instance_(random_instance()),
      media_(media_after(media, options.epoch)),
      epoch_(options.epoch),
      announced_(options.epoch),
      secret_(options_.draw_secret()),
      sealing_(make_key(Use::kSeal, member, instance_, epoch_, secret_)) {
  check(member > 0, "RoomKeys: members are numbered from 1");
}

// ---- cards

std::vector<std::byte> RoomKeys::make_card(std::span<const std::byte> body) {
  card_due_ = false;
  std::vector<std::byte> card;
  card.reserve(kCardSizeMax);
  card.push_back(kCardVersion);
  card.insert(card.end(), instance_.begin(), instance_.end());
  const uint64_t counter = next_card_++;
  append_number(counter, 8, card);
  CardText text{.member = member_,
                .key = options_.identity.public_key(),
                .agreement = agreement_.public_key(),
                .next_counter = next_counter_,
                .greetings = {},
                .body = {}};
  for (const auto& [number, greeted] : members_) {
    text.greetings.push_back(greeting_of(greeted.instance));
  }
  text.body.assign(body.begin(), body.end());
  append_card_text(text, card);
  const Signature signature = options_.identity.sign(
      signed_card(std::span{card}.first(kCardHeader), std::span{card}.subspan(kCardHeader)));
  std::ranges::copy(signature, card.end() - sizeof(Signature));
  card.resize(card.size() + kTagSize);
  const std::span<std::byte> all{card};
  card_key(Use::kSeal, card_root_, instance_)
      .seal(counter, all.first(kCardHeader),
            all.subspan(kCardHeader, all.size() - kCardHeader - kTagSize), all.last<kTagSize>());
  return card;
}

Result<RoomKeys::Card, CardError> RoomKeys::open_card(std::span<const std::byte> bytes) const {
  if (bytes.size() < kCardHeader + kTagSize) {
    return CardError::kTruncated;
  }
  if (bytes.size() > kCardSizeMax) {
    return CardError::kTooLong;
  }
  if (bytes[0] != kCardVersion) {
    return CardError::kBadVersion;
  }
  Card card;
  std::copy_n(bytes.begin() + kInstanceOffset, card.instance.size(), card.instance.begin());
  card.counter = number_at(bytes, kCounterOffset, 8);
  const auto sealed = bytes.subspan(kCardHeader, bytes.size() - kCardHeader - kTagSize);
  std::vector<std::byte> text{sealed.begin(), sealed.end()};
  if (!card_key(Use::kOpen, card_root_, card.instance)
           .open(card.counter, bytes.first(kCardHeader), text, bytes.last<kTagSize>())) {
    return CardError::kBadTag;
  }
  auto parsed = parse_card_text(text);
  if (!parsed) {
    return parsed.error();
  }
  card.text = std::move(parsed).value();
  if (!is_signed_by(card.text.key, signed_card(bytes.first(kCardHeader), text),
                    card.text.signature)) {
    return CardError::kBadSignature;
  }
  return card;
}

bool RoomKeys::greets_us(const Card& card) const {
  const auto& greetings = card.text.greetings;
  return std::find(greetings.begin(), greetings.end(), greeting_of(instance_)) != greetings.end();
}

Result<CardNews, CardError> RoomKeys::handle_card(uint16_t member,
                                                  std::span<const std::byte> bytes) {
  const auto opened = open_card(bytes);
  if (!opened) {
    return opened.error();
  }
  const Card& card = *opened;
  if (card.instance == instance_ || card.text.member == member_) {
    return CardError::kOwn;
  }
  if (card.text.member != member || member == 0) {
    return CardError::kWrongMember;
  }
  if (std::find(over_.begin(), over_.end(), Presence{member, card.instance}) != over_.end()) {
    return CardError::kOver;
  }
  const auto agreed = agreement_.agree(card.text.agreement);
  if (!agreed) {
    return CardError::kMalformed;
  }
  const bool is_live = greets_us(card);
  auto known = members_.find(member);
  const bool is_new = known == members_.end() || known->second.instance != card.instance ||
                      known->second.key != card.text.key;
  if (!is_new && card.counter < known->second.card_counter) {
    return CardError::kStale;
  }
  if (known == members_.end() && members_.size() == kRoomOthersMax) {
    return CardError::kFull;
  }
  if (is_new && known != members_.end()) {
    if (known->second.is_live && !is_live) {
      return CardError::kStale;  // a member known to be present is not replaced by a replay
    }
    end_presence({member, known->second.instance});
    members_.erase(known);
  }
  Member& entry = members_[member];
  if (is_new) {
    entry.instance = card.instance;
    entry.key = card.text.key;
    entry.checker = FrameChecker{card.text.next_counter};
    entry.share_key = pair_secret(*agreed, card_root_);
    card_due_ = true;
  }
  entry.share_due = entry.share_due || (is_live && !entry.is_live);
  entry.checker.handle_counter(card.text.next_counter);
  entry.is_live = entry.is_live || is_live;
  entry.card_counter = card.counter;
  entry.body = card.text.body;
  return CardNews{entry.instance, entry.key, entry.body, entry.is_live, is_new};
}

void RoomKeys::end_presence(const Presence& presence) {
  if (over_.size() == kPresencesOverMax) {
    over_.pop_front();
  }
  over_.push_back(presence);
}

void RoomKeys::handle_left(TimePoint now, uint16_t member, uint32_t epoch) {
  bool had_our_secret = false;
  if (const auto known = members_.find(member); known != members_.end()) {
    had_our_secret = known->second.is_live;
    end_presence({member, known->second.instance});
    members_.erase(known);
  }
  // Reports of several leaves may arrive in any order: each brings us closer to the newest.
  announced_ = std::max(announced_, std::min(epoch, kEpochMax));
  const uint32_t before = epoch_;
  advance_to(now, std::min(announced_, epoch_ + kEpochsAhead));
  if (had_our_secret && epoch_ == before && sealing_ahead_ < kEpochsAhead) {
    ++sealing_ahead_;
    renew_sealing();
  }
}

bool RoomKeys::is_live(uint16_t member) const {
  const auto known = members_.find(member);
  return known != members_.end() && known->second.is_live;
}

size_t RoomKeys::opening_keys() const {
  size_t keys = 0;
  for (const auto& [number, member] : members_) {
    keys += member.keys.size();
  }
  return keys;
}

// ---- epochs

void RoomKeys::advance_to(TimePoint now, uint32_t epoch) {
  if (epoch <= epoch_) {
    return;
  }
  // The sealing epoch must not repeat: one that we have sealed in already has another secret.
  sealing_ahead_ -= std::min(sealing_ahead_, epoch - epoch_ - 1);
  for (; epoch_ < epoch; ++epoch_) {
    if (past_.size() == kPastEpochsMax) {
      past_.pop_front();
    }
    past_.push_back({epoch_, media_, now + kEpochKept});
    media_ = next_media(media_);
  }
  renew_sealing();
}

void RoomKeys::renew_sealing() {
  sealed_with_key_ = 0;
  secret_ = options_.draw_secret();
  sealing_ = make_key(Use::kSeal, member_, instance_, sealing_epoch(), secret_);
  for (auto& [number, member] : members_) {
    member.share_due = member.is_live;
  }
}

TimePoint RoomKeys::poll_timeout() const {
  return past_.empty() ? kNever : past_.front().until + Duration{1};
}

void RoomKeys::handle_timeout(TimePoint now) {
  if (now < poll_timeout()) {
    return;
  }
  std::erase_if(past_, [&](const PastEpoch& past) { return now > past.until; });
  const uint32_t oldest = oldest_epoch();
  for (auto& [number, member] : members_) {
    std::erase_if(member.keys, [&](const OpenKey& key) { return key.epoch < oldest; });
    std::erase_if(member.secrets, [&](const auto& secret) { return secret.first < oldest; });
  }
}

/// The epoch nearest to ours that the KID can mean, if its keys are in use.
std::optional<uint32_t> RoomKeys::epoch_of(uint64_t kid) const {
  const auto distance = static_cast<int8_t>(static_cast<uint8_t>(kid % kEpochsInKid - epoch_));
  if (distance >= 0) {
    const uint32_t epoch = epoch_ + static_cast<uint32_t>(distance);
    return distance <= static_cast<int8_t>(kEpochsAhead) && epoch <= kEpochMax
               ? std::optional{epoch}
               : std::nullopt;
  }
  const int64_t epoch = int64_t{epoch_} + distance;
  const bool is_kept = std::any_of(past_.begin(), past_.end(),
                                   [&](const PastEpoch& past) { return past.epoch == epoch; });
  return is_kept ? std::optional{static_cast<uint32_t>(epoch)} : std::nullopt;
}

Secret RoomKeys::media_of(uint32_t epoch) const {
  for (const PastEpoch& past : past_) {
    if (past.epoch == epoch) {
      return past.media;
    }
  }
  return media_after(media_, epoch - epoch_);
}

SFrameKey RoomKeys::make_key(Use use, uint16_t member, const InstanceId& instance, uint32_t epoch,
                             const Secret& secret) const {
  std::array<std::byte, 2 * Secret::kSize> both{};
  std::ranges::copy(media_of(epoch).bytes(), both.begin());
  std::ranges::copy(secret.bytes(), both.begin() + Secret::kSize);
  const Secret base = expand(extract(both, "cress frame 1"), label_with("cress sender", instance));
  wipe(both);
  return {options_.suite, use, member * kEpochsInKid + epoch % kEpochsInKid, base.bytes()};
}

// ---- sender secrets

std::optional<RoomKeys::Share> RoomKeys::poll_share() {
  const auto due =
      std::ranges::find_if(members_, [](const auto& entry) { return entry.second.share_due; });
  if (due == members_.end()) {
    return std::nullopt;
  }
  auto& [number, member] = *due;
  member.share_due = false;
  Share share{.to = number, .bytes = std::vector<std::byte>(kShareSize)};
  const uint64_t counter = next_share_++;
  const std::span<std::byte> all{share.bytes};
  all[0] = kShareVersion;
  put_number(all, kShareEpochAt, 4, sealing_epoch());
  put_number(all, kShareCounterAt, 8, counter);
  std::ranges::copy(secret_.bytes(), all.begin() + kShareHeader);
  share_key(Use::kSeal, member.share_key, instance_)
      .seal(counter, all.first(kShareHeader), all.subspan(kShareHeader, Secret::kSize),
            all.last<kTagSize>());
  return share;
}

bool RoomKeys::handle_share(TimePoint now, uint16_t member, std::span<const std::byte> bytes) {
  handle_timeout(now);
  const auto known = members_.find(member);
  if (known == members_.end() || bytes.size() != kShareSize || bytes[0] != kShareVersion) {
    return false;
  }
  Member& sender = known->second;
  Secret secret;
  std::ranges::copy(bytes.subspan(kShareHeader, Secret::kSize), secret.bytes().begin());
  const auto epoch = static_cast<uint32_t>(number_at(bytes, kShareEpochAt, 4));
  if (!share_key(Use::kOpen, sender.share_key, sender.instance)
           .open(number_at(bytes, kShareCounterAt, 8), bytes.first(kShareHeader), secret.bytes(),
                 bytes.last<kTagSize>())) {
    return false;
  }
  if (epoch < oldest_epoch()) {
    return true;
  }
  if (sender.secrets.size() == kSecretsMax) {
    sender.secrets.erase(sender.secrets.begin());
  }
  sender.secrets.try_emplace(epoch, secret);
  return true;
}

}  // namespace cress::secure
