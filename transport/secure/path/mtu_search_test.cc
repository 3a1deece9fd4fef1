#include "transport/secure/path/mtu_search.hh"

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

TEST(MtuSearch, AsksForIpv6OnEthernetByDefault) {
  MtuSearch search{kTimeZero, {}};
  TimePoint now = kTimeZero;
  while (search.poll_timeout() < now + 10s) {
    now = search.poll_timeout();
    if (const auto size = search.poll_probe(now)) {
      search.handle_acknowledgement(now, *size);
    }
  }
  EXPECT_EQ(search.size(), DataSize{1452});
}

TEST(MtuSearch, AfterARefusalThreeProbesAgainAMinuteLater) {
  Path path{kEthernet};
  path.run_for(10s);
  path.probes.clear();
  for (int i = 0; i < 8; ++i) {
    path.search.handle_sent(kEthernet);
  }
  ASSERT_TRUE(path.search.poll_watch(path.now, 1));
  const TimePoint since = path.now;
  path.mtu = DataSize{1200};
  path.search.handle_too_big(path.now, kEthernet);
  path.run_for(1s);
  path.search.handle_pong(path.now, 1,
                          0);  // which reports that none arrived: that is known already
  path.run_for(70s);
  ASSERT_EQ(path.probes.size(), 3U);
  EXPECT_EQ(path.probes.front().first, since + 60s);
}

TEST(MtuSearch, AfterARefusedProbeThreeProbesAgainAMinuteLater) {
  Path path{DataSize{1200}};
  path.run_for(500ms);
  ASSERT_EQ(path.probes.size(), 1U);
  path.probes.clear();
  path.search.handle_too_big(path.now, DataSize{1280});
  path.run_for(65s);
  ASSERT_EQ(path.probes.size(), 3U);
  EXPECT_EQ(path.probes.front().first, kTimeZero + 60'500ms);
}

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

TEST(MtuSearch, AcceptsOnlyTheProbedSize) {
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

TEST(MtuSearch, RestartsOnANewPath) {
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

TEST(MtuSearch, AsksAtItsTimesAndNotBefore) {
  Path path{DataSize{1200}};
  EXPECT_EQ(path.search.poll_timeout(), kTimeZero + 500ms);
  EXPECT_FALSE(path.search.poll_probe(kTimeZero + 500ms - Duration{1}));
  path.run_for(70s);
  std::vector<double> times;
  for (const auto& [at, size] : path.probes) {
    times.push_back(to_milliseconds(at));
    EXPECT_EQ(size, DataSize{1280});
  }
  // Three at intervals of 1100 ms; abandoned with the next, and restarted a minute later.
  EXPECT_EQ(times, (std::vector<double>{500, 1600, 2700, 63'800, 64'900, 66'000}));
}

TEST(MtuSearch, AsksForTheNextSizeAsSoonAsOneIsKnown) {
  Path path{kEthernet};
  path.run_for(2s);
  std::vector<std::pair<double, int64_t>> probes;
  for (const auto& [at, size] : path.probes) {
    probes.emplace_back(to_milliseconds(at), size.bytes());
  }
  EXPECT_EQ(probes, (std::vector<std::pair<double, int64_t>>{
                        {500, 1280}, {600, 1400}, {700, 1452}, {800, 1472}}));
  EXPECT_EQ(path.search.poll_timeout(), kNever) << "there is nothing larger";
}

TEST(MtuSearch, ALateAnswerCountsUntilTheSearchIsGivenUp) {
  MtuSearch search{kTimeZero, {.largest = kEthernet}};
  TimePoint now = kTimeZero + 500ms;
  for (int i = 0; i < 3; ++i, now += 1100ms) {
    ASSERT_TRUE(search.poll_probe(now));
  }
  EXPECT_FALSE(search.poll_probe(now)) << "given up";
  search.handle_acknowledgement(now, DataSize{1280});
  EXPECT_EQ(search.size(), kDatagramBase);
}

/// 1280 bytes are known to pass; the next search is a minute away.
MtuSearch known_1280() {
  MtuSearch search{kTimeZero, {.largest = DataSize{1280}}};
  EXPECT_TRUE(search.poll_probe(kTimeZero + 500ms));
  search.handle_acknowledgement(kTimeZero + 500ms, DataSize{1280});
  return search;
}
void send_large(MtuSearch& search, int times) {
  for (int i = 0; i < times; ++i) {
    search.handle_sent(kDatagramBase + DataSize{1});
    search.handle_sent(kDatagramBase);
  }
}

TEST(MtuSearch, WatchesFromTheEighthLargeDatagramOn) {
  MtuSearch search = known_1280();
  const TimePoint now = kTimeZero + 1s;
  send_large(search, 7);
  EXPECT_EQ(search.poll_timeout(), kNever);
  EXPECT_FALSE(search.poll_watch(now, 5));
  send_large(search, 1);
  EXPECT_EQ(search.poll_timeout(), kTimeZero);
  EXPECT_TRUE(search.poll_watch(now, 5));
  EXPECT_EQ(search.poll_timeout(), now + 3s);
  EXPECT_FALSE(search.poll_watch(now + 3s - Duration{1}, 6)) << "the first may be answered yet";
  EXPECT_TRUE(search.poll_watch(now + 3s, 6));
  search.handle_pong(now + 3s, 5, 0);
  EXPECT_EQ(search.size(), DataSize{1280}) << "not the ping that is waited for";
  search.handle_pong(now + 3s, 6, 0);
  EXPECT_EQ(search.size(), kDatagramBase);
  EXPECT_EQ(search.poll_timeout(), now + 63s) << "asks again in a minute";
}

TEST(MtuSearch, OneThatArrivedIsEnoughAndTheCountBeginsAgain) {
  MtuSearch search = known_1280();
  TimePoint now = kTimeZero + 1s;
  send_large(search, 8);
  ASSERT_TRUE(search.poll_watch(now, 1));
  send_large(search, 5);
  search.handle_pong(now, 1, 1);
  EXPECT_EQ(search.size(), DataSize{1280});
  EXPECT_FALSE(search.poll_watch(now + 10s, 2)) << "five since the ping";
  send_large(search, 3);
  EXPECT_FALSE(search.poll_watch(now + 1s - Duration{1}, 2)) << "a second after the answer";
  EXPECT_TRUE(search.poll_watch(now + 1s, 2));
  search.handle_pong(now + 1s, 2, 1);
  EXPECT_EQ(search.size(), kDatagramBase) << "none more arrived";
  search.handle_pong(now + 1s, 2, 1);
}

TEST(MtuSearch, ANewPathAsksAfterHalfASecondAndForgetsItsPing) {
  MtuSearch search = known_1280();
  const TimePoint now = kTimeZero + 1s;
  send_large(search, 8);
  ASSERT_TRUE(search.poll_watch(now, 1));
  search.handle_path_change(now, DataSize{1280});
  EXPECT_EQ(search.size(), kDatagramBase);
  EXPECT_EQ(search.poll_timeout(), now + 500ms);
  ASSERT_EQ(search.poll_probe(now + 500ms), DataSize{1280});
  search.handle_acknowledgement(now + 600ms, DataSize{1280});
  search.handle_pong(now + 700ms, 1, 0);
  EXPECT_EQ(search.size(), DataSize{1280}) << "an answer about the path before";
}

TEST(MtuSearch, OnlyARefusalOfWhatIsInUseOrAskedForCounts) {
  Path path{DataSize{1400}};
  path.run_for(1s);
  ASSERT_EQ(path.search.size(), DataSize{1400});
  const TimePoint next = path.search.poll_timeout();
  path.search.handle_too_big(path.now, kDatagramBase);
  path.search.handle_too_big(path.now, DataSize{1472});
  EXPECT_EQ(path.search.size(), DataSize{1400});
  EXPECT_EQ(path.search.poll_timeout(), next);
  path.search.handle_too_big(path.now, DataSize{1452});
  EXPECT_EQ(path.search.size(), DataSize{1400});
  EXPECT_EQ(path.search.poll_timeout(), path.now + 60s);
  path.search.handle_too_big(path.now, DataSize{1201});
  EXPECT_EQ(path.search.size(), kDatagramBase);
  EXPECT_EQ(path.search.poll_timeout(), path.now + 60s);
}

}  // namespace
}  // namespace cress::secure
