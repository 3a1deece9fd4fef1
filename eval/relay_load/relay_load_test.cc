#include "eval/relay_load/relay_load.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transport/base/leak_check.hh"

namespace cress::relay_load {
namespace {

// AddressSanitizer keeps freed memory.
#ifdef CRESS_LEAK_CHECK
constexpr bool kCountsMemory = false;
#else
constexpr bool kCountsMemory = true;
#endif

TEST(RelayLoad, AllMembersReceiveEachOtherThroughARealRelay) {
  double told = 0;
  const RelayLoadResult result = run_relay_load({.rooms = 2,
                                                 .members = 3,
                                                 .video = DataRate::kilobits_per_second(300),
                                                 .duration = 5s,
                                                 .skip = 2s},
                                                [&told](double share) {
                                                  EXPECT_GE(share, told);
                                                  told = share;
                                                });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(result.members, 6);
  EXPECT_EQ(result.not_let_in, 0);
  EXPECT_EQ(result.streams, 12);  // in each room three, to two others each
  EXPECT_GT(result.datagrams_in_per_s, 6 * 30);
  // Acknowledgements go in for all that goes out: where the machine is busy, "in" can be more.
  EXPECT_GT(result.datagrams_out_per_s, 12 * 30);
  EXPECT_EQ(result.joins, 6U);
  // A receiver's share of what the relay sends: audio, acknowledgements and headers too.
  EXPECT_GT(result.stream_kbps, 250);
  EXPECT_LT(result.stream_kbps, 550);
  EXPECT_GT(result.relay_cpu, 0);
  EXPECT_LT(result.relay_cpu, 1);
  EXPECT_NEAR(result.streams_per_core * result.relay_cpu, result.streams, 1e-6);
  EXPECT_NEAR(result.datagrams_out_per_core_s * result.relay_cpu, result.datagrams_out_per_s, 1e-3);
  ASSERT_TRUE(result.sound.p50 && result.sound.p99 && result.sound.p999);
  EXPECT_GT(*result.sound.p50, 0ms);
  EXPECT_LE(*result.sound.p50, *result.sound.p99);
  EXPECT_LE(*result.sound.p99, *result.sound.p999);
  ASSERT_TRUE(result.wait_p50 && result.wait_p99);
  EXPECT_LE(*result.wait_p50, *result.wait_p99);
  EXPECT_GT(result.resident_begin, 1'000'000U);
  EXPECT_GE(result.resident_most, result.resident_begin);
  EXPECT_GT(result.resident_end, 1'000'000U);
  EXPECT_FALSE(result.hostile || result.turn);
}

TEST(RelayLoad, MemoryIsReleasedWhenAllMembersHaveLeft) {
  const RelayLoadResult result = run_relay_load({.rooms = 2,
                                                 .members = 3,
                                                 .video = DataRate::kilobits_per_second(100),
                                                 .duration = 10s,
                                                 .skip = 3s,
                                                 .churn_per_minute = 240,
                                                 .empties = true},
                                                [](double) {});
  EXPECT_GE(result.joins, 6 + 6 + 10U);
  EXPECT_GE(result.members, 3);  // some may be joining
  if (kCountsMemory) {
    // What six members held is a few hundred kilobytes; the pages of the socket's buffers that are
    // first used meanwhile, and stay, are about as much.
    EXPECT_LT(static_cast<double>(result.resident_end),
              1.02 * static_cast<double>(result.resident_most));
    EXPECT_LT(static_cast<double>(result.resident_end),
              1.1 * static_cast<double>(result.resident_begin));
  }
}

struct Refused {
  HostileKind kind;
  std::vector<std::string> reasons;
  uint64_t least;  // of each
  // Of joins where the kind joins, else of datagrams: see HostileKind.
  double per_s;
  Duration duration = 6s;
};
// An unfinished handshake is abandoned after five seconds.
constexpr Duration kUntilGivenUp = 11s;

class Hostility : public ::testing::TestWithParam<Refused> {};

// How much the others' audio is delayed is for measurements: here, no member is disconnected, each
// attack is refused and counted by its name, and memory is bounded.
TEST_P(Hostility, IsRejectedAndCountedAndDisconnectsNoMember) {
  const RelayLoadResult result = run_relay_load({.rooms = 2,
                                                 .members = 3,
                                                 .video = DataRate::kilobits_per_second(100),
                                                 .duration = GetParam().duration,
                                                 .skip = 2s,
                                                 .hostile = GetParam().kind,
                                                 .turn = 1s},
                                                [](double) {});
  EXPECT_EQ(result.members, 6);
  EXPECT_EQ(result.not_let_in, 0);
  ASSERT_TRUE(result.hostile);
  EXPECT_GT(result.hostile->datagrams_sent, 100U);
  // Every second turn of a second each is an attack. A busy machine makes it slower, never faster:
  // half the rate was seen where two cores ran other tests, too.
  const double attacked_s = GetParam().duration == kUntilGivenUp ? 4.5 : 2;
  const auto done =
      static_cast<double>(result.hostile->joins_begun > 0 ? result.hostile->joins_begun
                                                          : result.hostile->datagrams_sent);
  EXPECT_LT(done, 1.25 * GetParam().per_s * attacked_s);
  EXPECT_GT(done, 0.1 * GetParam().per_s * attacked_s);
  EXPECT_GE(result.hostile->pairs, 1) << "a busy machine may miss one of two";
  EXPECT_TRUE(result.hostile->attacked.p99);
  ASSERT_TRUE(result.hostile->frames_calm && result.hostile->frames_attacked);
  EXPECT_GT(*result.hostile->frames_calm, 0ms);
  EXPECT_GT(result.hostile->frames_growth.median, 0);
  for (const std::string& reason : GetParam().reasons) {
    EXPECT_GE(result.hostile->refused.contains(reason) ? result.hostile->refused.at(reason) : 0,
              GetParam().least)
        << reason;
  }
  if (kCountsMemory) {
    EXPECT_LT(result.resident_most, result.resident_begin + 50'000'000);
  }
}

INSTANTIATE_TEST_SUITE_P(
    RelayLoad, Hostility,
    ::testing::Values(
        Refused{
            HostileKind::kNoise, {"unknown_kind", "bad_handshake", "without_session"}, 200, 20000},
        Refused{HostileKind::kProof, {"handshake_failed", "rate_limited"}, 5, 200, kUntilGivenUp},
        Refused{HostileKind::kSlowJoin, {"rate_limited"}, 20, 100},
        Refused{HostileKind::kHalfOpen, {"rate_limited"}, 100, 1000},
        Refused{HostileKind::kProofSpread, {"handshake_failed"}, 150, 200, kUntilGivenUp},
        Refused{HostileKind::kHalfOpenSpread, {"handshake_failed"}, 450, 1000, kUntilGivenUp},
        Refused{HostileKind::kReplay, {"replayed", "without_session"}, 100, 2100},
        Refused{HostileKind::kFlood, {"member_datagrams_over_limit", "ignored"}, 20, 10000},
        Refused{HostileKind::kForged, {"member_messages_malformed", "member_fragments"}, 20, 1000},
        Refused{HostileKind::kGhost, {"member_control_over_limit"}, 20, 100},
        Refused{HostileKind::kPingFlood, {"over_limit"}, 200, 6000},
        Refused{HostileKind::kDecoderBomb, {"member_frames_over_limit"}, 100, 1000},
        Refused{HostileKind::kCardStorm, {"member_control_over_limit"}, 100, 1000},
        Refused{HostileKind::kRoamStorm, {"over_limit"}, 100, 6000},
        Refused{
            HostileKind::kProofStorm,
            {"member_control_over_limit", "member_proofs_over_limit", "member_shares_over_limit"},
            20,
            2000}),
    [](const auto& kind) {
      std::string name;
      for (const char* at = kHostileNames.at(static_cast<size_t>(kind.param.kind)).name; *at != 0;
           ++at) {
        name += *at == '-' ? '_' : *at;
      }
      return name;
    });

}  // namespace
}  // namespace cress::relay_load
