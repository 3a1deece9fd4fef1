#include "transport/mapping/port_mapper.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/mapping/router_test_tools.hh"

namespace cress::mapping {
namespace {

using State = PortMapper::State;

MappingNonce test_nonce() {
  MappingNonce nonce;
  nonce.fill(std::byte{0x5a});
  return nonce;
}

/// A host and its router, a millisecond apart; what is on the wire may be lost or changed.
class PortMapperTest : public ::testing::Test {
 protected:
  const Address router_address_ = ipv4(10, 0, 0, 1, kRouterPort);
  const Address client_ = ipv4(10, 0, 0, 2, 4433);
  TestRouter router_;
  double loss_ = 0;
  bool reachable_ = true;
  TimePoint now_ = kTimeZero;
  std::vector<TimePoint> sent_at_;
  std::vector<std::byte> last_sent_;
  PortMapper mapper_{kTimeZero,
                     {.router = router_address_, .client = client_, .nonce = test_nonce()}};

  void drain() {
    while (auto transmit = mapper_.poll_transmit(now_)) {
      EXPECT_EQ(transmit->to, router_address_);
      sent_at_.push_back(now_);
      last_sent_ = transmit->bytes;
      if (!reachable_ || rng_.chance(loss_)) {
        continue;
      }
      auto answer = router_.answer(now_ + 1ms, transmit->bytes);
      if (answer && !rng_.chance(loss_)) {
        answers_.push_back({now_ + 2ms, *std::move(answer)});
      }
    }
  }
  void run_until(TimePoint end) {
    drain();
    for (;;) {
      const TimePoint next =
          std::min(mapper_.poll_timeout(), answers_.empty() ? kNever : answers_.front().at);
      if (next > end) {
        break;
      }
      now_ = std::max(now_, next);
      if (!answers_.empty() && answers_.front().at <= now_) {
        const std::vector<std::byte> bytes = answers_.front().bytes;
        answers_.pop_front();
        mapper_.handle_datagram(now_, router_address_, bytes);
      } else {
        mapper_.handle_timeout(now_);
      }
      drain();
    }
    now_ = end;
  }
  void run_for(Duration duration) { run_until(now_ + duration); }
  void receive(std::span<const std::byte> bytes) {
    mapper_.handle_datagram(now_, router_address_, bytes);
    drain();
  }
  /// The answer to the request that was sent last.
  std::vector<std::byte> answer() { return *router_.answer(now_, last_sent_); }

 private:
  struct OnTheWay {
    TimePoint at;
    std::vector<std::byte> bytes;
  };
  std::deque<OnTheWay> answers_;
  Rng rng_{7};
};

TEST_F(PortMapperTest, APcpRouterGrantsAPortAtOnce) {
  run_for(10ms);
  EXPECT_EQ(mapper_.mapped(), router_.outside);
  EXPECT_EQ(mapper_.state(), State::kMapped);
  EXPECT_EQ(mapper_.protocol(), MappingProtocol::kPcp);
  EXPECT_EQ(router_.inside_port, 4433);
  EXPECT_EQ(router_.asked_s, 300U);
  EXPECT_EQ(router_.requests, 1U);
  EXPECT_EQ(last_sent_, serialize(PcpRequest{300, client_, test_nonce(), ipv4(0, 0, 0, 0)}));
}

TEST_F(PortMapperTest, ARouterWithoutPcpIsAskedByNatPmp) {
  router_.speaks_pcp = false;
  run_for(10ms);
  EXPECT_EQ(mapper_.mapped(), router_.outside);
  EXPECT_EQ(mapper_.protocol(), MappingProtocol::kNatPmp);
  EXPECT_EQ(router_.inside_port, 4433);
  EXPECT_EQ(router_.asked_s, 300U);
  EXPECT_EQ(router_.requests, 3U) << "PCP, the address, the port";
  EXPECT_EQ(last_sent_, serialize(PmpRequest{4433, 4433, 300})) << "the same port, if possible";
  router_.outside = ipv4(198, 51, 1, 9, 41'000);
  run_for(151s);
  EXPECT_EQ(mapper_.mapped(), router_.outside) << "the renewal asks for the address too";
  EXPECT_EQ(router_.requests, 5U);
  EXPECT_EQ(last_sent_, serialize(PmpRequest{4433, 40'000, 300})) << "the port had so far";
}

TEST_F(PortMapperTest, EachStepOfNatPmpIsRepeatedQuickly) {
  reachable_ = false;
  run_for(10ms);
  receive(std::vector<std::byte>{{}, std::byte{0x81}, {}, std::byte{1}, {}, {}, {}, {}});
  run_for(1s);
  receive(answer());  // the address
  const size_t before = sent_at_.size();
  run_for(800ms);
  EXPECT_EQ(sent_at_.size(), before + 2) << "after 250 and 750 ms";
}

TEST_F(PortMapperTest, LostRequestsAreRepeatedAsRfc6886Says) {
  reachable_ = false;
  run_for(10min);
  std::vector<TimePoint> wanted;
  Duration after{};
  for (int i = 0; i < 9; ++i) {
    wanted.push_back(kTimeZero + after);
    after = 2 * after + 250ms;
  }
  EXPECT_EQ(sent_at_, wanted);
  EXPECT_EQ(mapper_.state(), State::kSilent);
  EXPECT_EQ(mapper_.poll_timeout(), kNever);
}

TEST_F(PortMapperTest, ALossyRouterGrantsAPortInTheEnd) {
  for (const bool pcp : {true, false}) {
    router_ = {};
    router_.speaks_pcp = pcp;
    loss_ = .3;
    mapper_ =
        PortMapper{now_, {.router = router_address_, .client = client_, .nonce = test_nonce()}};
    run_for(60s);
    EXPECT_EQ(mapper_.mapped(), router_.outside) << pcp;
    loss_ = 0;
    run_for(1h);
    EXPECT_EQ(mapper_.mapped(), router_.outside) << pcp;
  }
}

TEST_F(PortMapperTest, AMappingIsRenewedAtHalfOfItsTime) {
  for (const uint32_t granted_s : {120U, 300U, 1000U}) {
    router_.granted_s = granted_s;
    run_for(1s);
    mapper_.handle_network_change(now_);
    run_for(10ms);
    const size_t before = router_.requests;
    run_for(std::chrono::seconds{granted_s / 2} - 50ms);
    EXPECT_EQ(router_.requests, before) << granted_s;
    run_for(100ms);
    EXPECT_EQ(router_.requests, before + 1) << granted_s;
    EXPECT_EQ(number_at(last_sent_, 42, 2), 40'000U) << "the same port outside";
  }
}

TEST_F(PortMapperTest, ATimeTooLongOrTooShortIsBounded) {
  router_.granted_s = 0xffffffff;
  run_for(30min + 1s);
  EXPECT_EQ(router_.requests, 2U);
  router_.granted_s = 1;
  run_for(30min);
  const size_t before = router_.requests;
  run_for(40s);
  EXPECT_LE(router_.requests - before, 10U) << "every 4 s at most";
}

TEST_F(PortMapperTest, ARouterThatFallsSilentLosesTheMappingInTime) {
  run_for(10ms);
  reachable_ = false;
  run_for(299s);
  EXPECT_EQ(mapper_.mapped(), router_.outside);
  run_for(2s);
  EXPECT_EQ(mapper_.mapped(), std::nullopt);
  EXPECT_EQ(mapper_.state(), State::kSilent);
  reachable_ = true;
  mapper_.handle_network_change(now_);
  run_for(10ms);
  EXPECT_EQ(mapper_.mapped(), router_.outside);
}

TEST_F(PortMapperTest, OnlyTheRouterAnswersAndOnlyOurRequest) {
  reachable_ = false;
  run_for(10ms);
  const auto good = answer();
  for (const Address& from : {ipv4(10, 0, 0, 3, kRouterPort), ipv4(10, 0, 0, 1, 5352)}) {
    mapper_.handle_datagram(now_, from, good);
  }
  for (const size_t at : {24U, 35U, 36U, 40U, 41U}) {  // nonce, protocol, our port
    auto wrong = good;
    wrong[at] ^= std::byte{1};
    receive(wrong);
  }
  for (size_t size = 0; size < good.size(); ++size) {
    receive(std::span{good}.first(size));
  }
  receive(std::vector<std::byte>(16, std::byte{0x80}));
  EXPECT_EQ(mapper_.mapped(), std::nullopt);
  EXPECT_EQ(mapper_.state(), State::kAsking);
  EXPECT_EQ(sent_at_.size(), 1U) << "none of them draws anything";
  receive(good);
  EXPECT_EQ(mapper_.mapped(), router_.outside);
}

TEST_F(PortMapperTest, AnAnswerThatNobodyAskedForChangesNothing) {
  run_for(10ms);
  router_.outside = ipv4(198, 51, 1, 66, 666);
  receive(answer());
  EXPECT_NE(mapper_.mapped(), router_.outside);
  // Of the other protocol, and a late refusal.
  receive(std::vector<std::byte>{{}, std::byte{0x81}, {}, std::byte{2}, {}, {}, {}, {}});
  receive(std::vector<std::byte>{{}, std::byte{0x81}, {}, std::byte{1}, {}, {}, {}, {}});
  EXPECT_EQ(mapper_.state(), State::kMapped);
  EXPECT_EQ(sent_at_.size(), 1U);
}

TEST_F(PortMapperTest, ARefusalIsAskedAgainLater) {
  for (const bool pcp : {true, false}) {
    router_ = {};
    router_.speaks_pcp = pcp;
    router_.result = 2;  // not authorized
    mapper_ =
        PortMapper{now_, {.router = router_address_, .client = client_, .nonce = test_nonce()}};
    run_for(20ms);
    EXPECT_EQ(mapper_.state(), State::kRefused);
    EXPECT_EQ(mapper_.mapped(), std::nullopt);
    const size_t before = router_.requests;
    run_for(59s);
    EXPECT_EQ(router_.requests, before) << pcp;
    router_.result = 0;
    run_for(5min);
    EXPECT_EQ(mapper_.mapped(), router_.outside) << pcp;
  }
}

TEST_F(PortMapperTest, ARefusedRenewalEndsTheMapping) {
  run_for(10ms);
  router_.result = 8;
  router_.granted_s = 20 * 60;
  run_for(151s);
  EXPECT_EQ(mapper_.mapped(), std::nullopt);
  run_for(10min);
  EXPECT_EQ(mapper_.state(), State::kRefused) << "when the mapping would have expired too";
  reachable_ = false;
  run_for(11min);
  EXPECT_EQ(mapper_.state(), State::kAsking);
}

TEST_F(PortMapperTest, ARefusalForYearsIsAskedAgainWithinHalfAnHour) {
  router_.result = 8;
  router_.granted_s = 0xffffffff;
  run_for(29min);
  EXPECT_EQ(router_.requests, 1U);
  run_for(2min);
  EXPECT_EQ(router_.requests, 2U);
}

TEST_F(PortMapperTest, ARouterThatSpeaksNeitherVersionIsLeftAlone) {
  reachable_ = false;
  run_for(10ms);
  const std::vector<std::byte> refusal{
      std::byte{1}, std::byte{0x81}, {}, std::byte{1}, {}, {}, {}, {}};
  receive(refusal);
  EXPECT_EQ(mapper_.protocol(), MappingProtocol::kNatPmp);
  EXPECT_EQ(last_sent_, (std::vector<std::byte>{{}, {}}));
  receive(refusal);
  EXPECT_EQ(mapper_.state(), State::kRefused);
  EXPECT_EQ(sent_at_.size(), 2U);
}

TEST_F(PortMapperTest, AMappingForNoTimeOrToNowhereIsNone) {
  const auto refused = [this] {
    mapper_ =
        PortMapper{now_, {.router = router_address_, .client = client_, .nonce = test_nonce()}};
    run_for(20ms);
    return mapper_.state() == State::kRefused && !mapper_.mapped();
  };
  router_.granted_s = 0;
  EXPECT_TRUE(refused());
  router_.granted_s = 300;
  for (const Address& nowhere :
       {ipv4(0, 9, 9, 9, 40'000), ipv4(127, 9, 9, 1, 40'000), ipv4(169, 254, 0, 1, 40'000),
        ipv4(224, 9, 9, 1, 40'000), ipv4(255, 255, 255, 255, 40'000), ipv4(198, 51, 1, 2, 0),
        Address{.ip = {0x20, 1}, .port = 40'000}}) {
    router_.outside = nowhere;
    router_.speaks_pcp = true;
    EXPECT_TRUE(refused());
    router_.speaks_pcp = !nowhere.is_ipv4();
    EXPECT_TRUE(refused());
  }
  router_.outside = ipv4(10, 254, 9, 9, 40'000);
  EXPECT_FALSE(refused()) << "of a router behind another";
}

TEST_F(PortMapperTest, ARestartedRouterIsAskedAtOnce) {
  run_for(60s);
  receive(router_.announcement(now_));
  EXPECT_EQ(router_.requests, 1U) << "as expected: nothing is lost";
  run_for(10s);
  router_.restart(now_);
  receive(router_.announcement(now_));
  run_for(10ms);
  EXPECT_EQ(router_.requests, 2U);
  EXPECT_EQ(router_.inside_port, 4433);
  EXPECT_EQ(mapper_.mapped(), router_.outside);
}

TEST_F(PortMapperTest, AnEpochMayBeOffByWhatRfc6887Allows) {
  // After 60 s: two seconds, and one in sixteen.
  for (const auto& [off, is_restart] :
       std::vector<std::pair<Duration, bool>>{{-5s, false}, {-6s, true}, {6s, false}, {7s, true}}) {
    router_ = {};
    mapper_ =
        PortMapper{now_, {.router = router_address_, .client = client_, .nonce = test_nonce()}};
    router_.started = now_ - 1000s;
    run_for(60s + 2ms);
    router_.started -= off;
    receive(router_.announcement(now_));
    run_for(10ms);
    EXPECT_EQ(router_.requests, is_restart ? 2U : 1U) << to_seconds(off);
  }
}

TEST_F(PortMapperTest, ARestartSoonAfterARequestIsAnsweredAfterFourSeconds) {
  run_for(1s);
  router_.restart(now_);
  receive(router_.announcement(now_));
  run_for(3s - 1ms);
  EXPECT_EQ(router_.requests, 1U);
  run_for(2ms);
  EXPECT_EQ(router_.requests, 2U);
}

TEST_F(PortMapperTest, AnEpochAheadOfItsTimeIsARestartToo) {
  run_for(60s);
  router_.started -= 70s;
  receive(router_.announcement(now_));
  run_for(10ms);
  EXPECT_EQ(router_.requests, 2U);
}

TEST_F(PortMapperTest, AFloodOfAnnouncementsDrawsFewRequests) {
  run_for(10ms);
  for (int i = 0; i < 10'000; ++i) {
    router_.started = now_ - (i % 2 == 0 ? 10s : 10'000s);
    receive(router_.announcement(now_));
    run_for(1ms);
  }
  EXPECT_LE(router_.requests, 4U) << "one in 4 s";
}

TEST_F(PortMapperTest, RemovalIsSaidOnce) {
  for (const bool pcp : {true, false}) {
    router_ = {};
    router_.speaks_pcp = pcp;
    mapper_ =
        PortMapper{now_, {.router = router_address_, .client = client_, .nonce = test_nonce()}};
    run_for(20ms);
    ASSERT_EQ(router_.inside_port, 4433);
    const size_t before = router_.requests;
    mapper_.remove();
    mapper_.remove();
    mapper_.handle_network_change(now_);
    run_for(1h);
    EXPECT_EQ(router_.inside_port, std::nullopt) << pcp;
    EXPECT_EQ(router_.requests, before + 1) << pcp;
    EXPECT_EQ(mapper_.mapped(), std::nullopt);
    EXPECT_EQ(mapper_.state(), State::kRemoved);
  }
}

TEST_F(PortMapperTest, WhatMayHaveBeenGrantedIsRemovedToo) {
  loss_ = 1;
  run_for(10ms);
  ASSERT_EQ(mapper_.mapped(), std::nullopt);
  mapper_.remove();
  drain();
  EXPECT_EQ(sent_at_.size(), 2U);
  EXPECT_EQ(last_sent_, serialize(PcpRequest{0, client_, test_nonce(), ipv4(0, 0, 0, 0)}));
}

TEST_F(PortMapperTest, WhatWasRefusedIsNotRemoved) {
  router_.result = 2;
  run_for(20ms);
  mapper_.remove();
  run_for(1h);
  EXPECT_EQ(router_.requests, 1U);
}

TEST_F(PortMapperTest, APortWhereNothingListensIsARefusal) {
  reachable_ = false;
  run_for(10ms);
  mapper_.handle_path_error(
      now_, {.to = ipv4(10, 0, 0, 9, kRouterPort), .kind = PathError::Kind::kRefused});
  mapper_.handle_path_error(now_, {.to = router_address_, .kind = PathError::Kind::kUnreachable});
  EXPECT_EQ(mapper_.state(), State::kAsking);
  mapper_.handle_path_error(now_, {.to = router_address_, .kind = PathError::Kind::kRefused});
  EXPECT_EQ(mapper_.state(), State::kRefused);
}

TEST_F(PortMapperTest, AForgedPathErrorEndsNoMapping) {
  run_for(10ms);
  mapper_.handle_path_error(now_, {.to = router_address_, .kind = PathError::Kind::kRefused});
  mapper_.handle_network_change(now_ + 1s);
  mapper_.handle_path_error(now_ + 1s, {.to = router_address_, .kind = PathError::Kind::kRefused});
  EXPECT_EQ(mapper_.mapped(), router_.outside);
}

TEST_F(PortMapperTest, AChangeOfNetworkAsksAgainButNotInARow) {
  run_for(1s);
  for (int i = 0; i < 100; ++i) {
    mapper_.handle_network_change(now_);
    run_for(1ms);
  }
  EXPECT_EQ(router_.requests, 2U);
  EXPECT_EQ(mapper_.mapped(), router_.outside) << "meanwhile too";
}

}  // namespace
}  // namespace cress::mapping
