#include "transport/secure/path/direct_path.hh"

#include <gtest/gtest.h>

#include <map>
#include <variant>
#include <vector>

#include "transport/secure/secure_test_tools.hh"

namespace cress::secure {
namespace {

const Address kRelay = test_address(200, 4747);
const Address kOwn = test_address(1);
const Address kTheirs = test_address(2);
const Address kStranger = test_address(66);

struct Bench {
  struct Sent {
    TimePoint at;
    std::optional<Address> to;
    ControlMessage message;
  };
  void drain() {
    while (auto message = path.poll(now)) {
      sent.push_back({now, message->to, message->message});
    }
  }
  void run_until(TimePoint end) {
    drain();
    while (path.poll_timeout() <= end) {
      now = path.poll_timeout();
      drain();
    }
    now = end;
  }
  void run_for(Duration length) { run_until(now + length); }
  template <class T>
  std::vector<Sent> all() const {
    std::vector<Sent> some;
    for (const Sent& one : sent) {
      if (std::holds_alternative<T>(one.message)) {
        some.push_back(one);
      }
    }
    return some;
  }
  std::vector<Sent> probes_to(const Address& to) const {
    std::vector<Sent> some;
    for (const Sent& one : all<PathProbe>()) {
      if (one.to == to) {
        some.push_back(one);
      }
    }
    return some;
  }
  PathToken last_token(const Address& to) const {
    return std::get<PathProbe>(probes_to(to).back().message).token;
  }

  TimePoint now = kTimeZero;
  DirectPath path{kRelay};
  std::vector<Sent> sent;
};

TEST(DirectPath, ReportsItsAddressesUntilTheyAreAcknowledged) {
  Bench bench;
  bench.path.set_own(bench.now, {kOwn});
  bench.run_for(1s);
  const auto said = bench.all<PathCandidates>();
  ASSERT_EQ(said.size(), 4U);  // at 0, 100, 300, 700 ms
  EXPECT_EQ(std::get<PathCandidates>(said[0].message), (PathCandidates{1, {kOwn}}));
  EXPECT_FALSE(said[0].to);
  EXPECT_EQ(said[1].at - said[0].at, 100ms);
  EXPECT_EQ(said[3].at - said[2].at, 400ms);
  bench.path.handle_acknowledgement({2});
  bench.run_for(5s);
  EXPECT_GT(bench.all<PathCandidates>().size(), 6U) << "that was of another list";
  bench.path.handle_acknowledgement({1});
  bench.sent.clear();
  bench.run_for(60s);
  EXPECT_TRUE(bench.sent.empty());
}

TEST(DirectPath, OnlyOtherAddressesAreReportedAgain) {
  Bench bench;
  bench.path.set_own(bench.now, {kOwn});
  bench.run_for(10ms);
  bench.path.handle_acknowledgement({1});
  bench.sent.clear();
  bench.path.set_own(bench.now, {kOwn});
  bench.run_for(1s);
  EXPECT_TRUE(bench.sent.empty());
  bench.path.set_own(bench.now, std::vector<Address>(20, kTheirs));
  bench.run_for(1ms);
  const auto list = std::get<PathCandidates>(bench.all<PathCandidates>().at(0).message);
  EXPECT_EQ(list.revision, 2U);
  EXPECT_EQ(list.addresses.size(), PathCandidates::kMax);
}

TEST(DirectPath, EveryListIsAcknowledgedEachTime) {
  Bench bench;
  for (const uint32_t revision : {5U, 5U, 4U}) {
    bench.sent.clear();
    bench.path.handle_candidates(bench.now, {revision, {kTheirs}});
    bench.run_for(1ms);
    const auto seen = bench.all<CandidatesAcknowledgement>();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(std::get<CandidatesAcknowledgement>(seen[0].message).revision, revision);
  }
}

TEST(DirectPath, ANewListIsProbedForTwoSeconds) {
  Bench bench;
  bench.path.handle_candidates(bench.now, {1, {kTheirs, test_address(3)}});
  bench.run_for(10s);
  for (const Address& to : {kTheirs, test_address(3)}) {
    const auto probes = bench.probes_to(to);
    ASSERT_GE(probes.size(), 9U);
    ASSERT_LE(probes.size(), 12U);
    EXPECT_EQ(probes[0].at, kTimeZero);
    EXPECT_EQ(probes[1].at, kTimeZero + 50ms);
    EXPECT_EQ(probes[2].at, kTimeZero + 150ms);
    EXPECT_LE(probes.back().at, kTimeZero + DirectPath::kRound);
    EXPECT_GT(probes.back().at, kTimeZero + DirectPath::kRound - 300ms);
    EXPECT_EQ(std::get<PathProbe>(probes[0].message).to, to);
  }
  bench.sent.clear();
  bench.path.handle_candidates(bench.now, {1, {kTheirs}});  // the same list
  bench.run_for(10s);
  EXPECT_TRUE(bench.all<PathProbe>().empty());
}

TEST(DirectPath, NeitherTheRelayNorPortZeroIsProbed) {
  Bench bench;
  bench.path.handle_candidates(bench.now, {1, {kRelay, test_address(9, 0), kTheirs, kTheirs}});
  bench.run_for(1ms);
  EXPECT_EQ(bench.all<PathProbe>().size(), 1U);
}

TEST(DirectPath, AnAnswerCountsOnceAndFromWhereItWasAsked) {
  Bench bench;
  bench.path.handle_candidates(bench.now, {1, {kTheirs, test_address(3)}});
  bench.run_for(1ms);
  const PathToken token = bench.last_token(kTheirs);
  EXPECT_FALSE(bench.path.handle_answer(kStranger, {token}));
  EXPECT_FALSE(bench.path.handle_answer(test_address(3), {token}));
  EXPECT_FALSE(bench.path.handle_answer(kRelay, {token}));
  EXPECT_FALSE(bench.path.handle_answer(kTheirs, {}));
  EXPECT_TRUE(bench.path.handle_answer(kTheirs, {token}));
  EXPECT_FALSE(bench.path.handle_answer(kTheirs, {token}));
  EXPECT_FALSE(bench.path.handle_answer(kTheirs, {}));
  bench.sent.clear();
  bench.run_for(5s);
  EXPECT_TRUE(bench.probes_to(kTheirs).empty()) << "nothing is left to ask there";
  EXPECT_FALSE(bench.probes_to(test_address(3)).empty());
}

TEST(DirectPath, ProbesFromNamedAddressesAndTheRelayAreAnswered) {
  Bench bench;
  bench.path.handle_candidates(bench.now, {1, {kTheirs}});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(bench.path.handle_probe(bench.now, kTheirs, {{}, kStranger}));
    EXPECT_TRUE(bench.path.handle_probe(bench.now, kRelay, {{}, kStranger}));
  }
}

TEST(DirectPath, AProbeForSomebodyElseIsIgnored) {
  Bench bench;
  bench.path.set_own(bench.now, {kOwn});
  bench.path.handle_candidates(bench.now, {1, {kTheirs}});
  bench.run_for(10ms);
  bench.sent.clear();
  EXPECT_FALSE(bench.path.handle_probe(bench.now, kStranger, {{}, kStranger}));
  bench.run_for(5s);
  EXPECT_TRUE(bench.probes_to(kStranger).empty());
}

TEST(DirectPath, AnUnknownAddressIsProbedAndAnsweredByTurns) {
  Bench bench;
  bench.path.set_own(bench.now, {kOwn});
  bench.path.handle_acknowledgement({1});
  const PathProbe probe{{}, kOwn};
  std::vector<bool> answered;
  for (int i = 0; i < 4; ++i) {
    answered.push_back(bench.path.handle_probe(bench.now, kStranger, probe));
    bench.run_for(100ms);
  }
  EXPECT_EQ(answered, (std::vector{false, true, false, true}));
  EXPECT_EQ(bench.probes_to(kStranger).size(), 2U);
  EXPECT_TRUE(bench.path.handle_answer(kStranger, {bench.last_token(kStranger)}));
}

TEST(DirectPath, AFloodOfAddressesIsBounded) {
  Bench bench;
  bench.path.set_own(bench.now, {kOwn});
  std::vector<Address> named;
  for (uint8_t i = 0; i < PathCandidates::kMax; ++i) {
    named.push_back(test_address(10 + i));
  }
  bench.path.handle_candidates(bench.now, {1, named});
  bench.run_for(10s);
  bench.sent.clear();
  for (uint16_t port = 1; port <= 1000; ++port) {
    EXPECT_FALSE(bench.path.handle_probe(bench.now, test_address(66, port), {{}, kOwn}));
  }
  bench.run_for(5s);
  EXPECT_EQ(bench.all<PathProbe>().size(), DirectPath::kTargetsMax - PathCandidates::kMax);
  EXPECT_TRUE(bench.path.handle_probe(bench.now, named[0], {{}, kOwn})) << "named ones stay";
}

TEST(DirectPath, ANewRoundStartsBothEnds) {
  Bench bench;
  bench.path.set_own(bench.now, {kOwn});
  bench.path.handle_candidates(bench.now, {1, {kTheirs}});
  bench.run_for(10ms);
  bench.path.handle_acknowledgement({1});
  bench.run_for(10s);
  bench.sent.clear();
  bench.path.begin_round(bench.now + 5s);
  bench.run_for(5s - 1ms);
  EXPECT_TRUE(bench.sent.empty());
  bench.run_for(1ms);
  ASSERT_EQ(bench.all<PathCandidates>().size(), 1U);
  EXPECT_EQ(std::get<PathCandidates>(bench.all<PathCandidates>()[0].message).revision, 2U);
  EXPECT_EQ(bench.probes_to(kTheirs).size(), 1U);
}

TEST(DirectPath, WhileThePathIsSilentTheRelayIsProbed) {
  Bench bench;
  bench.run_for(10s);
  EXPECT_TRUE(bench.sent.empty());
  bench.path.set_silent(bench.now, true);
  EXPECT_TRUE(bench.path.is_silent());
  bench.run_for(10s);
  EXPECT_GE(bench.probes_to(kRelay).size(), 40U);
  const PathToken token = bench.last_token(kRelay);
  EXPECT_FALSE(bench.path.handle_answer(kTheirs, {token}));
  EXPECT_TRUE(bench.path.handle_answer(kRelay, {token}));
  bench.path.set_silent(bench.now, false);
  bench.sent.clear();
  bench.run_for(10s);
  EXPECT_TRUE(bench.sent.empty());
  EXPECT_EQ(bench.path.poll_timeout(), kNever);
}

TEST(DirectPath, TokensAreNotRepeated) {
  std::map<PathToken, int> seen;
  for (int i = 0; i < 10; ++i) {
    Bench bench;
    bench.path.handle_candidates(bench.now, {1, {kTheirs, test_address(3)}});
    bench.run_for(1ms);
    ++seen[bench.last_token(kTheirs)];
    ++seen[bench.last_token(test_address(3))];
  }
  EXPECT_EQ(seen.size(), 20U);
}

}  // namespace
}  // namespace cress::secure
