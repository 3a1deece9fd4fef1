// Calls of two through a relay, and past it, in the simulated world.

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "relay/calls/rendezvous_world_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::relay {
namespace {

using secure::Connected;
using secure::Node;
using secure::PathChanged;
using secure::Role;

constexpr Door kDoors[] = {Door::kFullCone, Door::kRestricted, Door::kPortRestricted,
                           Door::kSymmetric};

class NatPairs : public testing::TestWithParam<std::tuple<Door, Door>> {};

TEST_P(NatPairs, ConnectAndBecomeDirectWherePossible) {
  const auto [left, right] = GetParam();
  RendezvousWorld world;
  Node& listener = world.add(Role::kListener, 1, left);
  world.run_for(1s);
  const TimePoint dialed = world.now();
  Node& joiner = world.add(Role::kJoiner, 2, right);
  world.run_for(2s);
  ASSERT_TRUE(joiner.when<Connected>() && listener.when<Connected>());
  EXPECT_LE(*joiner.when<Connected>() - dialed, 400ms);
  const bool direct = can_be_direct(left, right);
  EXPECT_EQ(joiner.connection->is_relayed(), !direct);
  EXPECT_EQ(listener.connection->is_relayed(), !direct);
  // It stays as it is, and nothing is missed meanwhile.
  world.run_for(60s);
  EXPECT_EQ(joiner.count<PathChanged>(), direct ? 1U : 0U);
  EXPECT_EQ(listener.count<PathChanged>(), direct ? 1U : 0U);
  for (const Node* node : {&joiner, &listener}) {
    EXPECT_LE(node->longest_gap(*node->when<Connected>() + 100ms, world.now()), 60ms);
  }
  EXPECT_EQ(joiner.count<Connected>(), 1U);
  EXPECT_EQ(joiner.connection->code(), listener.connection->code());
}

bool is_relays(const secure::Flight& flight) {
  return flight.from == RendezvousWorld::relay_address() ||
         flight.to == RendezvousWorld::relay_address();
}

/// A call that has become direct.
struct DirectCall : RendezvousWorld {
  explicit DirectCall(Door left = Door::kPortRestricted, Door right = Door::kPortRestricted)
      : listener(add(Role::kListener, 1, left)), joiner(add(Role::kJoiner, 2, right)) {
    run_for(3s);
    EXPECT_TRUE(is_direct());
  }
  bool is_direct() const {
    return joiner.connection->is_connected() && !joiner.connection->is_relayed() &&
           !listener.connection->is_relayed();
  }
  Duration longest_gap(TimePoint since) const {
    return std::max(joiner.longest_gap(since, now()), listener.longest_gap(since, now()));
  }
  Node& listener;
  Node& joiner;
};

/// The direct path carries nothing from one end, the other end, or both.
class DeadPath : public testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(DeadPath, TheRelayIsUsedWithinHalfASecond) {
  DirectCall call;
  const auto [from_listener, from_joiner] = GetParam();
  const TimePoint died = call.now();
  bool is_dead = true;
  call.watch = [&, from_listener = from_listener,
                from_joiner = from_joiner](const secure::Flight& flight) {
    const bool of_listener = flight.from.ip == RendezvousWorld::outside(1).ip;
    return is_relays(flight) || !is_dead || !(of_listener ? from_listener : from_joiner);
  };
  call.run_for(4s);
  EXPECT_LE(call.longest_gap(died), 500ms);
  EXPECT_TRUE(call.joiner.connection->is_relayed());
  EXPECT_TRUE(call.listener.connection->is_relayed());
  EXPECT_EQ(call.joiner.count<Connected>(), 1U);  // no new handshake
  // It is searched again, and used when it is there.
  is_dead = false;
  const TimePoint healed = call.now();
  call.run_for(20s);
  EXPECT_TRUE(call.is_direct());
  EXPECT_LE(call.longest_gap(healed), 80ms);
}

INSTANTIATE_TEST_SUITE_P(Rendezvous, DeadPath,
                         testing::Values(std::pair{true, true}, std::pair{true, false},
                                         std::pair{false, true}));

TEST(Rendezvous, AFailingPathIsTriedLessAndLessOften) {
  DirectCall call;
  call.watch = [&](const secure::Flight& flight) {
    // Probes pass, and what follows does not.
    return is_relays(flight) || flight.bytes.size() < 70;
  };
  call.joiner.heartbeat_size = call.listener.heartbeat_size = 200;
  call.run_for(120s);
  EXPECT_LE(call.joiner.count<PathChanged>(), 12U);
}

TEST(Rendezvous, ASearchThatFailsIsRepeated) {
  RendezvousWorld world;
  bool is_closed = true;
  bool is_probed = false;
  world.watch = [&](const secure::Flight& flight) {
    is_probed = is_probed || !is_relays(flight);
    return is_relays(flight) || !is_closed;
  };
  world.add(Role::kListener, 1, Door::kPortRestricted);
  Node& joiner = world.add(Role::kJoiner, 2, Door::kPortRestricted);
  const auto are_probed = [&](Duration length) {
    is_probed = false;
    world.run_for(length);
    return is_probed;
  };
  // For two seconds, and then after 5, 10, 20, 40, 60 and 60 s.
  EXPECT_TRUE(are_probed(3s));
  for (const Duration pause : {5s, 10s, 20s, 40s, 60s, 60s}) {
    EXPECT_FALSE(are_probed(pause - 3s)) << to_seconds(pause);
    EXPECT_TRUE(are_probed(3s)) << to_seconds(pause);
  }
  EXPECT_TRUE(joiner.connection->is_relayed());
  is_closed = false;
  world.run_for(61s);
  EXPECT_FALSE(joiner.connection->is_relayed());
  EXPECT_EQ(joiner.count<PathChanged>(), 1U);
}

TEST(Rendezvous, ADirectCallNeedsTheRelayNoMore) {
  DirectCall call;
  const TimePoint gone = call.now();
  call.watch = [](const secure::Flight& flight) { return !is_relays(flight); };
  call.run_for(120s);
  EXPECT_TRUE(call.is_direct());
  EXPECT_LE(call.longest_gap(gone), 60ms);
}

TEST(Rendezvous, AnAddressChangeHealsWithinASecond) {
  for (const bool joiner_moves : {true, false}) {
    DirectCall call;
    const TimePoint moved = call.now();
    Node& node = joiner_moves ? call.joiner : call.listener;
    const Address at = secure::test_address(77, 5000);
    call.world().move(node.id, at);
    node.connection->set_local_addresses(call.now(), {at});
    node.connection->handle_network_change(call.now());
    call.world().drain(node.id);
    call.run_for(5s);
    EXPECT_LE(call.longest_gap(moved), 1s) << joiner_moves;
    EXPECT_TRUE(call.is_direct()) << joiner_moves;
    EXPECT_EQ(call.joiner.count<Connected>(), 1U);
  }
}

TEST(Rendezvous, AnUnreportedAddressChangeHealsToo) {
  for (const bool joiner_moves : {true, false}) {
    DirectCall call;
    const TimePoint moved = call.now();
    call.world().move((joiner_moves ? call.joiner : call.listener).id,
                      secure::test_address(77, 5000));
    call.run_for(5s);
    EXPECT_LE(call.longest_gap(moved), 1500ms) << joiner_moves;
  }
}

TEST(Rendezvous, CandidatesAreSentOnlyInAConnectedCall) {
  // The joiner completes its handshake, and receives nothing authentic after it.
  RendezvousWorld world;
  world.add(Role::kListener, 1, Door::kOpen);
  uint64_t pings = 0;
  uint64_t others = 0;
  constexpr size_t kPing = 10 + 1 + 4 + secure::kTagSize;
  constexpr size_t kProof = 10 + 1 + 32 + 64 + secure::kTagSize;  // of its identity
  world.watch = [&](const secure::Flight& flight) {
    const bool is_control = flight.bytes[0] == secure::kControlKind;
    if (flight.from == RendezvousWorld::outside(2) && is_control) {
      pings += flight.bytes.size() == kPing ? 1 : 0;
      others += flight.bytes.size() != kPing && flight.bytes.size() != kProof ? 1 : 0;
    }
    return !is_control && flight.bytes[0] != std::byte{0x11};
  };
  Node& joiner = world.add(Role::kJoiner, 2, Door::kOpen);
  world.run_for(5s);
  EXPECT_FALSE(joiner.when<Connected>());
  EXPECT_GE(pings, 5U);
  EXPECT_EQ(others, 0U);
}

TEST(Rendezvous, TheJoinerMayDialFirst) {
  RendezvousWorld world;
  Node& joiner = world.add(Role::kJoiner, 2, Door::kSymmetric);
  world.run_for(5s);
  EXPECT_FALSE(joiner.when<Connected>());
  const TimePoint came = world.now();
  world.add(Role::kListener, 1, Door::kSymmetric);
  world.run_for(1s);
  ASSERT_TRUE(joiner.when<Connected>());
  EXPECT_LE(*joiner.when<Connected>() - came, 400ms);
}

TEST(Rendezvous, AnotherProgramWithTheLinkIsRefusedAsBusy) {
  RendezvousWorld world;
  world.add(Role::kListener, 1, Door::kSymmetric);
  Node& joiner = world.add(Role::kJoiner, 2, Door::kSymmetric);
  world.run_for(2s);
  Node& other = world.add(Role::kJoiner, 3, Door::kFullCone);
  world.run_for(5s);
  EXPECT_EQ(other.closed(), secure::CloseReason::kBusy);
  EXPECT_EQ(joiner.count<secure::Closed>(), 0U);
  EXPECT_LE(joiner.longest_gap(kTimeZero + 2s, world.now()), 60ms);
}

TEST(Rendezvous, ARestartedProgramReplacesItsCrashedSelf) {
  for (const bool joiner_crashes : {true, false}) {
    RendezvousWorld world;
    Node& listener = world.add(Role::kListener, 1, Door::kSymmetric);
    Node& joiner = world.add(Role::kJoiner, 2, Door::kSymmetric);
    world.run_for(2s);
    world.world().replace((joiner_crashes ? joiner : listener).id, nullptr);
    const TimePoint crashed = world.now();
    Node& again = world.add(joiner_crashes ? Role::kJoiner : Role::kListener, 3, Door::kSymmetric);
    world.run_for(8s);
    ASSERT_TRUE(again.when<Connected>()) << joiner_crashes;
    EXPECT_LE(*again.when<Connected>() - crashed, 5s) << joiner_crashes;
  }
}

TEST(Rendezvous, ARelayWithoutCallsRefusesBothEnds) {
  RendezvousWorld world{{.calls_max = 0}};
  Node& joiner = world.add(Role::kJoiner, 2, Door::kOpen);
  Node& listener = world.add(Role::kListener, 1, Door::kOpen);
  world.run_for(1s);
  EXPECT_EQ(joiner.closed(), secure::CloseReason::kNoCallRelay);
  EXPECT_EQ(listener.closed(), secure::CloseReason::kNoCallRelay);
}

TEST(Rendezvous, GivingUpReportsWhatIsMissing) {
  using secure::CloseReason;
  for (const bool relay_is_there : {true, false}) {
    RendezvousWorld world;
    world.watch = [=](const secure::Flight& /*flight*/) { return relay_is_there; };
    Node& joiner = world.add(Role::kJoiner, 2, Door::kOpen);
    world.run_for(31s);
    EXPECT_EQ(joiner.closed(), relay_is_there ? CloseReason::kNobodyThere : CloseReason::kNoRelay);
    Node& listener = world.add(Role::kListener, 1, Door::kOpen, {.connect_max = 10s});
    world.run_for(11s);
    EXPECT_EQ(listener.closed(),
              relay_is_there ? std::nullopt : std::optional(CloseReason::kNoRelay));
  }
}

TEST(Rendezvous, ARelayThatRestartsServesTheCallAgain) {
  RendezvousWorld world;
  Node& listener = world.add(Role::kListener, 1, Door::kSymmetric);
  Node& joiner = world.add(Role::kJoiner, 2, Door::kSymmetric);
  world.run_for(3s);
  EXPECT_TRUE(joiner.connection->is_relayed());
  const TimePoint restarted = world.now();
  world.relay() = CallRelay{{.calls_max = 10}, nullptr};
  world.run_for(10s);
  EXPECT_TRUE(joiner.connection->is_relayed());
  EXPECT_EQ(joiner.count<Connected>(), 1U);
  EXPECT_LE(std::max(joiner.longest_gap(restarted, world.now()),
                     listener.longest_gap(restarted, world.now())),
            3s);
}

TEST(Rendezvous, LossDelaysADirectPathAndDoesNotPreventIt) {
  RendezvousWorld world;
  Rng rng{5};
  world.watch = [&](const secure::Flight& /*flight*/) { return rng.uniform() > .3; };
  Node& listener = world.add(Role::kListener, 1, Door::kRestricted);
  Node& joiner = world.add(Role::kJoiner, 2, Door::kSymmetric);
  world.run_for(6s);
  EXPECT_TRUE(joiner.when<Connected>());
  EXPECT_FALSE(joiner.connection->is_relayed());
  EXPECT_FALSE(listener.connection->is_relayed());
}

// ---- attackers

/// Where an attacker sits who sees everything, and sends from its own address or a forged one.
const Address kAttacker = secure::test_address(250, 6666);

TEST(RendezvousAttack, RepeatedProbesMoveNothing) {
  // Every probe is also sent from the attacker's address, and what the ends send there is passed
  // on.
  RendezvousWorld world;
  std::vector<std::pair<Address, std::vector<std::byte>>> copies;
  uint64_t to_attacker = 0;
  uint64_t by_attacker = 0;
  world.watch = [&](const secure::Flight& flight) {
    if (is_relays(flight)) {
      return true;
    }
    if (flight.to == kAttacker) {
      to_attacker += flight.bytes.size();
    }
    const bool of_listener = flight.from.ip == RendezvousWorld::outside(1).ip;
    copies.emplace_back(RendezvousWorld::outside(of_listener ? 2 : 1), flight.bytes);
    return false;  // and nothing passes directly: the attacker is the only way
  };
  Node& listener = world.add(Role::kListener, 1, Door::kFullCone);
  Node& joiner = world.add(Role::kJoiner, 2, Door::kFullCone);
  for (int i = 0; i < 2000; ++i) {
    world.run_for(5ms);
    for (const auto& [to, bytes] : std::exchange(copies, {})) {
      by_attacker += bytes.size();
      world.world().inject(kAttacker, to, bytes);
    }
  }
  EXPECT_GT(by_attacker, 0U);
  EXPECT_LE(to_attacker, by_attacker);
  EXPECT_TRUE(joiner.connection->is_relayed());
  EXPECT_TRUE(listener.connection->is_relayed());
}

TEST(RendezvousAttack, ForgedOrRepeatedRegistrationsFail) {
  RendezvousWorld world;
  std::vector<std::vector<std::byte>> requests;
  uint64_t answered = 0;
  world.watch = [&](const secure::Flight& flight) {
    if (flight.to == RendezvousWorld::relay_address() &&
        flight.bytes[0] == secure::kRendezvousKind && flight.from != kAttacker) {
      requests.push_back(flight.bytes);
    }
    answered += flight.to == kAttacker ? flight.bytes.size() : 0;
    return true;
  };
  world.add(Role::kListener, 1, Door::kSymmetric);
  Node& joiner = world.add(Role::kJoiner, 2, Door::kSymmetric);
  world.run_for(2s);
  uint64_t spent = 0;
  for (int round = 0; round < 50; ++round) {
    for (auto request : requests) {
      if (round % 2 == 1) {
        request[static_cast<size_t>(round) % request.size()] ^= std::byte{1};
      }
      spent += request.size();
      world.world().inject(kAttacker, RendezvousWorld::relay_address(), request);
    }
    world.run_for(100ms);
  }
  EXPECT_EQ(world.relay().calls(), 1U);
  EXPECT_GT(answered, 0U);  // cookies
  EXPECT_LE(answered, spent);
  EXPECT_EQ(joiner.count<secure::Closed>(), 0U);
  EXPECT_LE(joiner.longest_gap(kTimeZero + 2s, world.now()), 60ms);
}

INSTANTIATE_TEST_SUITE_P(Rendezvous, NatPairs,
                         testing::Combine(testing::ValuesIn(kDoors), testing::ValuesIn(kDoors)));

}  // namespace
}  // namespace cress::relay
