#include "transport/secure/records.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "transport/base/rng.hh"
#include "transport/secure/control_record.hh"
#include "transport/secure/evp_cipher.hh"
#include "transport/secure/hex_test_tools.hh"
#include "transport/secure/scripted_network.hh"

namespace cress::secure {
namespace {

Secret secret_of(int fill) {
  Secret secret;
  std::fill(secret.bytes().begin(), secret.bytes().end(), std::byte(fill));
  return secret;
}

struct Pair {
  explicit Pair(Aead aead = kRecordAead, KeyLimits limits = {})
      : left(kTimeZero, {secret_of(1), secret_of(2)}, aead, limits),
        right(kTimeZero, {secret_of(2), secret_of(1)}, aead, limits) {}
  Records left;
  Records right;
};

TEST(Crypto, HmacIsThatOfRfc4231) {
  // Test case 2: key "Jefe".
  const auto key = from_hex("4a656665");
  const auto text = from_hex("7768617420646f2079612077616e7420666f72206e6f7468696e673f");
  const auto expected =
      from_hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_TRUE(std::ranges::equal(hmac(key, text).bytes(), expected));
}

TEST(Crypto, ExpandIsThatOfRfc5869) {
  // Test case 3's pseudo-random key and empty info; the first 32 bytes of its output.
  Secret key;
  std::ranges::copy(from_hex("19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04"),
                    key.bytes().begin());
  const auto expected =
      from_hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
  EXPECT_TRUE(std::ranges::equal(expand(key, "").bytes(), expected));
}

/// RFC 8446 §5.3: the sequence, big-endian and padded from the left, XOR the base.
std::array<unsigned char, kNonceSize> nonce_of(std::span<const std::byte> base, uint64_t sequence) {
  std::array<unsigned char, kNonceSize> nonce{};
  for (size_t i = 0; i < kNonceSize; ++i) {
    const size_t from_right = kNonceSize - 1 - i;
    const uint64_t part = from_right < 8 ? sequence >> (8 * from_right) : 0;
    nonce.at(i) = static_cast<unsigned char>(std::to_integer<uint64_t>(base[i]) ^ (part & 255U));
  }
  return nonce;
}

TEST(AeadKey, MakesTheBytesThatOpensslsFrontMakesAndOpensThem) {
  Rng rng{12};
  const auto random_bytes = [&rng](size_t size) {
    std::vector<std::byte> bytes(size);
    std::ranges::generate(bytes, [&rng] { return static_cast<std::byte>(rng.next()); });
    return bytes;
  };
  for (const Aead aead : {Aead::kAes128Gcm, Aead::kAes256Gcm, Aead::kChaCha20Poly1305}) {
    const auto key = random_bytes(aead == Aead::kAes128Gcm ? 16 : 32);
    const auto base = random_bytes(kNonceSize);
    AeadKey seals{aead, Use::kSeal, key, std::span{base}.first<kNonceSize>()};
    AeadKey opens{aead, Use::kOpen, key, std::span{base}.first<kNonceSize>()};
    const auto twin_seals = make_evp_cipher(aead, Use::kSeal, key);
    const auto twin_opens = make_evp_cipher(aead, Use::kOpen, key);
    for (int round = 0; round < 500; ++round) {
      const uint64_t sequence = rng.next();
      const auto header = random_bytes(rng.next() % 40);
      const auto metadata = random_bytes(rng.next() % 3);
      const auto plain = random_bytes(rng.next() % 1300);
      auto text = plain;
      auto twin_text = plain;
      std::array<std::byte, kTagSize> tag{};
      std::array<std::byte, kTagSize> twin_tag{};
      const auto nonce = nonce_of(base, sequence);
      seals.seal(sequence, header, text, tag, metadata);
      twin_seals->seal(nonce, header, metadata, twin_text, twin_tag);
      ASSERT_EQ(text, twin_text);
      ASSERT_EQ(tag, twin_tag);
      if (round % 3 == 0) {  // and of what is wrong both say so
        tag.at(rng.next() % kTagSize) ^= std::byte{1};
      }
      const bool is_right = tag == twin_tag;
      ASSERT_EQ(opens.open(sequence, header, text, tag, metadata), is_right);
      ASSERT_EQ(twin_opens->open(nonce, header, metadata, twin_text, tag), is_right);
      ASSERT_EQ(text, plain);
    }
  }
}

TEST(ReplayWindow, SaysOfEveryNumberWhetherItWasUsedLikeASetThatForgetsNothing) {
  Rng rng{3};
  constexpr size_t kKept = 100;
  ReplayWindow window{kKept};
  std::set<uint64_t> used;
  uint64_t at = 0;
  for (int i = 0; i < 20'000; ++i) {
    at += 50 + rng.below(1500);
    const uint64_t back = rng.chance(0.3) ? rng.below(200'000) : 0;
    const uint64_t number = at - std::min(at, back);
    const bool is_used = used.contains(number);
    // What is older than the newest that was forgotten is refused, used or not.
    const bool is_old =
        used.size() > kKept && number <= *std::prev(used.end(), static_cast<ptrdiff_t>(kKept + 1));
    if (!is_old) {
      ASSERT_EQ(window.is_new(number), !is_used) << number;
    } else {
      ASSERT_FALSE(window.is_new(number)) << number;
    }
    if (window.is_new(number)) {
      ASSERT_EQ(window.insert(number), used.empty() || number > *used.rbegin());
      used.insert(number);
    }
    ASSERT_LE(window.size(), kKept);
    ASSERT_EQ(window.newest(), *used.rbegin());
  }
}

TEST(Records, OpenGivesBackWhatWasSealed) {
  for (const Aead aead : {Aead::kAes128Gcm, Aead::kChaCha20Poly1305}) {
    Pair pair{aead};
    uint64_t sequence = 0;
    for (size_t size = 0; size <= 1400; size += 7) {
      const auto plain = plain_datagram(sequence, size);
      const auto record = pair.left.seal(kTimeZero, plain);
      EXPECT_EQ(record.size(), plain.size() + kTagSize);
      EXPECT_EQ(record[0], kRecordKind);
      if (size >= 16) {
        EXPECT_FALSE(std::equal(plain.begin() + 16, plain.end(), record.begin() + 16));
      }
      auto opened = pair.right.open(kTimeZero, record);
      ASSERT_TRUE(opened);
      EXPECT_EQ(opened->plain, plain);
      EXPECT_TRUE(opened->newest);
      sequence += size + 50;
    }
  }
}

TEST(Records, NoBitOfADatagramCanBeChanged) {
  Pair pair;
  const auto record = pair.left.seal(kTimeZero, plain_datagram(12'345, 60));
  for (size_t i = 0; i < record.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto forged = record;
      forged[i] ^= static_cast<std::byte>(1U << bit);
      ASSERT_FALSE(pair.right.open(kTimeZero, forged)) << "byte " << i << " bit " << bit;
    }
  }
  EXPECT_TRUE(pair.right.open(kTimeZero, record)) << "forgeries left something behind";
}

TEST(Records, NoPartOfADatagramIsTakenForIt) {
  Pair pair;
  auto record = pair.left.seal(kTimeZero, plain_datagram(12'345, 60));
  for (size_t size = 0; size < record.size(); ++size) {
    const auto opened = pair.right.open(kTimeZero, std::span{record}.first(size));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error() == OpenError::kTruncated, size < 32);
  }
  record.push_back(std::byte{0});
  EXPECT_FALSE(pair.right.open(kTimeZero, record));
}

TEST(Records, AReplayIsRefusedAndSoIsAReflection) {
  Pair pair;
  const auto first = pair.left.seal(kTimeZero, plain_datagram(0));
  const auto second = pair.left.seal(kTimeZero, plain_datagram(150));
  EXPECT_EQ(pair.left.open(kTimeZero, first).error(), OpenError::kBadTag);
  EXPECT_TRUE(pair.right.open(kTimeZero, second)->newest);
  const auto late = pair.right.open(kTimeZero, first);
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->newest);
  EXPECT_EQ(pair.right.open(kTimeZero, first).error(), OpenError::kReplayed);
  EXPECT_EQ(pair.right.open(kTimeZero, second).error(), OpenError::kReplayed);
}

TEST(RecordsDeathTest, ASequenceIsNeverSealedTwice) {
  Pair pair;
  (void)pair.left.seal(kTimeZero, plain_datagram(500));
  EXPECT_DEATH((void)pair.left.seal(kTimeZero, plain_datagram(500)), "sealed once");
  EXPECT_DEATH((void)pair.left.seal(kTimeZero, plain_datagram(400)), "sealed once");
}

TEST(Records, GoOnWhenTheSequencePassesThirtyTwoBitsWhateverTheOrder) {
  Pair pair;
  Rng rng{4};
  uint64_t sequence = 0;
  std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> air;
  uint64_t opened_count = 0;
  // Steps of up to 500 MB of sequence, so that 2^32 is passed some fifty times.
  for (int i = 0; i < 1000; ++i) {
    sequence += 50 + rng.below(500'000'000);
    const auto plain = plain_datagram(sequence, 30);
    air.emplace_back(plain, pair.left.seal(kTimeZero, plain));
    if (air.size() == 3) {
      std::swap(air[0], air[rng.below(3)]);
      for (const auto& [expected, record] : air) {
        const auto opened = pair.right.open(kTimeZero, record);
        ASSERT_TRUE(opened);
        ASSERT_EQ(opened->plain, expected);
        ++opened_count;
      }
      air.clear();
    }
  }
  EXPECT_GT(sequence, uint64_t{40} << 32U);
  EXPECT_EQ(opened_count, 999U);
}

TEST(Records, AForgedSequenceDoesNotMoveWhatIsExpected) {
  Pair pair;
  ASSERT_TRUE(pair.right.open(kTimeZero, pair.left.seal(kTimeZero, plain_datagram(0))));
  auto forged = pair.left.seal(kTimeZero, plain_datagram(0x7000'0000));
  forged.back() ^= std::byte{1};
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pair.right.open(kTimeZero, forged).error(), OpenError::kBadTag);
  }
  Pair other;
  ASSERT_TRUE(other.right.open(kTimeZero, other.left.seal(kTimeZero, plain_datagram(0))));
  EXPECT_TRUE(other.right.open(kTimeZero, other.left.seal(kTimeZero, plain_datagram(150)))->newest);
}

TEST(Records, KeysAreReplacedUnderReorderingAndNothingIsLost) {
  Pair pair{kRecordAead, {.datagrams = 20, .age = 1h, .keep_previous = 10s}};
  Rng rng{6};
  TimePoint now = kTimeZero;
  struct InTheAir {
    int index = 0;
    std::vector<std::byte> record;
  };
  std::vector<InTheAir> air;
  std::set<uint8_t> phases;
  uint64_t sequence = 0;
  for (int i = 0; i < 8000; ++i) {
    now += 1ms;
    sequence += 150;
    air.push_back({i, pair.left.seal(now, plain_datagram(sequence))});
    phases.insert(std::to_integer<uint8_t>(air.back().record[1]));
    // The other direction says that somebody is there.
    ASSERT_TRUE(pair.left.open(now, pair.right.seal(now, plain_datagram(sequence))));
    while (air.size() > 8) {
      // In any order, but nobody is overtaken by a whole key.
      const size_t chosen = i - air.front().index > 15 ? 0 : rng.below(air.size());
      if (!rng.chance(0.1)) {  // else it is lost
        ASSERT_TRUE(pair.right.open(now, air[chosen].record)) << "datagram " << i;
      }
      air.erase(air.begin() + static_cast<ptrdiff_t>(chosen));
    }
  }
  EXPECT_EQ(phases.size(), 256U) << "every phase was used, and the phase itself wrapped";
}

TEST(Records, TheKeyBeforeOpensForAWhileAndThenNoMore) {
  const KeyLimits limits{.datagrams = 2, .age = 1h, .keep_previous = 10s};
  Pair pair{kRecordAead, limits};
  ASSERT_TRUE(pair.left.open(kTimeZero, pair.right.seal(kTimeZero, plain_datagram(0))));
  std::vector<std::vector<std::byte>> sealed;
  for (uint64_t i = 0; i < 4; ++i) {
    sealed.push_back(pair.left.seal(kTimeZero, plain_datagram(150 * i)));
  }
  EXPECT_EQ(sealed[1][1], std::byte{0});
  EXPECT_EQ(sealed[2][1], std::byte{1});
  ASSERT_TRUE(pair.right.open(kTimeZero, sealed[2]));
  EXPECT_TRUE(pair.right.open(kTimeZero + 9s, sealed[0]));
  EXPECT_EQ(pair.right.open(kTimeZero + 11s, sealed[1]).error(), OpenError::kUnknownKey);
  EXPECT_TRUE(pair.right.open(kTimeZero + 11s, sealed[3]));
}

TEST(Records, KeysAreReplacedByTheHourButNotBeforeSomebodyWhoSleeps) {
  Pair pair;
  TimePoint now = kTimeZero;
  uint64_t sequence = 0;
  const auto phase = [&] {
    sequence += 150;
    return std::to_integer<int>(pair.left.seal(now, plain_datagram(sequence))[1]);
  };
  EXPECT_EQ(phase(), 0);
  now += 2h;
  EXPECT_EQ(phase(), 0) << "nobody was heard";
  ASSERT_TRUE(pair.left.open(now, pair.right.seal(now, plain_datagram(0))));
  EXPECT_EQ(phase(), 1);
  now += 59min;
  ASSERT_TRUE(pair.left.open(now, pair.right.seal(now, plain_datagram(150))));
  EXPECT_EQ(phase(), 1);
  now += 1min;
  EXPECT_EQ(phase(), 2);
  now += 24h;
  EXPECT_EQ(phase(), 2) << "never two keys ahead";
}

TEST(Records, AForgedKeyPhaseDoesNotMoveTheKeys) {
  Pair pair;
  const auto first = pair.left.seal(kTimeZero, plain_datagram(0));
  for (int phase = 0; phase < 256; ++phase) {
    auto forged = first;
    forged[1] = std::byte(phase);
    EXPECT_EQ(static_cast<bool>(pair.right.open(kTimeZero, forged)), phase == 0) << phase;
  }
  EXPECT_TRUE(pair.right.open(kTimeZero, pair.left.seal(kTimeZero, plain_datagram(150))));
}

struct ControlPair {
  ControlRecords left{kTimeZero, {secret_of(3), secret_of(4)}};
  ControlRecords right{kTimeZero, {secret_of(4), secret_of(3)}};
};

const std::vector<ControlMessage> kMessages{
    PathChallenge{{std::byte{1}, std::byte{2}}},
    PathResponse{{std::byte{3}}},
    Close{CloseCode::kHangUp},
    Close{CloseCode::kBusy},
    Close{CloseCode::kReplaced},
    MtuProbe{DataSize{1400}},
    MtuAcknowledgement{DataSize{1472}},
    Ping{0xDEADBEEF},
    Pong{1, 0xFFFFFFFF},
};

TEST(ControlRecords, OpenGivesBackWhatWasSealed) {
  ControlPair pair;
  for (const ControlMessage& message : kMessages) {
    const auto record = pair.left.seal(kTimeZero, message);
    EXPECT_EQ(record[0], kControlKind);
    const auto opened = pair.right.open(kTimeZero, record);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->message, message);
    EXPECT_TRUE(opened->newest);
    EXPECT_EQ(pair.right.open(kTimeZero, record).error(), OpenError::kReplayed);
    EXPECT_FALSE(pair.left.open(kTimeZero, record)) << "reflected";
    if (const auto* probe = std::get_if<MtuProbe>(&message)) {
      EXPECT_EQ(record.size(), static_cast<size_t>(probe->size.bytes()));
    }
  }
}

TEST(ControlRecords, NoBitCanBeChangedAndNoPartIsTakenForTheWhole) {
  for (const ControlMessage& message : kMessages) {
    ControlPair pair;
    const auto record = pair.left.seal(kTimeZero, message);
    for (size_t i = 0; i < record.size(); ++i) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        auto forged = record;
        forged[i] ^= static_cast<std::byte>(1U << bit);
        ASSERT_FALSE(pair.right.open(kTimeZero, forged));
      }
      ASSERT_FALSE(pair.right.open(kTimeZero, std::span{record}.first(i)));
    }
    EXPECT_TRUE(pair.right.open(kTimeZero, record));
  }
}

TEST(ControlRecords, WhatALaterVersionSaysIsAuthenticButIgnored) {
  ControlPair pair;
  const auto opened = pair.right.open(kTimeZero, pair.left.seal(kTimeZero, UnknownControl{}));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->message, ControlMessage{UnknownControl{}});
}

}  // namespace
}  // namespace cress::secure
