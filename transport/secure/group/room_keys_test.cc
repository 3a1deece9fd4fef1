#include "transport/secure/group/room_keys.hh"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "transport/base/big_endian.hh"
#include "transport/base/rng.hh"
#include "transport/secure/crypto/memory_test_tools.hh"
#include "transport/secure/handshake/credential.hh"

namespace cress::secure {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const Secret& media() {
  static const Secret secret = derive_room(bytes_of("a secret of sixteen or more")).media;
  return secret;
}

/// Seals the text of a card as somebody with the room's link can.
void seal_card(const InstanceId& instance, size_t header, std::vector<std::byte>& card) {
  const uint64_t counter = number_at(card, 17, 8);
  card.resize(card.size() + kTagSize);
  std::string label = "cress card";
  label.append(reinterpret_cast<const char*>(instance.data()), instance.size());
  const std::span<std::byte> all{card};
  AeadKey{Aead::kAes128Gcm, Use::kSeal, expand(expand(media(), "cress room card"), label)}.seal(
      counter, all.first(header), all.subspan(header, all.size() - header - kTagSize),
      all.last<kTagSize>());
}

/// A card as somebody with the room's link can make it: with any instance (docs/protocol/wire.md,
/// "Member cards").
std::vector<std::byte> forge_card(const InstanceId& instance, uint16_t member) {
  std::vector<std::byte> card{std::byte{3}};
  card.insert(card.end(), instance.begin(), instance.end());
  append_number(1, 8, card);
  const size_t header = card.size();
  const SigningKey key;
  CardText text{.member = member,
                .key = key.public_key(),
                .agreement = AgreementKey{}.public_key(),
                .greetings = {},
                .body = {}};
  append_card_text(text, card);
  const auto covered = std::span{card}.first(card.size() - sizeof(Signature));
  std::ranges::copy(key.sign(labelled("cress card 3", {covered})), card.end() - sizeof(Signature));
  seal_card(instance, header, card);
  return card;
}

const std::vector<std::byte> kMetadata = bytes_of("frame 7");

Secret known_secret() {
  Secret secret;
  secret.bytes()[0] = std::byte{9};
  return secret;
}

/// Members, and a relay that presents every member's newest card to all.
struct Room {
  std::map<uint16_t, std::unique_ptr<RoomKeys>> members;
  std::map<uint16_t, std::vector<std::byte>> cards;
  uint32_t epoch = 0;
  TimePoint now = kTimeZero;
  std::function<Secret()> draw_secret = random_secret;
  bool shares_travel = true;  // before the next frame is opened
  struct Seen {
    uint16_t from;
    std::vector<std::byte> share;
  };
  std::vector<Seen> seen{};  // what passed through the relay

  RoomKeys& join(uint16_t number, const Secret& secret = media()) {
    RoomKeysOptions options{.epoch = epoch};
    options.draw_secret = draw_secret;
    members[number] = std::make_unique<RoomKeys>(secret, number, options);
    return *members[number];
  }
  void exchange_cards() {
    for (bool any = true; any;) {
      any = false;
      for (const auto& [number, keys] : members) {
        if (keys->card_due()) {
          any = true;
          cards[number] = keys->make_card(bytes_of("somebody"));
        }
      }
      for (const auto& [number, keys] : members) {
        for (const auto& [of, card] : cards) {
          if (of != number) {
            [[maybe_unused]] const auto news = keys->handle_card(of, card);
          }
        }
      }
    }
    exchange_shares();
  }
  void exchange_shares() {
    for (const auto& [from, keys] : members) {
      while (const auto share = keys->poll_share()) {
        seen.push_back({from, share->bytes});
        if (const auto to = members.find(share->to); to != members.end()) {
          EXPECT_TRUE(to->second->handle_share(now, from, share->bytes));
        }
      }
    }
  }
  void leave(uint16_t number) {
    members.erase(number);
    cards.erase(number);
    ++epoch;
    for (const auto& [other, keys] : members) {
      keys->handle_left(now, number, epoch);
    }
    exchange_shares();
  }
  std::vector<std::byte> seal(uint16_t from, std::string_view text = "picture") {
    return members.at(from)->seal(now, MediaKind::kVideo, kMetadata, bytes_of(text));
  }
  Result<std::vector<std::byte>, SFrameError> open(uint16_t at, uint16_t from,
                                                   const std::vector<std::byte>& frame) {
    if (shares_travel) {
      exchange_shares();
    }
    return members.at(at)->open(now, from, MediaKind::kVideo, kMetadata, frame);
  }
  void expect_all_hear_all() {
    for (const auto& [from, sender] : members) {
      const auto frame = seal(from, "to all");
      for (const auto& [at, receiver] : members) {
        if (at != from) {
          const auto opened = open(at, from, frame);
          ASSERT_TRUE(opened) << from << " to " << at;
          EXPECT_EQ(*opened, bytes_of("to all"));
        }
      }
    }
  }
};

TEST(RoomSecrets, AccessRevealsNeitherMediaNorCallKeys) {
  const auto secret = bytes_of("a secret of sixteen or more");
  const RoomSecrets room = derive_room(secret);
  const Credential leg = room_credential(room.access);
  const Credential call = link_credential(secret);
  const std::set<std::string> all{text_of(room.access.bytes()), text_of(room.media.bytes()),
                                  text_of(leg.psk.bytes()), text_of(call.psk.bytes())};
  EXPECT_EQ(all.size(), 4U);
  EXPECT_NE(leg.identity, call.identity);
  EXPECT_EQ(leg.identity.size(), kIdentitySize);
  EXPECT_EQ(derive_room(secret), room);
  EXPECT_FALSE(derive_room(bytes_of("another secret of as many")) == room);
}

TEST(MemberCard, OnlyWrittenCardsAreParsed) {
  Rng rng{1};
  for (int i = 0; i < 3000; ++i) {
    CardText text{.member = static_cast<uint16_t>(rng.below(65'536)),
                  .key = {static_cast<std::byte>(i)},
                  .agreement = {static_cast<std::byte>(i + 1)},
                  .next_counter = rng.below(1U << 30U),
                  .greetings = std::vector<CardGreeting>(rng.below(kRoomOthersMax + 1)),
                  .body = std::vector<std::byte>(rng.below(kCardBodyMax + 1))};
    for (CardGreeting& greeting : text.greetings) {
      greeting[rng.below(8)] = static_cast<std::byte>(rng.below(256));
    }
    text.signature[rng.below(64)] = static_cast<std::byte>(i);
    std::vector<std::byte> bytes;
    append_card_text(text, bytes);
    EXPECT_EQ(*parse_card_text(bytes), text);
    const size_t without_body = bytes.size() - text.body.size();
    for (size_t cut = 0; cut < without_body; ++cut) {
      EXPECT_FALSE(parse_card_text(std::span{bytes}.first(cut)));
    }
    bytes.resize(without_body + kCardBodyMax + 1);
    EXPECT_FALSE(parse_card_text(bytes)) << "too long a body";
  }
  constexpr size_t kGreetingsAt = 74;
  constexpr size_t kLeast = kGreetingsAt + 1 + sizeof(Signature);
  std::vector<std::byte> text(kLeast + 8 * (kRoomOthersMax + 1));
  text[kGreetingsAt] = std::byte{kRoomOthersMax + 1};
  EXPECT_FALSE(parse_card_text(text)) << "too many greetings";
  EXPECT_TRUE(parse_card_text(std::vector<std::byte>(kLeast)));
}

TEST(RoomKeys, AllMembersOpenFramesAfterExchangingCards) {
  Room room;
  for (uint16_t number = 1; number <= 5; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  room.expect_all_hear_all();
  room.join(400);  // later, and with a large number
  room.exchange_cards();
  room.expect_all_hear_all();
}

TEST(RoomKeys, RelaysKeysOpenAndForgeNothing) {
  Room room;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  RoomKeys& relay = room.join(3, derive_room(bytes_of("a secret of sixteen or more")).access);
  for (const auto& [number, card] : room.cards) {
    EXPECT_EQ(relay.handle_card(number, card).error(), CardError::kBadTag);
  }
  EXPECT_EQ(room.members.at(1)->handle_card(3, relay.make_card({})).error(), CardError::kBadTag);
  EXPECT_EQ(room.open(3, 1, room.seal(1)).error(), SFrameError::kUnknownKey);
}

/// The key of a presence whose secret a member was given (docs/protocol/wire.md, "Sealed frames").
SFrameKey key_of(const RoomKeys& sender, Use use) {
  std::string label = "cress sender";
  label.append(reinterpret_cast<const char*>(sender.instance().data()), sender.instance().size());
  std::vector<std::byte> both(media().bytes().begin(), media().bytes().end());
  const Secret secret = known_secret();
  both.insert(both.end(), secret.bytes().begin(), secret.bytes().end());
  const Secret base = expand(extract(both, "cress frame 1"), label);
  return {SFrameSuite::kAes128GcmSha256, use, uint64_t{sender.member()} * 256, base.bytes()};
}

/// What such a member can seal in its name.
std::vector<std::byte> forge_sealed(const RoomKeys& sender, uint64_t counter,
                                    std::span<const std::byte> metadata, std::string_view text) {
  return key_of(sender, Use::kSeal).seal(counter, metadata, bytes_of(text));
}
std::vector<std::byte> forge_frame(const RoomKeys& sender, uint64_t counter,
                                   std::string_view text) {
  return forge_sealed(sender, counter, kMetadata, text);
}

TEST(RoomKeys, WhoSendsInAnothersNameIsFoundByTheNextProof) {
  Room room;
  room.draw_secret = known_secret;
  for (uint16_t number = 1; number <= 3; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  ASSERT_TRUE(room.open(2, 1, room.seal(1)));
  const auto forged = forge_frame(*room.members.at(1), 1, "what 1 never said");
  EXPECT_TRUE(room.open(2, 1, forged)) << "at first nothing shows it";
  EXPECT_TRUE(room.open(3, 1, room.seal(1))) << "3 got the real one";
  EXPECT_TRUE(room.open(2, 1, room.seal(1)));
  room.now += 1500ms;
  const auto proof = room.members.at(1)->poll_proof(room.now);
  ASSERT_TRUE(proof);
  for (uint16_t at = 2; at <= 3; ++at) {
    EXPECT_TRUE(room.members.at(at)->handle_proof(room.now, 1, proof->bytes));
  }
  EXPECT_TRUE(room.members.at(2)->is_distrusted(1));
  EXPECT_EQ(room.open(2, 1, room.seal(1)).error(), SFrameError::kNotProven);
  EXPECT_FALSE(room.members.at(3)->is_distrusted(1));
  EXPECT_TRUE(room.open(3, 1, room.seal(1)));
}

TEST(RoomKeys, NobodyElseCanProveFrames) {
  Room room;
  for (uint16_t number = 1; number <= 3; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  (void)room.seal(1);
  (void)room.seal(3);
  room.now += 1500ms;
  const auto own = room.members.at(1)->poll_proof(room.now);
  const auto others = room.members.at(3)->poll_proof(room.now);
  ASSERT_TRUE(own && others);
  EXPECT_FALSE(room.members.at(2)->handle_proof(room.now, 1, others->bytes)) << "another's";
  EXPECT_FALSE(room.members.at(2)->handle_proof(room.now, 9, own->bytes)) << "nobody's";
  for (size_t i = 0; i < own->bytes.size(); ++i) {
    auto changed = own->bytes;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(room.members.at(2)->handle_proof(room.now, 1, changed)) << i;
  }
  EXPECT_TRUE(room.members.at(2)->handle_proof(room.now, 1, own->bytes));
}

TEST(RoomKeys, AForgedCounterFarAheadSilencesNobody) {
  Room room;
  room.draw_secret = known_secret;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  ASSERT_TRUE(room.open(2, 1, room.seal(1)));
  const auto forged = forge_frame(*room.members.at(1), 1U << 20U, "push the window");
  EXPECT_EQ(room.open(2, 1, forged).error(), SFrameError::kNotProven);
  EXPECT_TRUE(room.open(2, 1, room.seal(1)));
}

// ---- chat

Room three_who_know() {
  Room room;
  room.draw_secret = known_secret;
  for (uint16_t number = 1; number <= 3; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  return room;
}

TEST(RoomKeys, ALineOfChatOpensOnceAtEachMember) {
  Room room = three_who_know();
  for (const size_t size : {size_t{0}, size_t{5}, RoomKeys::kChatPlainMax}) {
    const std::vector<std::byte> plain(size, std::byte{'x'});
    const auto line = room.members.at(1)->seal_chat(room.now, plain);
    EXPECT_LE(line.size(), RoomKeys::kChatSizeMax);
    for (uint16_t at = 2; at <= 3; ++at) {
      EXPECT_EQ(room.members.at(at)->open_chat(room.now, 1, line), plain);
      EXPECT_EQ(room.members.at(at)->open_chat(room.now, 1, line).error(), SFrameError::kReplayed);
    }
    EXPECT_EQ(room.open(2, 1, line).error(), SFrameError::kBadTag) << "no frame";
  }
  EXPECT_EQ(room.members.at(2)->open_chat(room.now, 1, room.seal(1)).error(), SFrameError::kBadTag);
}

TEST(RoomKeys, ALineOfChatInAnothersNameNeverOpens) {
  Room room = three_who_know();
  RoomKeys& reader = *room.members.at(2);
  const RoomKeys& victim = *room.members.at(1);
  const std::vector<std::byte> metadata = bytes_of("c");
  const auto as_another = [&](uint64_t counter, std::string_view text) {
    return forge_sealed(victim, counter, metadata, text);
  };
  EXPECT_EQ(reader.open_chat(room.now, 1, as_another(70, "")).error(), SFrameError::kNotProven);
  const std::string unsigned_line = "I owe you" + std::string(sizeof(Signature), 's');
  EXPECT_EQ(reader.open_chat(room.now, 1, as_another(71, unsigned_line)).error(),
            SFrameError::kNotProven);
  // A true line with its signature, sealed again as if it were said again.
  const auto line = room.members.at(1)->seal_chat(room.now, bytes_of("yes"));
  SFrameKey key = key_of(victim, Use::kOpen);
  const auto parsed = parse_sframe_header(line);
  ASSERT_TRUE(parsed);
  const auto opened = key.open(*parsed, metadata, line);
  ASSERT_TRUE(opened) << "whoever has the link and the secret can read it";
  EXPECT_EQ(reader.open_chat(room.now, 1, as_another(72, text_of(*opened))).error(),
            SFrameError::kNotProven);
  EXPECT_EQ(reader.open_chat(room.now, 3, line).error(), SFrameError::kUnknownKey);
  EXPECT_TRUE(reader.open_chat(room.now, 1, line)) << "the forgeries did no harm";
  EXPECT_FALSE(reader.is_distrusted(1));
}

TEST(RoomKeys, ModifiedAndCutLinesOfChatNeverOpen) {
  Room room = three_who_know();
  const auto line = room.members.at(1)->seal_chat(room.now, bytes_of("hello"));
  for (size_t i = 0; i < line.size(); ++i) {
    auto changed = line;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(room.members.at(2)->open_chat(room.now, 1, changed)) << i;
    EXPECT_FALSE(room.members.at(2)->open_chat(room.now, 1, std::span{line}.first(i))) << i;
  }
  EXPECT_TRUE(room.members.at(2)->open_chat(room.now, 1, line));
}

TEST(RoomKeys, ALineOfChatMayBeOvertakenByAMinuteOfFrames) {
  Room room = three_who_know();
  const auto line = room.members.at(1)->seal_chat(room.now, bytes_of("late"));
  for (int i = 0; i < 5000; ++i) {
    const auto frame = room.seal(1);
    if (i % 500 == 0) {
      (void)room.open(2, 1, frame);
    }
  }
  EXPECT_TRUE(room.members.at(2)->open_chat(room.now, 1, line));
}

TEST(RoomKeys, OfManyLinesNoneOpensTwice) {
  Room room = three_who_know();
  std::vector<std::vector<std::byte>> lines;
  for (int i = 0; i < 300; ++i) {
    lines.push_back(room.members.at(1)->seal_chat(room.now, bytes_of(std::to_string(i))));
    EXPECT_TRUE(room.members.at(2)->open_chat(room.now, 1, lines.back()));
  }
  for (const auto& line : lines) {
    EXPECT_EQ(room.members.at(2)->open_chat(room.now, 1, line).error(), SFrameError::kReplayed);
  }
}

TEST(RoomKeys, LinesOfChatDoNotMakeTheirWriterSuspect) {
  Room room = three_who_know();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(room.open(2, 1, room.seal(1)));
    ASSERT_TRUE(room.members.at(2)->open_chat(
        room.now, 1, room.members.at(1)->seal_chat(room.now, bytes_of("and"))));
  }
  room.now += 1500ms;
  const auto proof = room.members.at(1)->poll_proof(room.now);
  ASSERT_TRUE(proof);
  EXPECT_TRUE(room.members.at(2)->handle_proof(room.now, 1, proof->bytes));
  EXPECT_FALSE(room.members.at(2)->is_distrusted(1));
  EXPECT_TRUE(room.open(2, 1, room.seal(1)));
}

TEST(RoomKeys, ACardIsOfTheKeyInIt) {
  Room room;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  const auto signed_by_another = [](const RoomKeys& owner) {
    std::vector<std::byte> card{std::byte{3}};
    card.insert(card.end(), owner.instance().begin(), owner.instance().end());
    append_number(100, 8, card);
    const size_t header = card.size();
    CardText text{.member = 1,
                  .key = owner.public_key(),
                  .agreement = AgreementKey{}.public_key(),
                  .greetings = {},
                  .body = {}};
    append_card_text(text, card);
    const auto covered = std::span{card}.first(card.size() - sizeof(Signature));
    std::ranges::copy(SigningKey{}.sign(labelled("cress card 3", {covered})),
                      card.end() - sizeof(Signature));
    seal_card(owner.instance(), header, card);
    return card;
  };
  EXPECT_EQ(room.members.at(2)->handle_card(1, signed_by_another(*room.members.at(1))).error(),
            CardError::kBadSignature);
}

TEST(RoomKeys, WhoLeftOpensNothingThatIsSealedAfterwards) {
  Room room;
  for (uint16_t number = 1; number <= 3; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  // It keeps all that it had, and goes on to take part in everything that the relay could give it.
  const auto former = std::move(room.members.at(3));
  room.leave(3);
  former->handle_left(room.now, 500, room.epoch);
  const auto frame = room.seal(1);
  EXPECT_TRUE(room.open(2, 1, frame));
  EXPECT_EQ(former->epoch(), room.members.at(2)->epoch());
  EXPECT_EQ(former->open(room.now, 1, MediaKind::kVideo, kMetadata, frame).error(),
            SFrameError::kNoSecretYet);
  const auto card = room.members.at(1)->make_card({});
  EXPECT_TRUE(former->handle_card(1, card));
  EXPECT_FALSE(room.members.at(1)->poll_share()) << "nothing is sealed for who left";
  room.seen.clear();
  room.join(5);
  room.leave(2);
  room.join(4);
  room.exchange_cards();
  // All that the relay and the network saw since then.
  EXPECT_GE(room.seen.size(), 4U);
  for (const auto& [from, card_of] : room.cards) {
    (void)former->handle_card(from, card_of);
  }
  for (const auto& [from, share] : room.seen) {
    EXPECT_FALSE(former->handle_share(room.now, from, share));
  }
  for (const auto& [from, keys] : room.members) {
    EXPECT_FALSE(former->open(room.now, from, MediaKind::kVideo, kMetadata, room.seal(from)));
  }
}

TEST(RoomKeys, ASecretIsForOneMemberFromOneMember) {
  Room room;
  for (uint16_t number = 1; number <= 3; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  for (const auto& [number, keys] : room.members) {
    keys->handle_left(room.now, 500, 1);
  }
  room.shares_travel = false;
  const auto share = room.members.at(1)->poll_share();
  ASSERT_TRUE(share);
  ASSERT_EQ(share->to, 2);
  EXPECT_EQ(share->bytes.size(), RoomKeys::kShareSize);
  EXPECT_FALSE(room.members.at(3)->handle_share(room.now, 1, share->bytes)) << "for 2";
  EXPECT_FALSE(room.members.at(2)->handle_share(room.now, 3, share->bytes)) << "from 1";
  EXPECT_FALSE(room.members.at(1)->handle_share(room.now, 2, share->bytes)) << "reflected";
  EXPECT_FALSE(room.members.at(2)->handle_share(room.now, 9, share->bytes)) << "from nobody";
  for (size_t i = 0; i < share->bytes.size(); ++i) {
    auto changed = share->bytes;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(room.members.at(2)->handle_share(room.now, 1, changed)) << i;
    EXPECT_FALSE(room.members.at(2)->handle_share(room.now, 1, std::span{share->bytes}.first(i)));
  }
  const auto frame = room.seal(1);
  EXPECT_EQ(room.open(2, 1, frame).error(), SFrameError::kNoSecretYet);
  EXPECT_TRUE(room.members.at(2)->handle_share(room.now, 1, share->bytes));
  EXPECT_TRUE(room.members.at(2)->handle_share(room.now, 1, share->bytes)) << "again: no matter";
  EXPECT_TRUE(room.open(2, 1, frame));
}

TEST(RoomKeys, ALeaveWithoutANewEpochChangesTheSecretToo) {
  Room room;
  for (uint16_t number = 1; number <= 3; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  const auto former = std::move(room.members.at(3));
  room.members.erase(3);
  for (const auto& [number, keys] : room.members) {
    keys->handle_left(room.now, 3, room.epoch);
  }
  room.exchange_shares();
  const auto frame = room.seal(1);
  EXPECT_FALSE(former->open(room.now, 1, MediaKind::kVideo, kMetadata, frame));
  EXPECT_TRUE(room.open(2, 1, frame));
  room.leave(2);
  EXPECT_EQ(room.members.at(1)->sealing_epoch(), 2U) << "not back to an epoch sealed in before";
}

TEST(RoomKeys, OneIdentityHasOneKeyAtEveryJoin) {
  const SigningKey identity;
  RoomKeys first{media(), 1, {.identity = identity}};
  RoomKeys second{media(), 2, {.identity = identity}};
  RoomKeys other{media(), 3};
  EXPECT_EQ(first.public_key(), second.public_key());
  EXPECT_NE(first.instance(), second.instance());
  EXPECT_NE(first.public_key(), other.public_key());
}

TEST(RoomKeys, AFrameOpensOnceAsItsSendersAndUnchanged) {
  Room room;
  room.join(1);
  room.join(2);
  room.join(3);
  room.exchange_cards();
  const auto frame = room.seal(1);
  EXPECT_EQ(room.open(2, 3, frame).error(), SFrameError::kUnknownKey) << "shown as another's";
  EXPECT_EQ(
      room.members.at(2)->open(room.now, 1, MediaKind::kVideo, bytes_of("frame 8"), frame).error(),
      SFrameError::kBadTag);
  for (size_t i = 0; i < frame.size(); ++i) {
    auto changed = frame;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(room.open(2, 1, changed)) << i;
  }
  EXPECT_TRUE(room.open(2, 1, frame)) << "nothing above had an effect";
  EXPECT_EQ(room.open(2, 1, frame).error(), SFrameError::kReplayed);
  EXPECT_FALSE(room.open(1, 1, frame)) << "reflected";
}

TEST(RoomKeys, OvertakenFramesOpenToo) {
  Room room;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  std::vector<std::vector<std::byte>> frames;
  for (int i = 0; i < 500; ++i) {
    frames.push_back(room.seal(1));
  }
  Rng rng{1};
  for (size_t i = frames.size(); i-- > 1;) {
    std::swap(frames[i], frames[rng.below(i + 1)]);
  }
  for (const auto& frame : frames) {
    EXPECT_TRUE(room.open(2, 1, frame));
    EXPECT_FALSE(room.open(2, 1, frame));
  }
}

TEST(RoomKeys, KeyAndCounterAreNeverReused) {
  // Same plain text, same number, same counters: if a key were used twice, ciphertexts would
  // repeat.
  std::set<std::string> seen;
  Room room;
  for (int join = 0; join < 20; ++join) {
    room.join(1);
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(seen.insert(text_of(room.seal(1, "the same long text, always"))).second);
    }
  }
}

TEST(RoomKeys, RecordedCallDoesNotOpenForALaterMember) {
  Room yesterday;
  yesterday.join(1);
  yesterday.join(2);
  yesterday.exchange_cards();
  const auto frame = yesterday.seal(1);

  Room today;
  RoomKeys& victim = today.join(2);
  const auto news = victim.handle_card(1, yesterday.cards.at(1));
  ASSERT_TRUE(news) << "the card is authentic";
  EXPECT_FALSE(news->is_live) << "but greets a presence that is over";
  EXPECT_FALSE(today.open(2, 1, frame));
  // And no live member is displaced by it.
  today.join(1);
  today.exchange_cards();
  EXPECT_TRUE(victim.is_live(1)) << "the true one takes the number from the recording";
  EXPECT_FALSE(victim.handle_card(1, yesterday.cards.at(1)));
  EXPECT_TRUE(victim.is_live(1));
  today.expect_all_hear_all();
}

// An attacker recorded all that passed through the relay, and gets the link after the call.
TEST(RoomKeys, TheLinkOpensNoRecordedCall) {
  Room room;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  std::vector<std::vector<std::byte>> frames;
  for (int i = 0; i < 3; ++i) {
    frames.push_back(room.seal(1));
    EXPECT_TRUE(room.open(2, 1, frames.back()));
  }
  for (const uint16_t own : {uint16_t{2}, uint16_t{3}}) {
    RoomKeys later{media(), own};
    EXPECT_TRUE(later.handle_card(1, room.cards.at(1))) << "names can be read";
    EXPECT_FALSE(room.seen.empty());
    for (const auto& [from, share] : room.seen) {
      EXPECT_FALSE(later.handle_share(room.now, from, share));
    }
    for (const auto& frame : frames) {
      EXPECT_FALSE(later.open(room.now, 1, MediaKind::kVideo, kMetadata, frame));
    }
  }
}

TEST(RoomKeys, AnInventedEpochInAWelcomeSilencesTheNewcomerAlone) {
  Room room;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  room.epoch = 200;  // says the relay to the third
  const RoomKeys& newcomer = room.join(3);
  room.exchange_cards();
  EXPECT_EQ(newcomer.epoch(), 200U);
  EXPECT_FALSE(room.open(3, 1, room.seal(1)));
  EXPECT_FALSE(room.open(1, 3, room.seal(3)));
  EXPECT_EQ(room.members.at(1)->epoch(), 0U);
  EXPECT_TRUE(room.open(2, 1, room.seal(1)));
  EXPECT_TRUE(room.open(1, 2, room.seal(2)));
}

TEST(RoomKeys, FramesBeforeALeaveCannotBeReplayedAfterIt) {
  Room room;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  const auto card = room.cards.at(1);
  const auto frame = room.seal(1);
  room.leave(1);
  EXPECT_EQ(room.members.at(2)->handle_card(1, card).error(), CardError::kOver);
  EXPECT_EQ(room.open(2, 1, frame).error(), SFrameError::kUnknownKey);
}

TEST(RoomKeys, ModifiedCardsOnlyCauseFailures) {
  Room room;
  room.join(1);
  room.join(2);
  room.join(3);
  room.exchange_cards();
  RoomKeys& keys = *room.members.at(3);
  const auto one = room.cards.at(1);
  EXPECT_EQ(keys.handle_card(2, one).error(), CardError::kWrongMember);
  EXPECT_EQ(keys.handle_card(0, one).error(), CardError::kWrongMember);
  EXPECT_EQ(keys.handle_card(1, room.cards.at(3)).error(), CardError::kOwn);
  const auto again = keys.handle_card(1, one);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_new);
  const auto newer = room.members.at(1)->make_card(bytes_of("muted"));
  EXPECT_EQ(keys.handle_card(1, newer)->body, bytes_of("muted"));
  EXPECT_EQ(keys.handle_card(1, one).error(), CardError::kStale);
  for (size_t i = 0; i < newer.size(); ++i) {
    auto changed = newer;
    changed[i] ^= std::byte{4};
    EXPECT_FALSE(keys.handle_card(1, changed)) << i;
    EXPECT_FALSE(keys.handle_card(1, std::span{newer}.first(i))) << i;
  }
  EXPECT_EQ(keys.handle_card(1, std::vector<std::byte>(kCardSizeMax + 1)).error(),
            CardError::kTooLong);
  room.expect_all_hear_all();
}

TEST(RoomKeys, LeaveMovesAllToTheNextEpochInAnyOrder) {
  Room room;
  for (uint16_t number = 1; number <= 4; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  room.now += 5s;
  const auto before = room.seal(2);
  room.members.erase(4);
  room.cards.erase(4);
  room.epoch = 1;
  room.members.at(1)->handle_left(room.now, 4, 1);  // the others do not know yet
  EXPECT_EQ(room.members.at(1)->epoch(), 1U);
  EXPECT_TRUE(room.open(1, 2, before)) << "of the epoch before, in transit";
  EXPECT_TRUE(room.open(2, 1, room.seal(1)));
  EXPECT_EQ(room.members.at(2)->epoch(), 0U) << "a frame moves nobody";
  room.now += 1s;
  room.members.at(2)->handle_left(room.now, 4, 1);
  room.members.at(3)->handle_left(room.now, 4, 1);
  for (const auto& [number, keys] : room.members) {
    EXPECT_EQ(keys->epoch(), 1U) << "one leave, one epoch: " << number;
  }
  room.expect_all_hear_all();
  room.join(5);  // the welcome names the epoch
  room.exchange_cards();
  EXPECT_EQ(room.members.at(5)->epoch(), 1U);
  room.expect_all_hear_all();
}

// A malicious member M with the room's link makes any authentic card. This one names the instance
// of member 1, and then M leaves, or gives its number another instance.
TEST(RoomKeys, ACardWithAnothersInstanceSilencesNobody) {
  for (const bool leaves : {true, false}) {
    Room room;
    room.join(1);
    room.join(2);
    room.exchange_cards();
    // M seals with the instance of member 1 as its own: forge_card below.
    RoomKeys& newcomer = room.join(3);
    const auto forged = forge_card(room.members.at(1)->instance(), 9);
    ASSERT_TRUE(newcomer.handle_card(9, forged)) << "authentic";
    if (leaves) {
      newcomer.handle_left(room.now, 9, 0);
    } else {
      RoomKeys other{media(), 9};
      ASSERT_TRUE(newcomer.handle_card(9, other.make_card({})));
    }
    room.exchange_cards();
    EXPECT_TRUE(newcomer.is_live(1));
    room.expect_all_hear_all();
  }
}

TEST(RoomKeys, NoCardAndNoFrameMovesAnEpoch) {
  Room room;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  // Member 9 claims to be in the last epoch; its cards and frames are authentic.
  room.members[9] = std::make_unique<RoomKeys>(media(), 9, RoomKeysOptions{.epoch = kEpochMax});
  room.exchange_cards();
  (void)room.open(1, 9, room.seal(9));
  RoomKeys& newcomer = room.join(3);
  room.exchange_cards();
  EXPECT_EQ(newcomer.epoch(), 0U);
  EXPECT_EQ(room.members.at(1)->epoch(), 0U);
  room.members[9] = std::make_unique<RoomKeys>(media(), 9, RoomKeysOptions{.epoch = 4});
  room.exchange_cards();
  EXPECT_TRUE(room.open(1, 9, room.seal(9)));
  EXPECT_EQ(room.members.at(1)->epoch(), 0U);
  room.leave(9);
  EXPECT_EQ(room.members.at(1)->epoch(), 1U) << "rotation goes on";
  room.expect_all_hear_all();
}

TEST(RoomKeys, OneLeaveMovesBySoManyEpochsAtMost) {
  Room room;
  RoomKeys& keys = room.join(1);
  keys.handle_left(room.now, 2, kEpochMax);
  EXPECT_EQ(keys.epoch(), RoomKeys::kEpochsAhead);
  keys.handle_left(room.now, 3, 0);  // reported late; the newest epoch is known already
  EXPECT_EQ(keys.epoch(), 2 * RoomKeys::kEpochsAhead);
  RoomKeys last{media(), 1, {.epoch = kEpochMax}};
  last.handle_left(room.now, 3, kEpochMax + 1);
  EXPECT_EQ(last.epoch(), kEpochMax);
}

TEST(RoomKeys, TheEpochBeforeOpensForTenSecondsAndThenNoMore) {
  Room room;
  for (uint16_t number = 1; number <= 3; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  const auto first = room.seal(2);
  const auto second = room.seal(2);
  room.members.at(1)->handle_left(room.now, 3, 1);
  room.now += RoomKeys::kEpochKept;
  EXPECT_TRUE(room.open(1, 2, first));
  room.now += 1ms;
  EXPECT_EQ(room.open(1, 2, second).error(), SFrameError::kUnknownKey);
}

TEST(RoomKeys, EpochNumbersInKidsWrapSafely) {
  Room room;
  room.join(1);
  room.join(2);
  for (uint16_t i = 0; i < 300; ++i) {
    room.join(1000);
    room.exchange_cards();
    room.now += 3s;
    room.leave(1000);
    room.exchange_cards();
  }
  EXPECT_EQ(room.members.at(1)->epoch(), 300U);
  room.expect_all_hear_all();
  room.join(3);
  room.exchange_cards();
  EXPECT_EQ(room.members.at(3)->epoch(), 300U);
  room.expect_all_hear_all();
}

TEST(RoomKeys, AForgedEpochMovesNobody) {
  Room room;
  room.join(1);
  room.join(2);
  room.exchange_cards();
  const auto frame = room.seal(1);
  const auto parsed = parse_sframe_header(frame);
  for (uint64_t ahead = 1; ahead < 256; ++ahead) {
    std::vector<std::byte> forged;
    append_sframe_header({parsed->header.kid + ahead, parsed->header.counter}, forged);
    forged.insert(forged.end(), frame.begin() + static_cast<std::ptrdiff_t>(parsed->size),
                  frame.end());
    EXPECT_FALSE(room.open(2, 1, forged));
  }
  EXPECT_EQ(room.members.at(2)->epoch(), 0U);
  EXPECT_TRUE(room.open(2, 1, frame));
}

TEST(RoomKeys, ThousandMembersStayWithinTheMemoryBound) {
  Room room;
  RoomKeys& keys = room.join(1);
  size_t refused = 0;
  for (uint16_t number = 2; number < 1002; ++number) {
    RoomKeys other{media(), number};
    const auto news = keys.handle_card(number, other.make_card({}));
    refused += news ? 0 : 1;
  }
  EXPECT_EQ(refused, 1000 - kRoomOthersMax);
  EXPECT_LE(keys.make_card(std::vector<std::byte>(kCardBodyMax)).size(), kCardSizeMax);
}

TEST(RoomKeys, LargestRoomOpensAllFrames) {
  Room room;
  for (uint16_t number = 1; number <= kRoomOthersMax + 1; ++number) {
    room.join(number);
    if (number % 20 == 1) {
      room.exchange_cards();
    }
  }
  room.expect_all_hear_all();
}

// ---- limits, on both sides

/// Member `number` alone learns of a leave, and moves to the next epoch.
void next_epoch_of(Room& room, uint16_t number) {
  RoomKeys& keys = *room.members.at(number);
  const uint32_t before = keys.epoch();
  keys.handle_left(room.now, 500, before + 1);
  ASSERT_EQ(keys.epoch(), before + 1);
}

void two_members(Room& room) {
  room.join(1);
  room.join(2);
  room.exchange_cards();
}

TEST(RoomKeys, AfterItsMostFramesASenderBeginsTheNextKey) {
  EXPECT_EQ(RoomKeysOptions{}.frames_per_key, 16'777'216U);
  Room room;
  two_members(room);
  room.members[1] = std::make_unique<RoomKeys>(media(), 1, RoomKeysOptions{.frames_per_key = 5});
  room.exchange_cards();
  RoomKeys& sender = *room.members.at(1);
  for (uint32_t i = 0; i < 16; ++i) {
    const auto frame = room.seal(1);
    EXPECT_EQ(sender.sealing_epoch(), i / 5) << i;
    EXPECT_TRUE(room.open(2, 1, frame)) << i;
    EXPECT_EQ(room.members.at(2)->epoch(), 0U) << i;
  }
  next_epoch_of(room, 1);
  EXPECT_EQ(sender.sealing_epoch(), 4U);
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(room.open(2, 1, room.seal(1)) || i == 5);
    EXPECT_EQ(sender.sealing_epoch(), 4 + i / 5) << "counted from the key's begin";
  }
  next_epoch_of(room, 2);
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(room.open(2, 1, room.seal(1))) << i;
  }
  EXPECT_EQ(sender.sealing_epoch(), sender.epoch() + RoomKeys::kEpochsAhead);
}

TEST(RoomKeys, KeysOfAPastEpochAreErasedWhenItIsOver) {
  Room room;
  for (uint16_t number = 1; number <= 3; ++number) {
    room.join(number);
  }
  room.exchange_cards();
  const RoomKeys& keys = *room.members.at(1);
  EXPECT_EQ(keys.opening_keys(), 0U);
  for (const uint16_t from : {uint16_t{2}, uint16_t{3}}) {
    EXPECT_TRUE(room.open(1, from, room.seal(from)));
    EXPECT_TRUE(room.open(1, from, room.seal(from)));
  }
  EXPECT_EQ(keys.opening_keys(), 2U) << "one for each sender";
  next_epoch_of(room, 1);
  next_epoch_of(room, 2);
  EXPECT_TRUE(room.open(1, 2, room.seal(2)));
  EXPECT_EQ(keys.opening_keys(), 3U);
  room.now += RoomKeys::kEpochKept;
  (void)room.seal(1);
  EXPECT_EQ(keys.opening_keys(), 3U) << "what is on its way still opens";
  room.now += Duration{1};
  (void)room.seal(1);
  EXPECT_EQ(keys.opening_keys(), 1U) << "sealing erases";
  next_epoch_of(room, 1);
  next_epoch_of(room, 2);
  const auto late = room.seal(2);
  room.now += RoomKeys::kEpochKept + Duration{1};
  EXPECT_TRUE(room.open(1, 2, late));
  EXPECT_EQ(keys.opening_keys(), 1U) << "and so does opening";
}

TEST(RoomKeys, KeysOfAPastEpochAreErasedByTimeInAQuietRoom) {
  Room room;
  two_members(room);
  RoomKeys& keys = *room.members.at(1);
  EXPECT_TRUE(room.open(1, 2, room.seal(2)));
  EXPECT_EQ(keys.poll_timeout(), kNever) << "no epoch is over";
  next_epoch_of(room, 1);
  const TimePoint first_due = room.now + RoomKeys::kEpochKept + Duration{1};
  room.now += 3s;
  next_epoch_of(room, 1);
  EXPECT_EQ(keys.poll_timeout(), first_due);
  keys.handle_timeout(first_due - Duration{1});
  EXPECT_EQ(keys.past_epochs(), 2U);
  EXPECT_EQ(keys.opening_keys(), 1U);
  keys.handle_timeout(first_due);
  EXPECT_EQ(keys.past_epochs(), 1U);
  EXPECT_EQ(keys.opening_keys(), 0U);
  EXPECT_EQ(keys.poll_timeout(), first_due + 3s);
  keys.handle_timeout(first_due + 3s);
  EXPECT_EQ(keys.past_epochs(), 0U);
  EXPECT_EQ(keys.poll_timeout(), kNever);
}

TEST(RoomKeys, SecretsOfAPastEpochAreOverwrittenWhenItsTimeIsOver) {
  if (!kMemoryCanBeSearched) {
    GTEST_SKIP() << "a sanitizer's memory is not searched";
  }
  Room room;
  uint8_t drawn = 0;
  const auto draw = [](uint8_t number) {
    return expand(known_secret(), std::string(1, static_cast<char>('a' + number)));
  };
  room.draw_secret = [&] { return draw(drawn++); };
  two_members(room);
  EXPECT_TRUE(room.open(1, 2, room.seal(2)));
  const Needle of_second{draw(1).bytes()};
  const Needle of_epoch{media().bytes()};
  const size_t own = of_epoch.times_in_memory();
  EXPECT_EQ(of_second.times_in_memory(), 2U) << "its own, and the one that it gave";
  next_epoch_of(room, 1);
  next_epoch_of(room, 2);
  EXPECT_EQ(of_second.times_in_memory(), 1U) << "a sender's goes at once";
  for (const auto& [number, keys] : room.members) {
    keys->handle_timeout(room.now + RoomKeys::kEpochKept + Duration{1});
  }
  EXPECT_EQ(of_second.times_in_memory(), 0U);
  EXPECT_EQ(of_epoch.times_in_memory(), own - 2) << "nor does either keep what the epoch had";
}

TEST(RoomKeys, ALateSecretOfAnErasedEpochIsNotKept) {
  if (!kMemoryCanBeSearched) {
    GTEST_SKIP() << "a sanitizer's memory is not searched";
  }
  for (const bool is_over : {false, true}) {
    Room room;
    room.draw_secret = known_secret;
    two_members(room);
    next_epoch_of(room, 2);
    const auto late = room.members.at(2)->poll_share();  // of epoch 1
    ASSERT_TRUE(late);
    next_epoch_of(room, 1);
    next_epoch_of(room, 1);
    room.now += RoomKeys::kEpochKept + Duration{is_over ? 1 : 0};
    const Needle secret{known_secret().bytes()};
    const size_t before = secret.times_in_memory();
    EXPECT_TRUE(room.members.at(1)->handle_share(room.now, 2, late->bytes)) << "it is authentic";
    // Those of earlier epochs, that of epoch 0, go as soon as anything happens.
    EXPECT_EQ(secret.times_in_memory(), is_over ? before - 1 : before + 1);
  }
}

TEST(RoomKeys, SecretsOfTheEpochThatStaysAreKept) {
  Room room;
  two_members(room);
  next_epoch_of(room, 1);
  next_epoch_of(room, 2);
  room.exchange_shares();
  room.shares_travel = false;
  room.now += RoomKeys::kEpochKept + 1ms;
  EXPECT_TRUE(room.open(1, 2, room.seal(2))) << "its first frame in this epoch";
}

TEST(RoomKeys, OfPastEpochsEachIsErasedInItsTime) {
  Room room;
  two_members(room);
  const RoomKeys& keys = *room.members.at(1);
  for (int i = 0; i < 3; ++i) {  // at 0 s, 3 s and 6 s
    EXPECT_TRUE(room.open(1, 2, room.seal(2)));
    next_epoch_of(room, 1);
    next_epoch_of(room, 2);
    room.now += 3s;
  }
  EXPECT_EQ(keys.opening_keys(), 3U);
  for (const size_t left : {2, 1, 0}) {
    room.now = kTimeZero + 10s + (2 - left) * 3s + Duration{1};
    (void)room.seal(1);
    EXPECT_EQ(keys.opening_keys(), left);
  }
}

TEST(RoomKeys, OpensFourEpochsAheadAndNotFive) {
  for (int ahead = 1; ahead <= 5; ++ahead) {
    Room room;
    two_members(room);
    for (int i = 0; i < ahead; ++i) {
      room.now += 3s;
      next_epoch_of(room, 1);
    }
    const auto opened = room.open(2, 1, room.seal(1));
    EXPECT_EQ(opened.has_value(), ahead <= 4) << ahead;
  }
}

TEST(RoomKeys, OpensEightEpochsBackAndNotNine) {
  for (const int ahead : {8, 9}) {
    Room room;
    two_members(room);
    const auto early = room.seal(1);
    for (int i = 0; i < ahead; ++i) {
      room.now += 3s;
      next_epoch_of(room, 1);
    }
    // The other goes there at once, so that none of them expires.
    const uint32_t epoch = room.members.at(1)->epoch();
    for (int i = 0; i < 3; ++i) {
      room.members.at(2)->handle_left(room.now, 500, epoch);
    }
    EXPECT_EQ(room.members.at(2)->epoch(), static_cast<uint32_t>(ahead));
    EXPECT_EQ(room.open(2, 1, early).has_value(), ahead == 8);
    EXPECT_TRUE(room.open(2, 1, room.seal(1)));
    EXPECT_TRUE(room.open(1, 2, room.seal(2)));
  }
}

TEST(RoomKeys, AFrameMayBeOvertakenBy2048AndNotByMore) {
  for (const int overtaking : {2048, 2049}) {
    Room room;
    two_members(room);
    const auto late = room.seal(1);
    for (int i = 0; i < overtaking; ++i) {
      ASSERT_TRUE(room.open(2, 1, room.seal(1)));
    }
    const auto opened = room.open(2, 1, late);
    EXPECT_EQ(opened.has_value(), overtaking == 2048);
    if (!opened) {
      EXPECT_EQ(opened.error(), SFrameError::kReplayed);
    }
  }
}

TEST(RoomKeys, ACountersFirstFrameUnderAKeyIsReplayedNeither) {
  // The frame that makes its key known is remembered like those after it.
  Room room;
  two_members(room);
  const auto frame = room.seal(1);
  EXPECT_TRUE(room.open(2, 1, frame));
  EXPECT_EQ(room.open(2, 1, frame).error(), SFrameError::kReplayed);
  const auto second = room.seal(1);
  EXPECT_TRUE(room.open(2, 1, second));
  EXPECT_EQ(room.open(2, 1, second).error(), SFrameError::kReplayed);
}

TEST(RoomKeys, RemembersThatTheLast256PresencesAreOver) {
  for (const int after : {255, 256}) {
    Room room;
    RoomKeys& keys = room.join(1);
    RoomKeys first{media(), 2};
    const auto card = first.make_card({});
    ASSERT_TRUE(keys.handle_card(2, card));
    keys.handle_left(room.now, 2, 0);
    for (int i = 0; i < after; ++i) {
      RoomKeys other{media(), 3};
      ASSERT_TRUE(keys.handle_card(3, other.make_card({})));
      keys.handle_left(room.now, 3, 0);
    }
    EXPECT_EQ(keys.handle_card(2, card).has_value(), after == 256);
  }
}

TEST(RoomKeys, APresenceThatGaveWayIsOverToo) {
  Room room;
  RoomKeys& keys = room.join(1);
  RoomKeys before{media(), 2};
  RoomKeys after{media(), 2};
  const auto old_card = before.make_card({});
  EXPECT_TRUE(keys.handle_card(2, old_card)->is_new);
  EXPECT_TRUE(keys.handle_card(2, after.make_card({}))->is_new);
  EXPECT_EQ(keys.handle_card(2, old_card).error(), CardError::kOver);
  EXPECT_EQ(keys.epoch(), 0U) << "nobody left";
}

TEST(RoomKeys, RejoinedMemberOpensFromItsFirstFrame) {
  Room room;
  two_members(room);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(room.open(1, 2, room.seal(2)));
  }
  room.join(2);
  room.exchange_cards();
  EXPECT_EQ(room.members.at(1)->opening_keys(), 0U) << "nothing is left of the presence before";
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(room.open(1, 2, room.seal(2))) << "with counters that were used before";
  }
}

TEST(RoomKeys, EveryErrorOfACardIsNamed) {
  Room room;
  two_members(room);
  RoomKeys& keys = *room.members.at(2);
  const auto card = room.cards.at(1);
  const auto error_of = [&](const std::vector<std::byte>& bytes, uint16_t member = 1) {
    const auto news = keys.handle_card(member, bytes);
    return news ? std::optional<CardError>{} : std::optional{news.error()};
  };
  auto changed = card;
  changed[0] = std::byte{1};
  EXPECT_EQ(error_of(changed), CardError::kBadVersion);
  for (const size_t size : {0, 1, 40}) {
    EXPECT_EQ(error_of({card.begin(), card.begin() + static_cast<ptrdiff_t>(size)}),
              CardError::kTruncated);
  }
  EXPECT_EQ(error_of({card.begin(), card.begin() + 41}), CardError::kBadTag);
  changed = card;
  changed.resize(kCardSizeMax);
  EXPECT_EQ(error_of(changed), CardError::kBadTag);
  changed.resize(kCardSizeMax + 1);
  EXPECT_EQ(error_of(changed), CardError::kTooLong);
  EXPECT_EQ(error_of(card, 3), CardError::kWrongMember);
  EXPECT_EQ(error_of(keys.make_card({})), CardError::kOwn) << "its presence";
  RoomKeys same_number{media(), 2};
  EXPECT_EQ(error_of(same_number.make_card({}), 2), CardError::kOwn) << "its number";
  EXPECT_EQ(error_of(card), std::nullopt) << "the same card again is no error";
  const auto newer = room.members.at(1)->make_card({});
  EXPECT_EQ(error_of(newer), std::nullopt);
  EXPECT_EQ(error_of(card), CardError::kStale);
}

TEST(RoomKeys, CardIsDueOnlyForANewMember) {
  Room room;
  RoomKeys& keys = room.join(1);
  EXPECT_TRUE(keys.card_due()) << "the first";
  (void)keys.make_card({});
  EXPECT_FALSE(keys.card_due());
  RoomKeys other{media(), 2};
  ASSERT_TRUE(keys.handle_card(2, other.make_card({})));
  EXPECT_TRUE(keys.card_due());
  const auto greeting = keys.make_card(bytes_of("me"));
  ASSERT_TRUE(keys.handle_card(2, other.make_card({})));
  EXPECT_FALSE(keys.card_due()) << "a newer card of the same presence";
  const auto news = other.handle_card(1, greeting);
  ASSERT_TRUE(news);
  EXPECT_EQ(*news, (CardNews{keys.instance(), keys.public_key(), bytes_of("me"), true, true}));
  EXPECT_FALSE(keys.is_live(2)) << "its card that greets us has not come";
  ASSERT_TRUE(keys.handle_card(2, other.make_card(bytes_of("it"))));
  EXPECT_TRUE(keys.is_live(2));
  EXPECT_FALSE(keys.is_live(3));
}

TEST(RoomKeysDeathTest, MembersAreNumberedFromOne) {
  EXPECT_DEATH((RoomKeys{media(), 0}), "numbered from 1");
}

}  // namespace
}  // namespace cress::secure
