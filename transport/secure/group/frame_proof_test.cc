#include "transport/secure/group/frame_proof.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "transport/base/rng.hh"

namespace cress::secure {
namespace {

FrameHash hash_of(uint64_t frame) {
  FrameHash hash{};
  hash[0] = static_cast<std::byte>(frame);
  hash[1] = static_cast<std::byte>(frame >> 8U);
  return hash;
}

const ProofContext kBo{std::byte{7}};

FrameProof some_proof() {
  return {.kind = MediaKind::kVideo,
          .first = 1'000,
          .frames = {hash_of(1), std::nullopt, std::nullopt, hash_of(4)}};
}

TEST(FrameProof, ItsBytesGiveItBack) {
  const SigningKey key;
  const auto bytes = build_frame_proof(some_proof(), key, kBo);
  EXPECT_EQ(bytes.size(), 11 + 1 + 2 * 6 + 64U);
  EXPECT_EQ(open_frame_proof(bytes, key.public_key(), kBo), some_proof());
}

TEST(FrameProof, TheLargestHasItsStatedSize) {
  const SigningKey key;
  FrameProof proof{.frames = std::vector<std::optional<FrameHash>>(kProofSpanMax)};
  std::fill_n(proof.frames.begin(), kProofFramesMax, hash_of(9));
  const auto bytes = build_frame_proof(proof, key, kBo);
  EXPECT_EQ(bytes.size(), kProofSizeMax);
  EXPECT_EQ(open_frame_proof(bytes, key.public_key(), kBo), proof);
}

TEST(FrameProof, AChangedBitAnotherSenderOrAnotherPresenceIsRefused) {
  const SigningKey key;
  const auto bytes = build_frame_proof(some_proof(), key, kBo);
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= std::byte{4};
    EXPECT_FALSE(open_frame_proof(changed, key.public_key(), kBo)) << i;
    EXPECT_FALSE(open_frame_proof(std::span{bytes}.first(i), key.public_key(), kBo)) << i;
  }
  EXPECT_FALSE(open_frame_proof(bytes, SigningKey{}.public_key(), kBo));
  EXPECT_FALSE(open_frame_proof(bytes, key.public_key(), ProofContext{}));
}

TEST(KeyCode, IsTwelveDigitsAndOfItsKey) {
  const SigningKey key;
  EXPECT_TRUE(std::regex_match(key_code(key.public_key()), std::regex{"\\d{4} \\d{4} \\d{4}"}));
  EXPECT_EQ(key_code(key.public_key()), key_code(key.public_key()));
  EXPECT_NE(key_code(key.public_key()), key_code(SigningKey{}.public_key()));
  EXPECT_EQ(key_code(PublicKey{}), "1177 2193 7392");
}

TEST(FrameProver, ProvesEachKindOneAndAHalfSecondsAfterItsFirstFrame) {
  FrameProver prover;
  EXPECT_EQ(prover.poll_timeout(), kNever);
  prover.add(kTimeZero, MediaKind::kAudio, 5, hash_of(5));
  prover.add(kTimeZero + 10ms, MediaKind::kVideo, 6, hash_of(6));
  prover.add(kTimeZero + 20ms, MediaKind::kAudio, 7, hash_of(7));
  EXPECT_EQ(prover.poll_timeout(), kTimeZero + 1500ms);
  EXPECT_FALSE(prover.poll(kTimeZero + 1500ms - 1us));
  EXPECT_EQ(prover.poll(kTimeZero + 1500ms),
            (FrameProof{MediaKind::kAudio, 5, {hash_of(5), std::nullopt, hash_of(7)}}));
  EXPECT_EQ(prover.poll_timeout(), kTimeZero + 1510ms);
  EXPECT_EQ(prover.poll(kTimeZero + 2s), (FrameProof{MediaKind::kVideo, 6, {hash_of(6)}}));
  EXPECT_FALSE(prover.poll(kTimeZero + 1h)) << "nothing is left to prove";
}

TEST(FrameProver, ManyFramesOrAWideSpanAreProvenAtOnce) {
  for (const auto& [step, count] : {std::pair<uint64_t, size_t>{1, kProofFramesMax}, {100, 3}}) {
    FrameProver prover;
    for (uint64_t i = 0; i <= count; ++i) {
      EXPECT_FALSE(prover.poll(kTimeZero)) << i;
      prover.add(kTimeZero, MediaKind::kVideo, i * step, hash_of(i));
    }
    EXPECT_LE(prover.poll_timeout(), kTimeZero);
    const auto proof = prover.poll(kTimeZero);
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->frames.size(), (count - 1) * step + 1);
    EXPECT_EQ(prover.poll(kTimeZero + 2s)->first, count * step) << "none is left out";
  }
}

TEST(FrameProver, ProofsCostTwoPercentOfAStreamOf300Kilobits) {
  const SigningKey key;
  FrameProver prover;
  size_t bytes = 0;
  uint64_t counter = 0;
  for (TimePoint now = kTimeZero; now < kTimeZero + 60s; now += 10ms) {
    const bool is_audio = (now - kTimeZero) % 20ms == 0ms;
    const bool is_video = (now - kTimeZero) % 30ms == 0ms;  // more than 30 a second
    for (const MediaKind kind : {MediaKind::kAudio, MediaKind::kVideo}) {
      if (kind == MediaKind::kAudio ? is_audio : is_video) {
        prover.add(now, kind, counter++, {});
      }
    }
    while (const auto proof = prover.poll(now)) {
      constexpr size_t kDatagram = 50;  // if it is alone in one: headers of all layers but IP's
      bytes += build_frame_proof(*proof, key, kBo).size() + kDatagram;
    }
  }
  EXPECT_LT(static_cast<double>(bytes * 8) / 60, 0.02 * 300'000);
  EXPECT_GT(bytes, 30'000U) << "they were sent";
}

/// A sender's honest frames, each of the next counter.
struct Sender {
  FrameProver prover{};
  uint64_t next = 0;
  uint64_t frame(TimePoint now, MediaKind kind) {
    prover.add(now, kind, next, hash_of(next));
    return next++;
  }
};

TEST(FrameChecker, HonestFramesAreTrustedThroughLossAndReordering) {
  Rng rng{4};
  Sender sender;
  FrameChecker checker;
  std::vector<std::pair<MediaKind, uint64_t>> late;
  for (TimePoint now = kTimeZero; now < kTimeZero + 5min; now += 12ms) {
    const MediaKind kind = rng.chance(0.4) ? MediaKind::kVideo : MediaKind::kAudio;
    const uint64_t counter = sender.frame(now, kind);
    if (rng.chance(0.8)) {
      EXPECT_TRUE(checker.check(now, kind, counter, hash_of(counter)));
    } else {
      late.emplace_back(kind, counter);
    }
    while (auto proof = sender.prover.poll(now)) {
      if (rng.chance(0.95)) {
        checker.handle_proof(now, *std::move(proof));
      }
      for (const auto& [of, number] : std::exchange(late, {})) {
        EXPECT_TRUE(checker.check(now, of, number, hash_of(number))) << "after its proof";
      }
    }
    ASSERT_FALSE(checker.is_distrusted()) << to_seconds(now);
  }
  EXPECT_LT(checker.unproven(), 1'500U);
}

TEST(FrameChecker, AFrameThatItsSenderDidNotSealIsFoundWhenTheProofComes) {
  for (const MediaKind forged : {MediaKind::kAudio, MediaKind::kVideo}) {
    for (const uint64_t counter : {0, 1, 2}) {  // audio, video, audio
      Sender sender;
      FrameChecker checker;
      sender.frame(kTimeZero, MediaKind::kAudio);
      sender.frame(kTimeZero, MediaKind::kVideo);
      sender.frame(kTimeZero, MediaKind::kAudio);
      EXPECT_TRUE(checker.check(kTimeZero, forged, counter, hash_of(77)));
      while (auto proof = sender.prover.poll(kTimeZero + 2s)) {
        checker.handle_proof(kTimeZero + 2s, *std::move(proof));
      }
      EXPECT_TRUE(checker.is_distrusted()) << counter;
    }
  }
}

TEST(FrameChecker, AfterTheProofAForgedFrameIsNotEvenOpened) {
  FrameChecker checker;
  checker.handle_proof(kTimeZero, {.kind = MediaKind::kAudio, .first = 0, .frames = {hash_of(0)}});
  EXPECT_FALSE(checker.check(kTimeZero, MediaKind::kAudio, 0, hash_of(1)));
  EXPECT_TRUE(checker.is_distrusted());
}

TEST(FrameChecker, FramesThatAreNeverProvenAreDistrustedInTheEnd) {
  FrameChecker checker;
  uint64_t counter = 0;
  TimePoint now = kTimeZero;
  for (; !checker.is_distrusted() && now < kTimeZero + 1min; now += 20ms) {
    (void)checker.check(now, MediaKind::kAudio, counter, hash_of(counter));
    ++counter;
  }
  EXPECT_NEAR(to_seconds(now), to_seconds(kTimeZero + FrameChecker::kProvenWithin) + 4, 0.1);
}

TEST(FrameChecker, FarAheadOfWhatWasProvenNothingIsPlausible) {
  FrameChecker checker{100};
  EXPECT_TRUE(checker.is_plausible(100 + FrameChecker::kAheadMax - 1));
  EXPECT_FALSE(checker.is_plausible(100 + FrameChecker::kAheadMax));
  checker.handle_proof(kTimeZero,
                       {.kind = MediaKind::kAudio, .first = 200, .frames = {hash_of(0)}});
  EXPECT_TRUE(checker.is_plausible(200 + FrameChecker::kAheadMax));
  checker.handle_counter(300);
  checker.handle_counter(0);
  EXPECT_TRUE(checker.is_plausible(299 + FrameChecker::kAheadMax));
  EXPECT_FALSE(checker.is_plausible(300 + FrameChecker::kAheadMax));
}

TEST(FrameChecker, WhatItRemembersIsBounded) {
  FrameChecker checker;
  for (uint64_t i = 0; i < 2 * FrameChecker::kUnprovenMax; ++i) {
    (void)checker.check(kTimeZero, MediaKind::kAudio, i, hash_of(i));
  }
  EXPECT_EQ(checker.unproven(), FrameChecker::kUnprovenMax);
  EXPECT_TRUE(checker.is_distrusted());
}

}  // namespace
}  // namespace cress::secure
