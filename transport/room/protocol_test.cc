#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "room.pb.h"
#include "transport/base/rng.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/room/media_head.hh"
#include "transport/room/outbox.hh"
#include "transport/room/room_message.hh"

namespace cress::room {
namespace {

std::vector<std::byte> random_bytes(Rng& rng, size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(rng.next());
  }
  return bytes;
}

Card random_card(Rng& rng) {
  return {.revision = static_cast<uint32_t>(rng.next()),
          .sealed = random_bytes(rng, rng.below(kCardSizeMax + 1))};
}

MemberNumber random_number(Rng& rng) { return static_cast<MemberNumber>(1 + rng.below(65535)); }

std::vector<MemberNumber> random_numbers(Rng& rng, int most) {
  std::vector<MemberNumber> numbers(rng.below(static_cast<uint64_t>(most) + 1));
  std::ranges::generate(numbers, [&] { return random_number(rng); });
  return numbers;
}

PresenceToken random_token(Rng& rng) {
  PresenceToken token{};
  for (std::byte& b : token) {
    b = static_cast<std::byte>(rng.next());
  }
  return token;
}

Proof random_proof(Rng& rng) {
  return {.serial = static_cast<uint32_t>(rng.next()),
          .of_video = rng.chance(0.5),
          .bytes = std::vector<std::byte>(rng.below(kProofSizeMax + 1), std::byte{7})};
}

Shares random_shares(Rng& rng) {
  Shares shares{.serial = static_cast<uint32_t>(rng.next())};
  for (uint64_t left = rng.below(kSharesMax + 1); left > 0; --left) {
    shares.shares.push_back({random_number(rng), random_bytes(rng, rng.below(kShareSizeMax + 1))});
  }
  return shares;
}

Chat random_chat(Rng& rng) {
  return {.serial = static_cast<uint32_t>(rng.next()),
          .line = random_bytes(rng, rng.below(kChatSizeMax + 1))};
}

RoomMessage random_message(Rng& rng) {
  const auto revision = static_cast<uint32_t>(rng.next());
  const DataRate rate = DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(1U << 30U)));
  switch (rng.below(18)) {
    case 0:
      return random_card(rng);
    case 1:
      return View{.revision = revision,
                  .pinned = static_cast<MemberNumber>(rng.below(65536)),
                  .pictures = static_cast<uint32_t>(rng.below(kPicturesMax + 1)),
                  .height = static_cast<uint32_t>(rng.below(kHeightMax + 1))};
    case 2:
      return KeyFrameWanted{random_number(rng)};
    case 3:
      return Leaving{};
    case 4:
      return Welcome{.number = random_number(rng),
                     .members_max = static_cast<uint32_t>(rng.below(65536)),
                     .video_rate_max = rate,
                     .datagram_max = DataSize{static_cast<int64_t>(rng.below(65536))},
                     .room = std::string(rng.below(kRoomNameSizeMax + 1), 'r'),
                     .present = random_numbers(rng, kPresentMax),
                     .epoch = static_cast<uint32_t>(rng.below(kEpochMax + 1)),
                     .token = random_token(rng)};
    case 5:
      return MemberNews{.number = random_number(rng), .card = random_card(rng)};
    case 6:
      return MemberLeft{.number = random_number(rng),
                        .reason = static_cast<LeaveReason>(1 + rng.below(3)),
                        .epoch = static_cast<uint32_t>(rng.below(kEpochMax + 1))};
    case 7:
      return SpeakerNews{.revision = revision,
                         .number = static_cast<MemberNumber>(rng.below(65536))};
    case 8:
      return VideoRate{.revision = revision, .rate = rate};
    case 9:
      return Audience{.revision = revision, .members = random_numbers(rng, kPresentMax)};
    case 10:
      return Replacing{random_number(rng), random_token(rng)};
    case 11:
      return random_proof(rng);
    case 12:
      return random_shares(rng);
    case 13:
      return MemberShare{.number = random_number(rng),
                         .bytes = random_bytes(rng, rng.below(kShareSizeMax + 1))};
    case 14:
      return MemberProof{.number = random_number(rng), .proof = random_proof(rng)};
    case 15:
      return random_chat(rng);
    case 16:
      return MemberChat{.number = random_number(rng), .chat = random_chat(rng)};
    default:
      return Farewell{.reason = static_cast<FarewellReason>(1 + rng.below(5)),
                      .again_in = std::chrono::milliseconds{rng.below(86'400'001)}};
  }
}

TEST(RoomMessage, ParseReturnsWhatWasBuilt) {
  Rng rng{1};
  for (int round = 0; round < 3000; ++round) {
    const RoomMessage message = random_message(rng);
    const auto bytes = build_room_message(message);
    EXPECT_EQ(bytes[0], kRoomMessageByte);
    EXPECT_LE(bytes.size(), 1112U) << "fits a datagram";
    const auto parsed = parse_room_message(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, message);
  }
}

TEST(RoomMessage, AnyBytesGiveARebuildableMessageOrAnError) {
  Rng rng{2};
  int good = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = build_room_message(random_message(rng));
    for (uint64_t damage = rng.below(4); damage > 0; --damage) {
      bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.next());
    }
    bytes.resize(rng.chance(0.2) ? rng.below(bytes.size() + 1) : bytes.size());
    if (const auto parsed = parse_room_message(bytes)) {
      ++good;
      EXPECT_EQ(parse_room_message(build_room_message(*parsed)), parsed);
    }
  }
  EXPECT_GT(good, 1000);
}

// Protobuf's own bytes, to build fields beyond what build_room_message makes.
std::vector<std::byte> raw(std::initializer_list<int> bytes) {
  std::vector<std::byte> message{kRoomMessageByte};
  for (const int b : bytes) {
    message.push_back(static_cast<std::byte>(b));
  }
  return message;
}

TEST(RoomMessage, EachFieldBeyondItsRangeIsRefused) {
  using enum RoomMessageError;
  EXPECT_EQ(parse_room_message({}).error(), kNotARoomMessage);
  EXPECT_EQ(parse_room_message(std::vector{std::byte{1}}).error(), kNotARoomMessage);
  EXPECT_EQ(parse_room_message(raw({})).error(), kMalformed);
  EXPECT_EQ(parse_room_message(raw({0x0A, 5, 1})).error(), kMalformed);
  // key_frame_request {member: 0}, {member: 65536}; left {number: 1, reason: 4}; farewell {reason:
  // 0}
  EXPECT_EQ(parse_room_message(raw({0x1A, 0})).error(), kOutOfRange);
  EXPECT_EQ(parse_room_message(raw({0x1A, 4, 0x08, 0x80, 0x80, 0x04})).error(), kOutOfRange);
  EXPECT_EQ(parse_room_message(raw({0x92, 0x01, 4, 0x08, 1, 0x10, 4})).error(), kOutOfRange);
  EXPECT_EQ(parse_room_message(raw({0xAA, 0x01, 0})).error(), kOutOfRange);
  std::vector<std::byte> card = raw({0x0A, 0xa4, 0x05, 0x12, 0xa1, 0x05});  // 673 bytes sealed
  card.resize(card.size() + 673);
  EXPECT_EQ(parse_room_message(card).error(), kOutOfRange);
}

// The outcome of a message that build_room_message would not make.
Result<RoomMessage, RoomMessageError> parse_of(const std::function<void(pb::RoomMessage&)>& fill) {
  pb::RoomMessage message;
  fill(message);
  std::vector<std::byte> bytes{kRoomMessageByte};
  for (const char c : message.SerializeAsString()) {
    bytes.push_back(static_cast<std::byte>(c));
  }
  return parse_room_message(bytes);
}

std::optional<RoomMessageError> refusal_of(const Result<RoomMessage, RoomMessageError>& parsed) {
  return parsed ? std::nullopt : std::optional{parsed.error()};
}

// Each field of each message at its minimum and maximum, and one beyond either.
TEST(RoomMessage, EachFieldIsTakenAtItsLimitAndRefusedBeyond) {
  struct Field {
    const char* name;
    std::optional<uint32_t> least;  // 0 is allowed where there is none
    uint32_t most;
    std::function<void(pb::RoomMessage&, uint32_t)> fill;
  };
  constexpr uint32_t kDay = 86'400'000;
  const Field fields[]{
      {"card size",
       {},
       672,
       [](auto& m, uint32_t v) { m.mutable_card()->set_sealed(std::string(v, 'x')); }},
      {"shares",
       {},
       10,
       [](auto& m, uint32_t v) {
         for (m.mutable_shares(); v > 0; --v) {
           m.mutable_shares()->add_shares()->set_to(1);
         }
       }},
      {"share for", 1, 65535,
       [](auto& m, uint32_t v) { m.mutable_shares()->add_shares()->set_to(v); }},
      {"share size",
       {},
       64,
       [](auto& m, uint32_t v) {
         m.mutable_shares()->add_shares()->set_to(1);
         m.mutable_shares()->mutable_shares(0)->set_share(std::string(v, 'x'));
       }},
      {"share from", 1, 65535,
       [](auto& m, uint32_t v) { m.mutable_member_share()->set_number(v); }},
      {"member's share size",
       {},
       64,
       [](auto& m, uint32_t v) {
         m.mutable_member_share()->set_number(1);
         m.mutable_member_share()->set_share(std::string(v, 'x'));
       }},
      {"proof size",
       {},
       875,
       [](auto& m, uint32_t v) { m.mutable_proof()->set_proof(std::string(v, 'x')); }},
      {"proven", 1, 65535, [](auto& m, uint32_t v) { m.mutable_member_proof()->set_number(v); }},
      {"member's proof size",
       {},
       875,
       [](auto& m, uint32_t v) {
         m.mutable_member_proof()->set_number(1);
         m.mutable_member_proof()->mutable_proof()->set_proof(std::string(v, 'x'));
       }},
      {"chat size",
       {},
       997,
       [](auto& m, uint32_t v) { m.mutable_chat()->set_line(std::string(v, 'x')); }},
      {"written by", 1, 65535, [](auto& m, uint32_t v) { m.mutable_member_chat()->set_number(v); }},
      {"member's chat size",
       {},
       997,
       [](auto& m, uint32_t v) {
         m.mutable_member_chat()->set_number(1);
         m.mutable_member_chat()->mutable_chat()->set_line(std::string(v, 'x'));
       }},
      {"pinned", {}, 65535, [](auto& m, uint32_t v) { m.mutable_view()->set_pinned(v); }},
      {"of", 1, 65535, [](auto& m, uint32_t v) { m.mutable_key_frame_request()->set_member(v); }},
      {"welcome", 1, 65535, [](auto& m, uint32_t v) { m.mutable_welcome()->set_number(v); }},
      {"members",
       {},
       65535,
       [](auto& m, uint32_t v) {
         m.mutable_welcome()->set_number(1);
         m.mutable_welcome()->set_members_max(v);
       }},
      {"kbps",
       {},
       1U << 30U,
       [](auto& m, uint32_t v) {
         m.mutable_welcome()->set_number(1);
         m.mutable_welcome()->set_video_kbps_max(v);
       }},
      {"datagram",
       {},
       65535,
       [](auto& m, uint32_t v) {
         m.mutable_welcome()->set_number(1);
         m.mutable_welcome()->set_datagram_max(v);
       }},
      {"room",
       {},
       64,
       [](auto& m, uint32_t v) {
         m.mutable_welcome()->set_number(1);
         m.mutable_welcome()->set_room(std::string(v, 'r'));
       }},
      {"present",
       {},
       64,
       [](auto& m, uint32_t v) {
         m.mutable_welcome()->set_number(1);
         for (uint32_t i = 0; i < v; ++i) {
           m.mutable_welcome()->add_present(7);
         }
       }},
      {"one present", 1, 65535,
       [](auto& m, uint32_t v) {
         m.mutable_welcome()->set_number(1);
         m.mutable_welcome()->add_present(v);
       }},
      {"news", 1, 65535, [](auto& m, uint32_t v) { m.mutable_member()->set_number(v); }},
      {"news size",
       {},
       672,
       [](auto& m, uint32_t v) {
         m.mutable_member()->set_number(1);
         m.mutable_member()->set_sealed(std::string(v, 'x'));
       }},
      {"left", 1, 65535,
       [](auto& m, uint32_t v) {
         m.mutable_left()->set_number(v);
         m.mutable_left()->set_reason(1);
       }},
      {"reason to leave", 1, 3,
       [](auto& m, uint32_t v) {
         m.mutable_left()->set_number(1);
         m.mutable_left()->set_reason(v);
       }},
      {"audience", 1, 65535, [](auto& m, uint32_t v) { m.mutable_audience()->add_members(v); }},
      {"audience size",
       {},
       64,
       [](auto& m, uint32_t v) {
         m.mutable_audience();
         for (uint32_t i = 0; i < v; ++i) {
           m.mutable_audience()->add_members(7);
         }
       }},
      {"replaced", 1, 65535, [](auto& m, uint32_t v) { m.mutable_replace()->set_member(v); }},
      {"token size", 16, 16,
       [](auto& m, uint32_t v) {
         m.mutable_replace()->set_member(1);
         m.mutable_replace()->set_token(std::string(v, 'x'));
       }},
      {"epoch",
       {},
       kEpochMax,
       [](auto& m, uint32_t v) {
         m.mutable_welcome()->set_number(1);
         m.mutable_welcome()->set_epoch(v);
       }},
      {"epoch since a leave",
       {},
       kEpochMax,
       [](auto& m, uint32_t v) {
         m.mutable_left()->set_number(1);
         m.mutable_left()->set_reason(1);
         m.mutable_left()->set_epoch(v);
       }},
      {"speaker", {}, 65535, [](auto& m, uint32_t v) { m.mutable_speaker()->set_number(v); }},
      {"rate", {}, 1U << 30U, [](auto& m, uint32_t v) { m.mutable_video_rate()->set_kbps(v); }},
      {"farewell", 1, 5, [](auto& m, uint32_t v) { m.mutable_farewell()->set_reason(v); }},
      {"again",
       {},
       kDay,
       [](auto& m, uint32_t v) {
         m.mutable_farewell()->set_reason(1);
         m.mutable_farewell()->set_again_ms(v);
       }},
  };
  for (const Field& field : fields) {
    SCOPED_TRACE(field.name);
    const auto parsed = [&field](uint32_t value) {
      return parse_of([&](pb::RoomMessage& m) { field.fill(m, value); });
    };
    EXPECT_TRUE(parsed(field.least.value_or(0)));
    EXPECT_TRUE(parsed(field.most));
    EXPECT_EQ(refusal_of(parsed(field.most + 1)), RoomMessageError::kOutOfRange);
    if (field.least) {
      EXPECT_EQ(refusal_of(parsed(*field.least - 1)), RoomMessageError::kOutOfRange);
    }
  }
}

TEST(RoomMessage, TooLargeViewIsClamped) {
  const auto parsed = parse_of([](pb::RoomMessage& m) {
    m.mutable_view()->set_pictures(65);
    m.mutable_view()->set_height(4321);
  });
  ASSERT_TRUE(parsed);
  EXPECT_EQ(std::get<View>(*parsed), (View{.pictures = 64, .height = 4320}));
  const auto built = parse_room_message(build_room_message(View{.pictures = 65, .height = 4321}));
  EXPECT_EQ(std::get<View>(*built), (View{.pictures = 64, .height = 4320}));
}

TEST(RoomMessage, EncodedValuesAreRoundedDown) {
  const auto again = [](Duration duration) {
    return std::get<Farewell>(
               *parse_room_message(build_room_message(Farewell{.again_in = duration})))
        .again_in;
  };
  EXPECT_EQ(again(1999us), 1ms);
  EXPECT_EQ(again(24h), 24h);
  EXPECT_DEATH((void)build_room_message(Farewell{.again_in = 24h + 1ms}), "time out of range");
  EXPECT_DEATH((void)build_room_message(Farewell{.again_in = Duration{-1}}), "time out of range");
  const auto rate =
      parse_room_message(build_room_message(VideoRate{.rate = DataRate::bits_per_second(1999)}));
  EXPECT_EQ(std::get<VideoRate>(*rate).rate, DataRate::kilobits_per_second(1));
}

TEST(MediaHead, ParseReturnsWhatWasBuiltAndRejectsTooShortInput) {
  Rng rng{3};
  for (int round = 0; round < 500; ++round) {
    const auto clear = random_bytes(rng, 10);
    const auto sealed = random_bytes(rng, 1 + rng.below(200));
    const auto level = static_cast<uint8_t>(rng.below(128));
    const auto body = build_sound_body({.level = level, .clear = clear, .sealed = sealed});
    auto message = build_member_message(0x0102, body);
    EXPECT_EQ(std::to_integer<int>(message[0]), 1);
    EXPECT_EQ(std::to_integer<int>(message[1]), 2);
    set_member(message, random_number(rng));
    const auto parsed = parse_member_message(message);
    ASSERT_TRUE(parsed);
    const auto sound = parse_sound_body(parsed->body);
    ASSERT_TRUE(sound);
    EXPECT_EQ(sound->level, level);
    EXPECT_TRUE(std::ranges::equal(sound->clear, clear));
    EXPECT_TRUE(std::ranges::equal(sound->sealed, sealed));
  }
  EXPECT_FALSE(parse_member_message(std::vector<std::byte>(1)));
  EXPECT_TRUE(parse_member_message(std::vector<std::byte>(2)));
  EXPECT_FALSE(parse_sound_body(std::vector<std::byte>(11)));
  EXPECT_FALSE(parse_sound_body(std::vector<std::byte>(12, std::byte{128})));
}

/// Two endpoints without links between them: the test carries the datagrams, or drops them.
class OutboxTest : public testing::Test {
 protected:
  OutboxTest() : near_(make()), far_(make()) {}
  static session::Endpoint make() {
    session::Endpoint endpoint{
        kTimeZero, {}, std::make_unique<control::CressControl>(control::CressControl::Options{})};
    endpoint.open_flow(session::kControlFlow, {.priority = session::Priority::kControl});
    return endpoint;
  }
  /// 100 ms, in which each datagram of near_ arrives with this probability.
  void pass(Rng& rng, double loss) {
    for (const TimePoint end = now_ + 100ms; now_ < end; now_ += 5ms) {
      outbox_.flush(now_, near_);
      near_.handle_timeout(now_);
      far_.handle_timeout(now_);
      while (const auto datagram = near_.poll_transmit(now_)) {
        if (!rng.chance(loss)) {
          ASSERT_TRUE(far_.handle_datagram(now_, *datagram));
        }
      }
      while (const auto message = far_.poll_message()) {
        heard_.push_back(*parse_room_message(message->bytes));
      }
      while (const auto datagram = far_.poll_transmit(now_)) {
        ASSERT_TRUE(near_.handle_datagram(now_, *datagram));
      }
      while (const auto outcome = near_.poll_outcome()) {
        outbox_.handle_outcome(now_, *outcome);
      }
    }
  }

  TimePoint now_ = kTimeZero;
  session::Endpoint near_;
  session::Endpoint far_;
  Outbox outbox_;
  std::vector<RoomMessage> heard_;
};

TEST_F(OutboxTest, AllNewsArriveThroughHeavyLossAndAreThenForgotten) {
  Rng rng{4};
  std::vector<RoomMessage> told;
  for (int i = 0; i < 100; ++i) {
    told.emplace_back(
        MemberNews{.number = static_cast<MemberNumber>(i + 1), .card = random_card(rng)});
    ASSERT_TRUE(outbox_.put(told.back()));
  }
  for (int round = 0; round < 400 && !outbox_.empty(); ++round) {
    pass(rng, 0.3);
    ASSERT_LE(near_.queued(session::kControlFlow), DataSize{2400 + 600});
  }
  EXPECT_TRUE(outbox_.empty());
  for (const RoomMessage& message : told) {
    EXPECT_NE(std::ranges::find(heard_, message), heard_.end());
  }
}

TEST_F(OutboxTest, NewerNewsReplaceOlderAndArriveLast) {
  Rng rng{5};
  outbox_.put(MemberNews{.number = 7, .card = {.revision = 1}});
  outbox_.put(VideoRate{.revision = 1, .rate = DataRate::kilobits_per_second(1)});
  pass(rng, 1);
  EXPECT_TRUE(heard_.empty());
  outbox_.put(MemberLeft{.number = 7});
  outbox_.put(VideoRate{.revision = 2, .rate = DataRate::kilobits_per_second(2)});
  EXPECT_EQ(outbox_.size(), 2U);
  for (int round = 0; round < 100 && !outbox_.empty(); ++round) {
    pass(rng, 0.2);
  }
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(
      std::ranges::count(heard_, RoomMessage{MemberNews{.number = 7, .card = {.revision = 1}}}), 0);
  EXPECT_NE(std::ranges::find(heard_, RoomMessage{MemberLeft{.number = 7}}), heard_.end());
}

TEST_F(OutboxTest, EachProofIsSentAndFourOfAKindMayWait) {
  const auto proof = [](MemberNumber of, bool of_video, uint32_t serial) {
    return MemberProof{.number = of, .proof = {.serial = serial, .of_video = of_video}};
  };
  for (uint32_t serial = 1; serial <= 5; ++serial) {
    EXPECT_EQ(outbox_.put(proof(1, false, serial)), serial <= 4) << serial;
    EXPECT_EQ(outbox_.put(proof(1, true, serial)), serial <= 4) << serial;
    EXPECT_EQ(outbox_.put(proof(2, false, serial)), serial <= 4) << serial;
    EXPECT_EQ(outbox_.put(Proof{.serial = serial}), serial <= 4) << "own";
  }
  EXPECT_EQ(outbox_.size(), 16U);
}

TEST_F(OutboxTest, EachLineOfChatIsSentAndSixteenOfAWriterMayWait) {
  const size_t own = RoomMessage{Chat{}}.index();
  for (uint32_t serial = 1; serial <= 17; ++serial) {
    EXPECT_EQ(outbox_.put(Chat{.serial = serial}), serial <= 16) << serial;
    EXPECT_EQ(outbox_.put(MemberChat{1, {.serial = serial}}), serial <= 16) << serial;
    EXPECT_EQ(outbox_.put(MemberChat{2, {.serial = serial}}), serial <= 16) << serial;
  }
  EXPECT_EQ(outbox_.size(), 48U);
  EXPECT_EQ(outbox_.waiting(own), 16U);
  Rng rng{7};
  for (int round = 0; round < 100 && !outbox_.empty(); ++round) {
    pass(rng, 0.3);
  }
  EXPECT_EQ(outbox_.waiting(own), 0U);
  EXPECT_EQ(heard_.size(), 48U) << "each once";
}

TEST_F(OutboxTest, TheWelcomeComesFirst) {
  Rng rng{6};
  outbox_.put(SpeakerNews{.revision = 1, .number = 2});
  outbox_.put(MemberNews{.number = 1});
  outbox_.put(Welcome{.number = 3});
  pass(rng, 0);
  ASSERT_EQ(heard_.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<Welcome>(heard_.front()));
}

TEST_F(OutboxTest, RefusesNewsBeyondItsBoundButReplacesOld) {
  for (int i = 0; i < 512; ++i) {
    ASSERT_TRUE(outbox_.put(MemberNews{.number = static_cast<MemberNumber>(i + 1)}));
  }
  EXPECT_FALSE(outbox_.put(MemberNews{.number = 1000}));
  EXPECT_TRUE(outbox_.put(MemberLeft{.number = 100}));
  EXPECT_EQ(outbox_.size(), 512U);
}

/// An outbox whose session's outcomes the test decides.
class OutboxAlone : public OutboxTest {
 protected:
  using Kind = session::MessageOutcome::Kind;
  void outcome(TimePoint now, session::MessageId id, Kind kind,
               session::FlowId flow = session::kControlFlow) {
    outbox_.handle_outcome(now, {flow, id, kind});
  }
  /// How many bytes it hands over now.
  int64_t flush(TimePoint now) {
    const DataSize before = near_.queued(session::kControlFlow);
    outbox_.flush(now, near_);
    return (near_.queued(session::kControlFlow) - before).bytes();
  }

  session::MessageId next_id_ = 0;
};

TEST_F(OutboxAlone, NewsThatWereDroppedWaitATenthOfASecond) {
  ASSERT_TRUE(outbox_.put(SpeakerNews{.revision = 1, .number = 2}));
  const int64_t size = flush(kTimeZero);
  EXPECT_GT(size, 0);
  EXPECT_EQ(outbox_.poll_timeout(), kNever);
  EXPECT_EQ(flush(kTimeZero), 0) << "it is on its way";
  const TimePoint dropped = kTimeZero + 10ms;
  outcome(dropped, 0, Kind::kDropped);
  EXPECT_EQ(flush(dropped), 0);
  EXPECT_EQ(outbox_.poll_timeout(), dropped + 100ms);
  EXPECT_EQ(flush(dropped + 100ms - Duration{1}), 0);
  EXPECT_EQ(flush(dropped + 100ms), size);
  EXPECT_EQ(outbox_.poll_timeout(), kNever);
}

TEST_F(OutboxAlone, NewsThatWereLostGoAgainAtOnce) {
  ASSERT_TRUE(outbox_.put(SpeakerNews{.revision = 1, .number = 2}));
  const int64_t size = flush(kTimeZero);
  outcome(kTimeZero, 0, Kind::kLost);
  EXPECT_EQ(outbox_.poll_timeout(), kNever);
  EXPECT_EQ(flush(kTimeZero), size);
  outcome(kTimeZero, 0, Kind::kLost);  // long decided
  EXPECT_EQ(flush(kTimeZero), 0);
  outcome(kTimeZero, 1, Kind::kLost, session::kVideoFlow);  // of another flow
  EXPECT_EQ(flush(kTimeZero), 0);
  outcome(kTimeZero, 1, Kind::kDelivered);
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(OutboxAlone, AllOthersGoWhileOneWaits) {
  ASSERT_TRUE(outbox_.put(Welcome{.number = 1}));
  (void)flush(kTimeZero);
  outcome(kTimeZero, 0, Kind::kDropped);
  ASSERT_TRUE(outbox_.put(SpeakerNews{.revision = 1, .number = 2}));
  EXPECT_GT(flush(kTimeZero), 0);
  EXPECT_EQ(outbox_.poll_timeout(), kTimeZero + 100ms);
  EXPECT_EQ(flush(kTimeZero), 0);
  EXPECT_GT(flush(kTimeZero + 100ms), 0);
}

TEST_F(OutboxAlone, NewsGoWhileLessThanTwoDatagramsWait) {
  const auto card = [](MemberNumber number) {
    return MemberNews{.number = number, .card = {.sealed = std::vector<std::byte>(500)}};
  };
  ASSERT_TRUE(outbox_.put(card(1)));
  near_.send(kTimeZero, session::kControlFlow, std::vector<std::byte>(1000));
  near_.send(kTimeZero, session::kControlFlow, std::vector<std::byte>(1000));
  near_.send(kTimeZero, session::kControlFlow, std::vector<std::byte>(400));
  EXPECT_EQ(flush(kTimeZero), 0);
  OutboxOptions options;
  options.queued_max = DataSize{2401};
  outbox_ = Outbox{options};
  ASSERT_TRUE(outbox_.put(card(1)));
  ASSERT_TRUE(outbox_.put(card(2)));
  const int64_t handed_over = flush(kTimeZero);
  EXPECT_GT(handed_over, 500);
  EXPECT_LT(handed_over, 600) << "the second waits";
  EXPECT_EQ(outbox_.size(), 2U);
}

TEST_F(OutboxAlone, KindIsDeliveredOnceNoneIsLeft) {
  const size_t news = RoomMessage{MemberNews{}}.index();
  const size_t left = RoomMessage{MemberLeft{}}.index();
  const size_t welcome = RoomMessage{Welcome{}}.index();
  EXPECT_TRUE(outbox_.delivered(news));
  outbox_.put(MemberNews{.number = 5});
  outbox_.put(MemberNews{.number = 6});
  EXPECT_FALSE(outbox_.delivered(news));
  EXPECT_TRUE(outbox_.delivered(welcome));
  EXPECT_TRUE(outbox_.delivered(left));
  (void)flush(kTimeZero);
  outcome(kTimeZero, 0, Kind::kDelivered);
  EXPECT_FALSE(outbox_.delivered(news));
  outcome(kTimeZero, 1, Kind::kDelivered);
  EXPECT_TRUE(outbox_.delivered(news));
}

TEST_F(OutboxAlone, KeyFrameRequestsAreOneSubjectPerMember) {
  outbox_.put(KeyFrameWanted{3});
  outbox_.put(KeyFrameWanted{4});
  outbox_.put(KeyFrameWanted{3});
  EXPECT_EQ(outbox_.size(), 2U);
  outbox_.put(MemberNews{.number = 3});
  outbox_.put(MemberLeft{.number = 3});
  EXPECT_EQ(outbox_.size(), 3U);
}

TEST_F(OutboxAlone, OutcomeOfReplacedNewsDoesNotAffectTheNewer) {
  for (const Kind kind : {Kind::kDelivered, Kind::kLost, Kind::kDropped}) {
    outbox_.clear();
    EXPECT_TRUE(outbox_.empty());
    outbox_.put(SpeakerNews{.revision = 1, .number = 2});
    (void)flush(kTimeZero);
    const auto older = next_id_;
    outbox_.put(SpeakerNews{.revision = 2, .number = 3});
    EXPECT_GT(flush(kTimeZero), 0);
    next_id_ += 2;
    outcome(kTimeZero, older, kind);
    EXPECT_EQ(outbox_.size(), 1U);
    EXPECT_EQ(flush(kTimeZero + 1s), 0);
  }
}

TEST_F(OutboxAlone, ClearedNewsAreNeitherSentNorAwaited) {
  outbox_.put(SpeakerNews{.revision = 1, .number = 2});
  (void)flush(kTimeZero);
  outcome(kTimeZero, 0, Kind::kDropped);
  (void)flush(kTimeZero);
  outbox_.clear();
  EXPECT_EQ(outbox_.poll_timeout(), kNever);
  EXPECT_EQ(flush(kTimeZero + 1s), 0);
}

}  // namespace
}  // namespace cress::room
