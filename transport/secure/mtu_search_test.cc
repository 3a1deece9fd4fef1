#include "transport/secure/mtu_search.hh"

#include <gtest/gtest.h>

#include <vector>

namespace cress::secure {
namespace {

constexpr DataSize kEthernet{1472};

/// Steps the machine for `length` over a path that carries `mtu` and answers after 100 ms.
struct Path {
  explicit Path(DataSize carried, DataSize largest = kEthernet)
      : mtu(carried), search(kTimeZero, {.largest = largest}) {}

  void run_for(Duration length) {
    const TimePoint end = now + length;
    while (true) {
      const TimePoint next = std::min(search.poll_timeout(), answer_at);
      if (next > end) {
        now = end;
        return;
      }
      now = std::max(now, next);
      if (answer_at <= now) {
        answer_at = kNever;
        search.handle_acknowledgement(now, answer);
      }
      while (const auto size = search.poll_probe(now)) {
        probes.emplace_back(now, *size);
        if (*size <= mtu) {
          answer = *size;
          answer_at = now + 100ms;
        }
      }
    }
  }

  DataSize mtu;
  MtuSearch search;
  TimePoint now = kTimeZero;
  TimePoint answer_at = kNever;
  DataSize answer;
  std::vector<std::pair<TimePoint, DataSize>> probes;
};

TEST(MtuSearch, FindsTheLargestStepThatThePathCarries) {
  for (const auto& [mtu, found] : std::vector<std::pair<int, int>>{{1200, 1200},
                                                                   {1279, 1200},
                                                                   {1280, 1280},
                                                                   {1399, 1280},
                                                                   {1400, 1400},
                                                                   {1451, 1400},
                                                                   {1452, 1452},
                                                                   {1471, 1452},
                                                                   {1472, 1472},
                                                                   {9000, 1472}}) {
    Path path{DataSize{mtu}};
    path.run_for(30s);
    EXPECT_EQ(path.search.size(), DataSize{found}) << mtu;
    EXPECT_LE(path.probes.size(), 6U);
  }
}

TEST(MtuSearch, DoesNotAskForMoreThanItMay) {
  Path path{DataSize{9000}, DataSize{1452}};
  path.run_for(30s);
  EXPECT_EQ(path.search.size(), DataSize{1452});
}

TEST(MtuSearch, BelievesOnlyTheSizeItAskedFor) {
  MtuSearch search{kTimeZero, {.largest = kEthernet}};
  search.handle_acknowledgement(kTimeZero, DataSize{1280});
  EXPECT_EQ(search.size(), kDatagramBase) << "nothing was asked yet";
  ASSERT_EQ(search.poll_probe(kTimeZero + 1s), DataSize{1280});
  search.handle_acknowledgement(kTimeZero + 1s, DataSize{1472});
  EXPECT_EQ(search.size(), kDatagramBase);
  search.handle_acknowledgement(kTimeZero + 1s, DataSize{1280});
  EXPECT_EQ(search.size(), DataSize{1280});
}

TEST(MtuSearch, AsksThreeTimesAndAgainAfterAMinute) {
  Path path{DataSize{1200}};
  path.run_for(30s);
  EXPECT_EQ(path.probes.size(), 3U);
  path.mtu = kEthernet;
  path.run_for(40s);
  EXPECT_EQ(path.search.size(), kEthernet);
}

TEST(MtuSearch, StartsAnewOnANewPath) {
  Path path{kEthernet};
  path.run_for(10s);
  ASSERT_EQ(path.search.size(), kEthernet);
  path.mtu = DataSize{1400};
  path.search.handle_path_change(path.now, DataSize{1452});
  EXPECT_EQ(path.search.size(), kDatagramBase);
  path.run_for(10s);
  EXPECT_EQ(path.search.size(), DataSize{1400});
}

TEST(MtuSearch, FallsBackWhenLargeDatagramsVanishButPingsDoNot) {
  Path path{kEthernet};
  path.run_for(10s);
  uint32_t id = 0;
  uint32_t received = 0;
  const auto second_of_traffic = [&](bool arrives) {
    for (int i = 0; i < 20; ++i) {
      path.search.handle_sent(kEthernet);
      received += arrives ? 1 : 0;
    }
    path.now += 3s;
    ASSERT_TRUE(path.search.poll_watch(path.now, ++id));
    path.search.handle_pong(path.now, id, received);
  };
  second_of_traffic(true);
  second_of_traffic(true);
  EXPECT_EQ(path.search.size(), kEthernet);
  second_of_traffic(false);
  EXPECT_EQ(path.search.size(), kDatagramBase);
  path.run_for(59s);
  EXPECT_EQ(path.search.size(), kDatagramBase) << "not at once again";
  path.run_for(10s);
  EXPECT_EQ(path.search.size(), kEthernet);
}

TEST(MtuSearch, DoesNotWatchWhereNothingLargeIsSent) {
  Path path{kEthernet};
  path.run_for(10s);
  for (int i = 0; i < 100; ++i) {
    path.search.handle_sent(DataSize{1200});
  }
  EXPECT_FALSE(path.search.poll_watch(path.now + 10s, 1));
  EXPECT_EQ(path.search.poll_timeout(), kNever);
}

TEST(MtuSearch, OurOwnMachinesRefusalCountsAtOnce) {
  Path path{kEthernet};
  path.run_for(10s);
  path.search.handle_too_big(path.now, kEthernet);
  EXPECT_EQ(path.search.size(), kDatagramBase);
  // A probe that was refused is not tried twice more.
  MtuSearch search{kTimeZero, {.largest = kEthernet}};
  ASSERT_TRUE(search.poll_probe(kTimeZero + 1s));
  search.handle_too_big(kTimeZero + 1s, DataSize{1280});
  EXPECT_FALSE(search.poll_probe(kTimeZero + 50s));
}

}  // namespace
}  // namespace cress::secure
