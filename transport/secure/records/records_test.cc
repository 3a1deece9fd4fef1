#include "transport/secure/records/records.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "transport/base/rng.hh"
#include "transport/secure/crypto/aead_cipher.hh"
#include "transport/secure/crypto/hex_test_tools.hh"
#include "transport/secure/crypto/memory_test_tools.hh"
#include "transport/secure/records/control_record.hh"
#include "transport/secure/secure_test_tools.hh"

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

TEST(AeadKey, EqualsOpensslsOwnInterface) {
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
      if (round % 3 == 0) {  // and both report the same error for a wrong one
        tag.at(rng.next() % kTagSize) ^= std::byte{1};
      }
      const bool is_right = tag == twin_tag;
      ASSERT_EQ(opens.open(sequence, header, text, tag, metadata), is_right);
      ASSERT_EQ(twin_opens->open(nonce, header, metadata, twin_text, tag), is_right);
      ASSERT_EQ(text, plain);
    }
  }
}

TEST(ReplayWindow, AgreesWithASetThatForgetsNothing) {
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
    // Numbers older than the newest discarded one are refused, used or not.
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

TEST(Records, OpenReturnsWhatWasSealed) {
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

TEST(Records, NoPartOfADatagramIsAccepted) {
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

TEST(Records, ContinueWhenTheSequencePassesThirtyTwoBits) {
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
    // The other direction shows that the peer is there.
    ASSERT_TRUE(pair.left.open(now, pair.right.seal(now, plain_datagram(sequence))));
    while (air.size() > 8) {
      // In any order, but none is overtaken by a whole key.
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

/// Left has sealed twice with its first key and twice with the next; right has opened one of each.
struct KeyChange {
  explicit KeyChange(Aead aead)
      : pair(aead, {.datagrams = 2, .age = 1h, .keep_previous = 10s}),
        first(Needle::record_key(secret_of(1), aead == Aead::kAes128Gcm ? 16 : 32)) {
    EXPECT_TRUE(pair.left.open(kTimeZero, pair.right.seal(kTimeZero, plain_datagram(0))));
    for (uint64_t i = 0; i < 4; ++i) {
      sealed.push_back(pair.left.seal(kTimeZero, plain_datagram(150 * i)));
    }
    EXPECT_EQ(sealed[1][1], std::byte{0});
    EXPECT_EQ(sealed[2][1], std::byte{1});
    EXPECT_TRUE(pair.right.open(kTimeZero, sealed[0]));
    EXPECT_EQ(pair.right.poll_timeout(), kNever) << "no key is over";
    EXPECT_TRUE(pair.right.open(kTimeZero, sealed[2]));
  }
  Pair pair;
  Needle first;  // left's first key
  std::vector<std::vector<std::byte>> sealed{};
};

TEST(Records, ThePreviousKeyIsOverwrittenWhenItsTimeIsOver) {
  if (!kMemoryCanBeSearched) {
    GTEST_SKIP() << "a sanitizer's memory is not searched";
  }
  for (const Aead aead : {Aead::kAes128Gcm, Aead::kChaCha20Poly1305}) {
    KeyChange change{aead};
    Records& right = change.pair.right;
    const TimePoint due = kTimeZero + 10s + Duration{1};
    EXPECT_EQ(right.poll_timeout(), due);
    right.handle_timeout(due - Duration{1});
    EXPECT_EQ(right.poll_timeout(), due);
    EXPECT_GE(change.first.times_in_memory(), 1U);
    right.handle_timeout(due);
    EXPECT_EQ(change.first.times_in_memory(), 0U);
    EXPECT_EQ(right.poll_timeout(), kNever);
    EXPECT_EQ(right.open(due, change.sealed[1]).error(), OpenError::kUnknownKey);
  }
}

TEST(Records, AnyDatagramEndsAnExpiredPreviousKey) {
  if (!kMemoryCanBeSearched) {
    GTEST_SKIP() << "a sanitizer's memory is not searched";
  }
  KeyChange change{kRecordAead};
  EXPECT_TRUE(change.pair.right.open(kTimeZero + 10s, change.sealed[1]));
  EXPECT_GE(change.first.times_in_memory(), 1U);
  EXPECT_TRUE(change.pair.right.open(kTimeZero + 10s + Duration{1}, change.sealed[3]));
  EXPECT_EQ(change.first.times_in_memory(), 0U);
}

TEST(Records, TheSealingKeyIsOverwrittenWhenTheNextBegins) {
  if (!kMemoryCanBeSearched) {
    GTEST_SKIP() << "a sanitizer's memory is not searched";
  }
  for (const Aead aead : {Aead::kAes128Gcm, Aead::kChaCha20Poly1305}) {
    const Secret root = expand(secret_of(1), "of the sealing end");
    const Needle secret{root.bytes()};
    const Needle key = Needle::record_key(root, aead == Aead::kAes128Gcm ? 16 : 32);
    const size_t own = secret.times_in_memory();  // `root`, if it is not on the stack
    Records left{kTimeZero, {root, secret_of(2)}, aead, {.datagrams = 2}};
    Records right{kTimeZero, {secret_of(2), secret_of(3)}, aead};
    EXPECT_TRUE(left.open(kTimeZero, right.seal(kTimeZero, plain_datagram(0))));
    (void)left.seal(kTimeZero, plain_datagram(0));
    (void)left.seal(kTimeZero, plain_datagram(150));
    EXPECT_GE(key.times_in_memory(), 1U);
    (void)left.seal(kTimeZero, plain_datagram(300));
    EXPECT_EQ(key.times_in_memory(), 0U);
    EXPECT_EQ(secret.times_in_memory(), own);
  }
}

TEST(Records, KeysAreReplacedHourlyUnlessThePeerIsSilent) {
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
    IdentityProof{.key = {std::byte{5}, std::byte{6}}, .signature = {std::byte{7}, std::byte{8}}},
    IdentityAcknowledgement{},
};

TEST(ControlRecords, OpenReturnsWhatWasSealed) {
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

TEST(ControlRecords, EveryModificationOrTruncationIsDetected) {
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

TEST(ControlRecords, UnknownMessagesAreAuthenticButIgnored) {
  ControlPair pair;
  const auto opened = pair.right.open(kTimeZero, pair.left.seal(kTimeZero, UnknownControl{}));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->message, ControlMessage{UnknownControl{}});
}

// ---- limits, on both sides

TEST(Records, ADatagramMayBeOvertakenBy2048AndNotByMore) {
  for (const uint64_t overtaking : {2048, 2049}) {
    Pair pair;
    const auto late = pair.left.seal(kTimeZero, plain_datagram(0));
    for (uint64_t i = 1; i <= overtaking; ++i) {
      ASSERT_TRUE(pair.right.open(kTimeZero, pair.left.seal(kTimeZero, plain_datagram(150 * i))));
    }
    EXPECT_EQ(pair.right.open(kTimeZero, late).has_value(), overtaking == 2048);
  }
}

TEST(ControlRecords, AMessageMayBeOvertakenBy64AndNotByMore) {
  for (const uint32_t overtaking : {64, 65}) {
    ControlPair pair;
    const auto late = pair.left.seal(kTimeZero, Ping{0});
    for (uint32_t i = 1; i <= overtaking; ++i) {
      ASSERT_TRUE(pair.right.open(kTimeZero, pair.left.seal(kTimeZero, Ping{i})));
    }
    const auto opened = pair.right.open(kTimeZero, late);
    EXPECT_EQ(opened.has_value(), overtaking == 64);
    if (opened) {
      EXPECT_FALSE(opened->newest);
    }
  }
}

TEST(Records, ByDefaultAKeySealsAMillionDatagramsAndLastsAnHour) {
  const KeyLimits limits;
  EXPECT_EQ(limits.datagrams, 1'048'576U);
  EXPECT_EQ(limits.age, 1h);
  EXPECT_EQ(limits.keep_previous, 10s);
}

/// Shows `left` that `right` is there.
void hear(Pair& pair, TimePoint now, uint64_t sequence) {
  ASSERT_TRUE(pair.left.open(now, pair.right.seal(now, plain_datagram(sequence))));
}

TEST(Records, AKeyGivesWayExactlyAtItsLimits) {
  Pair pair{kRecordAead, {.datagrams = 3, .age = 10s, .keep_previous = 1s}};
  uint64_t sequence = 0;
  const auto phase = [&](TimePoint now) {
    sequence += 150;
    return std::to_integer<int>(pair.left.seal(now, plain_datagram(sequence))[1]);
  };
  hear(pair, kTimeZero, 0);
  for (const int expected : {0, 0, 0, 1, 1, 1, 1, 1}) {
    EXPECT_EQ(phase(kTimeZero), expected) << "the fourth is of the next; then nobody was heard";
  }
  hear(pair, kTimeZero, 150);
  EXPECT_EQ(phase(kTimeZero + 2s), 2);
  hear(pair, kTimeZero + 2s, 300);
  EXPECT_EQ(phase(kTimeZero + 12s - Duration{1}), 2);
  EXPECT_EQ(phase(kTimeZero + 12s), 3) << "ten seconds after the key began";
}

TEST(Records, TheKeyBeforeOpensUntilExactlyItsTime) {
  for (const Duration late : {Duration{0}, Duration{1}}) {
    Pair pair{kRecordAead, {.datagrams = 1, .age = 1h, .keep_previous = 10s}};
    hear(pair, kTimeZero, 0);
    const auto first = pair.left.seal(kTimeZero, plain_datagram(150));
    const auto second = pair.left.seal(kTimeZero, plain_datagram(300));
    ASSERT_TRUE(pair.right.open(kTimeZero + 5s, second));
    EXPECT_EQ(pair.right.open(kTimeZero + 15s + late, first).has_value(), late == Duration{0});
  }
}

TEST(Records, KeysOfTwoPhasesBackOpenNothing) {
  Pair pair{kRecordAead, {.datagrams = 1, .age = 1h, .keep_previous = 10s}};
  std::vector<std::vector<std::byte>> sealed;
  for (uint64_t i = 0; i < 3; ++i) {
    hear(pair, kTimeZero, 150 * i);
    sealed.push_back(pair.left.seal(kTimeZero, plain_datagram(150 * i)));
    EXPECT_EQ(sealed.back()[1], static_cast<std::byte>(i));
  }
  ASSERT_TRUE(pair.right.open(kTimeZero, sealed[1]));
  ASSERT_TRUE(pair.right.open(kTimeZero, sealed[2]));
  EXPECT_EQ(pair.right.open(kTimeZero, sealed[0]).error(), OpenError::kUnknownKey);
}

TEST(Records, EveryErrorOfARecordIsNamed) {
  Pair pair;
  auto record = pair.left.seal(kTimeZero, plain_datagram(0, 0));
  ASSERT_EQ(record.size(), 32U);
  const auto error_of = [&](std::span<const std::byte> bytes) {
    return pair.right.open(kTimeZero, bytes).error();
  };
  EXPECT_EQ(error_of(std::span{record}.first(31)), OpenError::kTruncated);
  auto changed = record;
  changed[0] = kPlainKind;
  EXPECT_EQ(error_of(changed), OpenError::kWrongKind);
  changed = record;
  changed[1] = std::byte{2};
  EXPECT_EQ(error_of(changed), OpenError::kUnknownKey);
  changed[1] = std::byte{1};
  EXPECT_EQ(error_of(changed), OpenError::kBadTag) << "the key after is tried";
  changed[1] = std::byte{255};
  EXPECT_EQ(error_of(changed), OpenError::kUnknownKey) << "there is none before the first";
  ASSERT_TRUE(pair.right.open(kTimeZero, record));
  EXPECT_EQ(error_of(record), OpenError::kReplayed);
}

TEST(ControlRecords, EveryErrorOfAControlRecordIsNamed) {
  ControlPair pair;
  const auto record = pair.left.seal(kTimeZero, Close{});
  ASSERT_EQ(record.size(), 28U);
  const auto error_of = [&](std::span<const std::byte> bytes) {
    return pair.right.open(kTimeZero, bytes).error();
  };
  EXPECT_EQ(error_of(std::span{record}.first(25)), OpenError::kTruncated);
  EXPECT_EQ(error_of(std::span{record}.first(26)), OpenError::kBadTag);
  auto changed = record;
  changed[0] = kRecordKind;
  EXPECT_EQ(error_of(changed), OpenError::kWrongKind);
  changed = record;
  changed[1] = std::byte{2};
  EXPECT_EQ(error_of(changed), OpenError::kUnknownKey);
  ASSERT_TRUE(pair.right.open(kTimeZero, record));
}

TEST(ControlRecords, KeysAreReplacedAsThoseOfRecordsAre) {
  const KeyLimits limits{.datagrams = 2, .age = 1h, .keep_previous = 10s};
  ControlRecords left{kTimeZero, {secret_of(3), secret_of(4)}, limits};
  ControlRecords right{kTimeZero, {secret_of(4), secret_of(3)}, limits};
  for (uint32_t i = 0; i < 20; ++i) {
    const auto there = left.seal(kTimeZero, Ping{i});
    EXPECT_EQ(there[1], static_cast<std::byte>(i / 2));
    ASSERT_TRUE(right.open(kTimeZero, there)) << i;
    ASSERT_TRUE(left.open(kTimeZero, right.seal(kTimeZero, Ping{i}))) << i;
  }
}

/// An authentic control record with any text, in the layout of the protocol: kind, phase, counter.
std::vector<std::byte> control_of(const std::vector<std::byte>& text) {
  std::vector<std::byte> record(10);
  record[0] = kControlKind;
  record.insert(record.end(), text.begin(), text.end());
  record.resize(record.size() + kTagSize);
  const std::span<std::byte> all{record};
  AeadKey key{kRecordAead, Use::kSeal, secret_of(3)};
  key.seal(0, all.first(10), all.subspan(10, text.size()), all.last<kTagSize>());
  return record;
}

TEST(ControlRecords, MessagesOfAnotherLengthThanTheirsAreIgnored) {
  // By type: the only length of what follows it, and the message's place in the variant.
  struct Kind {
    int type;
    size_t length;
    size_t index;
  };
  const std::vector<Kind> kinds{{1, 8, 0},   {2, 8, 1},    {3, 1, 2},  {5, 2, 4},
                                {6, 4, 5},   {7, 8, 6},    {9, 4, 8},  {10, 26, 9},
                                {11, 8, 10}, {12, 96, 11}, {13, 0, 12}};
  constexpr size_t kUnknown = 13;
  for (const Kind& kind : kinds) {
    for (size_t length = 0; length <= 100; ++length) {
      ControlPair pair;
      std::vector<std::byte> text(1 + length, std::byte{1});
      text[0] = static_cast<std::byte>(kind.type);
      const auto opened = pair.right.open(kTimeZero, control_of(text));
      ASSERT_TRUE(opened);
      EXPECT_EQ(opened->message.index(), length == kind.length ? kind.index : kUnknown)
          << kind.type << " of " << length;
    }
  }
  for (const auto& text : {std::vector<std::byte>{}, {std::byte{0}}, {std::byte{14}}}) {
    ControlPair pair;
    EXPECT_EQ(pair.right.open(kTimeZero, control_of(text))->message.index(), kUnknown);
  }
}

TEST(ControlRecords, ListsOfCandidatesHaveZeroToEightAddresses) {
  for (size_t length = 0; length <= 4 + 10 * 18; ++length) {
    ControlPair pair;
    std::vector<std::byte> text(1 + length, std::byte{8});
    const auto opened = pair.right.open(kTimeZero, control_of(text));
    ASSERT_TRUE(opened);
    const auto* candidates = std::get_if<PathCandidates>(&opened->message);
    const bool is_list = length >= 4 && (length - 4) % 18 == 0 && (length - 4) / 18 <= 8;
    ASSERT_EQ(candidates != nullptr, is_list) << length;
    if (is_list) {
      EXPECT_EQ(candidates->revision, 0x08080808U);
      EXPECT_EQ(candidates->addresses.size(), (length - 4) / 18);
    }
  }
}

TEST(ControlRecords, OnlyKnownCloseCodesClose) {
  for (int code = 0; code < 256; ++code) {
    ControlPair pair;
    const auto opened =
        pair.right.open(kTimeZero, control_of({std::byte{3}, static_cast<std::byte>(code)}));
    ASSERT_TRUE(opened);
    if (code >= 1 && code <= 6) {
      EXPECT_EQ(opened->message, ControlMessage{Close{static_cast<CloseCode>(code)}});
    } else {
      EXPECT_EQ(opened->message, ControlMessage{UnknownControl{}}) << code;
    }
  }
}

TEST(ControlRecords, AreWrittenAsDocumented) {
  // Opened with the key itself, so that both ends cannot have the same error.
  const auto text_of_message = [](const ControlMessage& message, uint64_t before) {
    ControlPair pair;
    for (uint64_t i = 0; i < before; ++i) {
      (void)pair.left.seal(kTimeZero, Ping{});
    }
    auto record = pair.left.seal(kTimeZero, message);
    const std::span<std::byte> all{record};
    EXPECT_EQ(to_hex(all.first(2)), "1200");
    EXPECT_EQ(std::to_integer<uint64_t>(record[9]) + 256 * std::to_integer<uint64_t>(record[8]),
              before);
    AeadKey key{kRecordAead, Use::kOpen, secret_of(3)};
    EXPECT_TRUE(key.open(before, all.first(10), all.subspan(10, all.size() - 26),
                         std::span<const std::byte>{all}.last<kTagSize>()));
    return to_hex(all.subspan(10, all.size() - 26));
  };
  const PathToken token{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                        std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
  EXPECT_EQ(text_of_message(PathChallenge{token}, 0), "010102030405060708");
  EXPECT_EQ(text_of_message(PathResponse{token}, 1), "020102030405060708");
  EXPECT_EQ(text_of_message(Close{CloseCode::kRemoved}, 300), "0306");
  EXPECT_EQ(text_of_message(MtuProbe{DataSize{64}}, 0), "04" + std::string(2 * 37, '0'));
  EXPECT_EQ(text_of_message(MtuAcknowledgement{DataSize{0x0102}}, 0), "050102");
  EXPECT_EQ(text_of_message(Ping{0x01020304}, 0), "0601020304");
  EXPECT_EQ(text_of_message(Pong{0x01020304, 0x05060708}, 0), "070102030405060708");
  Address address;
  address.ip = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};
  address.port = 0x1234;
  const std::string text = "20010db80000000000000000000000091234";
  EXPECT_EQ(text_of_message(PathCandidates{0x01020304, {address, address}}, 0),
            "0801020304" + text + text);
  EXPECT_EQ(text_of_message(CandidatesAcknowledgement{0x01020304}, 0), "0901020304");
  EXPECT_EQ(text_of_message(PathProbe{token, address}, 0), "0a0102030405060708" + text);
  EXPECT_EQ(text_of_message(PathProbeAnswer{token}, 0), "0b0102030405060708");
  EXPECT_EQ(text_of_message(UnknownControl{}, 0), "ff");
}

TEST(ControlRecordsDeathTest, AProbeHasAtLeast64Bytes) {
  ControlPair pair;
  EXPECT_EQ(pair.left.seal(kTimeZero, MtuProbe{DataSize{64}}).size(), 64U);
  EXPECT_DEATH((void)pair.left.seal(kTimeZero, MtuProbe{DataSize{63}}), "too small");
}

TEST(RecordsDeathTest, OnlyDatagramsOfAnEndpointAreSealed) {
  Pair pair;
  EXPECT_DEATH((void)pair.left.seal(kTimeZero, std::vector<std::byte>(15, kPlainKind)), "Endpoint");
  EXPECT_DEATH((void)pair.left.seal(kTimeZero, std::vector<std::byte>(16)), "Endpoint");
}

TEST(Crypto, EqualInConstantTimeIsEqual) {
  const auto text = from_hex("000102030405");
  EXPECT_TRUE(equal_in_constant_time(text, text));
  EXPECT_TRUE(equal_in_constant_time({}, {}));
  for (size_t i = 0; i < text.size(); ++i) {
    auto other = text;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(equal_in_constant_time(text, other));
  }
  EXPECT_FALSE(equal_in_constant_time(text, std::span{text}.first(5)));
  EXPECT_FALSE(equal_in_constant_time(std::span{text}.first(5), text));
}

TEST(Crypto, WipeOverwritesAll) {
  auto text = from_hex("010203");
  wipe(text);
  EXPECT_EQ(text, from_hex("000000"));
}

TEST(Crypto, RandomBytesFillTheWhole) {
  std::vector<std::set<std::byte>> values(32);
  for (int i = 0; i < 32; ++i) {
    std::vector<std::byte> bytes(values.size());
    fill_random(bytes);
    for (size_t at = 0; at < bytes.size(); ++at) {
      values[at].insert(bytes[at]);
    }
  }
  for (const auto& seen : values) {
    EXPECT_GT(seen.size(), 4U);
  }
}

TEST(CryptoDeathTest, AKeyHasOneUseAndHkdfOneBlock) {
  std::array<std::byte, kTagSize> tag{};
  AeadKey seals{kRecordAead, Use::kSeal, secret_of(1)};
  AeadKey opens{kRecordAead, Use::kOpen, secret_of(1)};
  EXPECT_DEATH((void)seals.open(0, {}, {}, tag), "does not open");
  EXPECT_DEATH(opens.seal(0, {}, {}, tag), "does not seal");
  EXPECT_EQ(hkdf(Hash::kSha256, "", {}, {}, 32).size(), 32U);
  EXPECT_EQ(hkdf(Hash::kSha512, "", {}, {}, 64).size(), 64U);
  EXPECT_DEATH((void)hkdf(Hash::kSha256, "", {}, {}, 33), "more than a block");
}

TEST(Crypto, DerivedKeysAreThoseOfTheirLabels) {
  // A key and its nonce base are HKDF-Expand of the secret with two labels of the protocol.
  for (const Aead aead : {Aead::kAes128Gcm, Aead::kAes256Gcm, Aead::kChaCha20Poly1305}) {
    const Secret secret = secret_of(9);
    const Secret key = expand(secret, "cress key");
    const Secret base = expand(secret, "cress iv");
    AeadKey derived{aead, Use::kSeal, secret};
    AeadKey given{aead, Use::kSeal, key.bytes().first(aead == Aead::kAes128Gcm ? 16 : 32),
                  base.bytes().first<kNonceSize>()};
    std::array<std::byte, kTagSize> one{};
    std::array<std::byte, kTagSize> other{};
    derived.seal(5, {}, {}, one);
    given.seal(5, {}, {}, other);
    EXPECT_EQ(one, other);
  }
}

}  // namespace
}  // namespace cress::secure
