#include "eval/relay_load/relay_load.hh"

#include <gtest/gtest.h>

namespace cress::relay_load {
namespace {

TEST(RelayLoad, EverybodySeesAndHearsEverybodyThroughARealRelay) {
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
  EXPECT_GT(result.datagrams_out_per_s, result.datagrams_in_per_s);
  EXPECT_GT(result.relay_cpu, 0);
  EXPECT_TRUE(result.sound_p99);
  EXPECT_TRUE(result.wait_p99);
}

TEST(RelayLoad, MembersComeAndGoAndAFloodKeepsNobodyOut) {
  const RelayLoadResult result = run_relay_load({.rooms = 2,
                                                 .members = 3,
                                                 .video = DataRate::kilobits_per_second(100),
                                                 .duration = 6s,
                                                 .skip = 1s,
                                                 .churn_per_minute = 120,
                                                 .hostile = true},
                                                [](double) {});
  EXPECT_GE(result.joins, 6 + 10U);
  EXPECT_GT(result.hostile_sent, 10'000U);
  EXPECT_GE(result.members, 5);  // one may be on its way in
}

}  // namespace
}  // namespace cress::relay_load
