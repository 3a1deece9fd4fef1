// Goal: nobody takes a silent peer's place unless it proves to be the same end, or is allowed to.
// Method: connections in a simulated network, 20 ms from each to each; one crashes, is cut off or
// restarts, and another with the link comes.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transport/secure/secure_world_test_tools.hh"

namespace cress::secure {
namespace {

const Address kListenerAt = test_address(1);
const Address kJoinerAt = test_address(2, 6000);
const Address kOtherAt = test_address(3, 7000);
const Address kThirdAt = test_address(4, 8000);

ConnectionOptions with(Replacement replacement, uint8_t identity = 0) {
  ConnectionOptions options{.replacement = replacement};
  if (identity != 0) {
    options.identity_secret = test_secret(identity);
  }
  return options;
}

template <class T>
std::optional<T> find(const Node& node) {
  for (const auto& [at, event] : node.events) {
    if (const auto* found = std::get_if<T>(&event)) {
      return *found;
    }
  }
  return std::nullopt;
}

/// A call of a second; then the joiner is silent.
class Replacing : public testing::Test {
 protected:
  void begin(Replacement replacement, uint8_t identity = 0) {
    left = &network.listen(kListenerAt, with(replacement));
    right = &network.join(kJoinerAt, kListenerAt, with(replacement, identity));
    network.run_for(1s);
    ASSERT_TRUE(right->connection->is_connected());
  }
  void cut_off(const Address& who) {
    network.watch = [this, who](const Flight& flight) {
      records_to_other += flight.to == kOtherAt && flight.bytes[0] == kRecordKind ? 1 : 0;
      return flight.from != who && flight.to != who;
    };
  }
  /// Asked about the newcomer at kOtherAt.
  Node& ask_about_other() {
    cut_off(kJoinerAt);
    network.run_for(3s);
    Node& other = network.join(kOtherAt, kListenerAt);
    network.run_for(500ms);
    EXPECT_TRUE(left->when<NewcomerWaits>());
    EXPECT_FALSE(other.when<Connected>());
    return other;
  }

  SecureWorld network;
  Node* left = nullptr;
  Node* right = nullptr;
  int records_to_other = 0;
};

// ---- at the listener

TEST_F(Replacing, TheSameEndComesBackSilently) {
  for (const Duration restart : {100ms, 1500ms, 5000ms}) {
    for (const Address& address : {kJoinerAt, kOtherAt}) {
      SecureWorld world;
      Node& listener = world.listen(kListenerAt, with(Replacement::kRefuse));
      Node& before = world.join(kJoinerAt, kListenerAt, with(Replacement::kRefuse, 1));
      world.run_for(1s);
      world.stop(before);
      const TimePoint crashed_at = world.now();
      world.run_for(restart);
      Node& again = world.join(address, kListenerAt, with(Replacement::kRefuse, 1));
      world.run_for(4s);
      ASSERT_TRUE(again.when<Connected>()) << to_milliseconds(restart);
      // Three and a half round trips, and the listener's ping.
      EXPECT_LE(*again.when<Connected>() - crashed_at, std::max<Duration>(restart, 2s) + 170ms);
      EXPECT_EQ(listener.count<Connected>(), 2U);
      EXPECT_EQ(listener.count<Closed>() + listener.count<NewcomerWaits>(), 0U);
      EXPECT_GT(again.received.size(), 20U);
    }
  }
}

TEST_F(Replacing, AnotherEndIsAskedAboutAndGetsNothingBefore) {
  begin(Replacement::kAsk);
  Node& other = ask_about_other();
  EXPECT_EQ(find<NewcomerWaits>(*left)->code, other.connection->code());
  EXPECT_EQ(left->count<Closed>(), 0U);
  network.run_for(10s);
  EXPECT_EQ(left->count<NewcomerWaits>(), 1U);
  EXPECT_EQ(left->count<NewcomerGone>(), 0U);
  EXPECT_FALSE(other.when<Connected>());
  EXPECT_EQ(records_to_other, 0);
  network.answer(*left, true);
  network.run_for(1s);
  EXPECT_TRUE(other.when<Connected>());
  EXPECT_EQ(left->closed(), CloseReason::kReplaced);
  EXPECT_EQ(left->count<Connected>(), 2U);
  EXPECT_EQ(left->count<NewcomerGone>(), 1U);
  EXPECT_EQ(left->connection->code(), other.connection->code());
  EXPECT_GT(other.received.size(), 15U);
  network.watch = nullptr;
  network.run_for(1s);
  EXPECT_EQ(right->closed(), CloseReason::kReplaced);
}

TEST_F(Replacing, AfterARefusalNobodyElseIsAskedAboutForTenSeconds) {
  begin(Replacement::kAsk);
  Node& other = ask_about_other();
  network.answer(*left, false);
  const TimePoint refused_at = network.now();
  network.run_for(500ms);
  EXPECT_EQ(other.closed(), CloseReason::kBusy);
  EXPECT_EQ(left->count<NewcomerGone>(), 1U);
  EXPECT_EQ(left->count<Closed>(), 0U);
  Node& early = network.join(kThirdAt, kListenerAt);
  network.run_until(refused_at + 9900ms);
  EXPECT_EQ(early.closed(), CloseReason::kBusy);
  EXPECT_EQ(left->count<NewcomerWaits>(), 1U);
  network.join(test_address(5), kListenerAt);
  network.run_for(1s);
  EXPECT_EQ(left->count<NewcomerWaits>(), 2U);
}

TEST_F(Replacing, AnotherEndIsBusyUntilTheSilentSessionEnds) {
  begin(Replacement::kRefuse);
  cut_off(kJoinerAt);
  network.run_for(3s);
  Node& other = network.join(kOtherAt, kListenerAt);
  network.run_for(500ms);
  EXPECT_EQ(other.closed(), CloseReason::kBusy);
  EXPECT_EQ(left->connection->stats().busy, 1U);
  EXPECT_EQ(left->count<NewcomerWaits>() + left->count<Closed>(), 0U);
  network.run_for(57s);
  EXPECT_EQ(left->closed(), CloseReason::kTimedOut);
  Node& later = network.join(kThirdAt, kListenerAt);
  network.run_for(500ms);
  EXPECT_TRUE(later.when<Connected>());
}

TEST_F(Replacing, APeerHeardAgainEndsTheQuestion) {
  begin(Replacement::kAsk);
  Node& other = ask_about_other();
  network.watch = nullptr;
  network.run_for(1s);
  EXPECT_EQ(left->count<NewcomerGone>(), 1U);
  EXPECT_EQ(other.closed(), CloseReason::kBusy);
  EXPECT_EQ(left->count<Closed>() + right->count<Closed>(), 0U);
  network.answer(*left, true);  // too late
  const auto received = right->received.size();
  network.run_for(1s);
  EXPECT_EQ(left->count<Connected>(), 1U);
  EXPECT_GT(right->received.size(), received + 15);
}

TEST_F(Replacing, ANewcomerThatIsGoneEndsTheQuestion) {
  for (const bool hangs_up : {true, false}) {
    SecureWorld world;
    Node& listener = world.listen(kListenerAt, with(Replacement::kAsk));
    Node& silent = world.join(kJoinerAt, kListenerAt);
    world.run_for(1s);
    world.stop(silent);
    world.run_for(3s);
    Node& other = world.join(kOtherAt, kListenerAt);
    world.run_for(500ms);
    ASSERT_TRUE(listener.when<NewcomerWaits>());
    const TimePoint gone_at = world.now();
    if (hangs_up) {
      other.connection->hang_up(world.now());
    } else {
      world.stop(other);
    }
    world.run_for(6s);
    ASSERT_TRUE(listener.when<NewcomerGone>());
    EXPECT_LE(*listener.when<NewcomerGone>() - gone_at, hangs_up ? 30ms : 5s);
    EXPECT_EQ(listener.count<Closed>(), 0U);
  }
}

TEST_F(Replacing, ANewcomerThatIsNotLetInGivesUpAsAtABusyEnd) {
  begin(Replacement::kAsk);
  Node& other = ask_about_other();
  network.run_for(31s);
  EXPECT_EQ(other.closed(), CloseReason::kBusy);
  EXPECT_EQ(left->count<NewcomerGone>(), 1U);
}

TEST_F(Replacing, ANewcomerThatWaitsStaysTheOneThatIsAskedAbout) {
  begin(Replacement::kAsk);
  Node& other = ask_about_other();
  const std::string code = other.connection->code();
  network.run_for(10s);
  EXPECT_EQ(other.connection->code(), code);
  EXPECT_EQ(left->count<NewcomerWaits>(), 1U);
  EXPECT_EQ(left->count<NewcomerGone>(), 0U);
  left->connection->admit(network.now(), code);
  network.run_for(1s);
  EXPECT_TRUE(other.connection->is_connected());
}

TEST_F(Replacing, AJoinerThatWaitsJoinsAListenerThatHasRestarted) {
  begin(Replacement::kAsk);
  Node& other = ask_about_other();
  network.stop(*left);
  Node& again = network.listen(kListenerAt);
  network.run_for(3200ms);
  EXPECT_TRUE(again.connection->is_connected());
  EXPECT_TRUE(other.connection->is_connected());
}

TEST_F(Replacing, TheSameEndIsLetInWhileAnotherIsAskedAbout) {
  begin(Replacement::kAsk, 1);
  network.stop(*right);
  Node& other = ask_about_other();
  Node& again = network.join(kThirdAt, kListenerAt, with(Replacement::kAsk, 1));
  network.run_for(1s);
  EXPECT_TRUE(again.when<Connected>());
  EXPECT_EQ(left->count<NewcomerWaits>(), 1U);
  EXPECT_EQ(left->count<NewcomerGone>(), 1U);
  EXPECT_EQ(left->count<Closed>(), 0U);
  EXPECT_EQ(other.closed(), CloseReason::kBusy);
}

TEST_F(Replacing, OneNewcomerWaitsAtATime) {
  begin(Replacement::kAsk);
  Node& other = ask_about_other();
  Node& third = network.join(kThirdAt, kListenerAt);
  network.run_for(500ms);
  EXPECT_EQ(third.closed(), CloseReason::kBusy);
  EXPECT_FALSE(other.closed());
  EXPECT_EQ(left->count<NewcomerWaits>(), 1U);
}

TEST_F(Replacing, HangingUpEndsTheQuestionAndTheWaiting) {
  begin(Replacement::kAsk);
  Node& other = ask_about_other();
  left->connection->hang_up(network.now());
  network.run_for(500ms);
  EXPECT_EQ(left->closed(), CloseReason::kHungUp);
  EXPECT_EQ(left->count<NewcomerGone>(), 1U);
  EXPECT_EQ(other.closed(), CloseReason::kBusy);
}

TEST_F(Replacing, AnAdmittedEndIsTheSameOneFromThenOn) {
  begin(Replacement::kAsk);
  cut_off(kJoinerAt);
  network.run_for(3s);
  Node& other = network.join(kOtherAt, kListenerAt, with(Replacement::kAsk, 2));
  network.run_for(500ms);
  network.answer(*left, true);
  network.run_for(1s);
  network.stop(other);
  network.run_for(3s);
  Node& again = network.join(kThirdAt, kListenerAt, with(Replacement::kAsk, 2));
  network.run_for(500ms);
  EXPECT_TRUE(again.when<Connected>());
  EXPECT_EQ(left->count<NewcomerWaits>(), 1U);
  EXPECT_EQ(left->count<Closed>(), 1U);
}

TEST_F(Replacing, APeerThatWasNeverHeardMayBeginAgain) {
  network.watch = [](const Flight& flight) {
    return flight.from != kJoinerAt || is_handshake_kind(flight.bytes[0]);
  };
  left = &network.listen(kListenerAt, with(Replacement::kRefuse));
  network.join(kJoinerAt, kListenerAt);
  network.run_for(3s);
  ASSERT_EQ(left->count<Connected>(), 1U);
  Node& again = network.join(kOtherAt, kListenerAt);
  network.run_for(500ms);
  EXPECT_TRUE(again.when<Connected>());
  EXPECT_EQ(left->count<Connected>(), 2U);
}

TEST_F(Replacing, AnAliveEndIsNotReplacedByItsOwnKey) {
  begin(Replacement::kAsk, 1);
  Node& second = network.join(kOtherAt, kListenerAt, with(Replacement::kAsk, 1));
  network.run_for(2900ms);
  EXPECT_FALSE(second.closed()) << "what arrives may be of a program that is no more";
  network.run_for(500ms);
  EXPECT_EQ(second.closed(), CloseReason::kBusy);
  EXPECT_EQ(left->count<Connected>(), 1U);
}

TEST_F(Replacing, TheSameEndWaitsForWhatItsFormerProgramSent) {
  begin(Replacement::kRefuse, 1);
  Node& again = network.join(kOtherAt, kListenerAt, with(Replacement::kRefuse, 1));
  network.run_for(1500ms);  // as if a link's queue held so much
  network.stop(*right);
  const TimePoint silent_since = network.now();
  network.run_for(3s);
  ASSERT_TRUE(again.when<Connected>());
  EXPECT_LE(*again.when<Connected>() - silent_since, 2s + 170ms);
  EXPECT_EQ(left->count<Closed>() + left->count<NewcomerWaits>(), 0U);
}

// ---- proofs

TEST_F(Replacing, OnACleanLinkEachEndSendsOneProof) {
  std::vector<Address> proofs;
  network.watch = [&](const Flight& flight) {
    if (is_proof(flight.bytes)) {
      proofs.push_back(flight.from);
    }
    return true;
  };
  begin(Replacement::kAsk);
  network.run_for(10s);
  // Round trips of 40 ms; the first repetition would be after 100 ms.
  EXPECT_EQ(std::ranges::count(proofs, kListenerAt), 1);
  EXPECT_EQ(std::ranges::count(proofs, kJoinerAt), 1);
}

TEST_F(Replacing, LostProofsAreRepeatedInTime) {
  begin(Replacement::kRefuse, 1);
  network.stop(*right);
  network.run_for(3s);
  int lost = 0;
  network.watch = [&](const Flight& flight) {
    return flight.from != kOtherAt || !is_proof(flight.bytes) || ++lost > 3;
  };
  Node& again = network.join(kOtherAt, kListenerAt, with(Replacement::kRefuse, 1));
  network.run_for(2s);
  EXPECT_EQ(lost, 4);
  EXPECT_TRUE(again.when<Connected>());
  EXPECT_EQ(left->count<Closed>(), 0U);
}

TEST_F(Replacing, ALateProofAnswersTheQuestion) {
  begin(Replacement::kAsk, 1);
  network.stop(*right);
  network.run_for(3s);
  int lost = 0;
  network.watch = [&](const Flight& flight) {
    return flight.from != kOtherAt || !is_proof(flight.bytes) || ++lost > 7;
  };
  Node& again = network.join(kOtherAt, kListenerAt, with(Replacement::kAsk, 1));
  network.run_for(1500ms);
  EXPECT_EQ(left->count<NewcomerWaits>(), 1U);
  network.run_for(4s);
  EXPECT_TRUE(again.when<Connected>());
  EXPECT_EQ(left->count<NewcomerGone>(), 1U);
  EXPECT_EQ(left->count<Closed>(), 0U);
}

/// An older version neither sends proofs nor acknowledges them: it ignores what it does not know.
TEST_F(Replacing, AnOlderVersionIsAskedAboutAfterASecond) {
  begin(Replacement::kAsk, 1);
  network.stop(*right);
  network.run_for(3s);
  network.watch = [](const Flight& flight) {
    return flight.from != kOtherAt || !is_proof(flight.bytes);
  };
  const TimePoint came_at = network.now();
  Node& old = network.join(kOtherAt, kListenerAt, with(Replacement::kAsk, 1));
  network.run_for(2s);
  ASSERT_TRUE(left->when<NewcomerWaits>());
  EXPECT_EQ(*left->when<NewcomerWaits>() - came_at, 140ms + Connection::kProofMax);
  network.answer(*left, true);
  network.run_for(500ms);
  EXPECT_TRUE(old.when<Connected>());
}

TEST_F(Replacing, AnOlderVersionGetsThePlaceWhereAnybodyDoes) {
  begin(Replacement::kAdmit);
  network.stop(*right);
  network.run_for(3s);
  network.watch = [](const Flight& flight) {
    return flight.from != kOtherAt || !is_proof(flight.bytes);
  };
  Node& old = network.join(kOtherAt, kListenerAt);
  network.run_for(1300ms);
  EXPECT_TRUE(old.when<Connected>());
  EXPECT_EQ(left->closed(), CloseReason::kReplaced);
}

TEST_F(Replacing, WhereThePeerProvedNothingEveryNewcomerIsAskedAbout) {
  network.watch = [](const Flight& flight) { return !is_proof(flight.bytes); };
  begin(Replacement::kAsk, 1);
  network.stop(*right);
  network.run_for(3s);
  network.watch = nullptr;
  network.join(kOtherAt, kListenerAt, with(Replacement::kAsk, 1));
  network.run_for(500ms);
  EXPECT_EQ(left->count<NewcomerWaits>(), 1U);
}

TEST_F(Replacing, AProofToAnOlderVersionIsRepeatedFourteenTimes) {
  int proofs = 0;
  network.watch = [&](const Flight& flight) {
    const bool is_it = is_proof(flight.bytes);
    proofs += is_it && flight.from == kListenerAt ? 1 : 0;
    return !is_it;
  };
  begin(Replacement::kAsk);
  network.run_for(30s);
  EXPECT_EQ(proofs, 14);
}

// ---- with the link, but without the key

/// A joiner that says of itself what the test wants.
struct Intruder final : Machine {
  using MakeProof = std::function<IdentityProof(const SessionSecrets&)>;
  Intruder(TimePoint now, MakeProof make_proof)
      : make(std::move(make_proof)), joining(now, context, {kListenerAt}, kLastRepeat) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    if (peer != nullptr) {
      (void)peer->handle_datagram(now, from, bytes);
    } else if (joining.handle_datagram(now, from, bytes) &&
               joining.state() == Joining::State::kComplete) {
      peer = std::make_unique<Peer>(now, joining.secrets(), kListenerAt, PeerOptions{});
      peer->prove(now, make(joining.secrets()), IdentityCheck{joining.secrets(), forged});
      peer->handle_timeout(now);
    }
  }
  void handle_timeout(TimePoint now) override {
    peer != nullptr ? peer->handle_timeout(now) : joining.handle_timeout(now);
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto flight = joining.poll_transmit();
    return flight || peer == nullptr ? flight : peer->poll_transmit(now);
  }
  TimePoint poll_timeout() const override {
    return peer != nullptr ? peer->poll_timeout() : joining.poll_timeout();
  }

  HandshakeContext context{Role::kJoiner, test_secret()};
  MakeProof make;
  Joining joining;
  std::unique_ptr<Peer> peer;
  uint64_t forged = 0;
};

class IntruderWorld : public SecureWorld {
 public:
  Intruder& intrude(Intruder::MakeProof make) {
    intruders_.push_back(std::make_unique<Intruder>(now(), std::move(make)));
    drain(add_host(*intruders_.back(), kOtherAt));
    return *intruders_.back();
  }

 private:
  std::vector<std::unique_ptr<Intruder>> intruders_;
};

TEST(ReplacingByForce, AProofOfAnotherSessionOrAForgedOneProvesNothing) {
  const SigningKey key =
      identity_key(test_secret(1), link_credential(test_secret()), Role::kJoiner);
  SessionSecrets earlier;
  earlier.role = Role::kJoiner;
  earlier.binding = random_secret();
  IdentityProof forged{.key = key.public_key()};
  forged.signature[0] = std::byte{1};
  for (const IdentityProof& proof : {prove_identity(key, earlier), forged}) {
    IntruderWorld network;
    Node& left = network.listen(kListenerAt, with(Replacement::kAsk));
    Node& right = network.join(kJoinerAt, kListenerAt, with(Replacement::kAsk, 1));
    network.run_for(1s);
    network.stop(right);
    network.run_for(3s);
    const Intruder& intruder = network.intrude([&](const SessionSecrets&) { return proof; });
    network.run_for(3s);
    ASSERT_NE(intruder.peer, nullptr);
    EXPECT_FALSE(intruder.peer->was_heard());
    EXPECT_EQ(left.count<NewcomerWaits>(), 1U);
    EXPECT_EQ(left.count<Connected>(), 1U);
    EXPECT_EQ(left.connection->stats().forged_identities,
              static_cast<uint64_t>(IdentityCheck::kForgedMax));
  }
}

TEST(ReplacingByForce, TheSameProofByItsOwnerIsTaken) {
  // That the test above could fail: the same intruder with the key.
  const SigningKey key =
      identity_key(test_secret(1), link_credential(test_secret()), Role::kJoiner);
  IntruderWorld network;
  Node& left = network.listen(kListenerAt, with(Replacement::kAsk));
  Node& right = network.join(kJoinerAt, kListenerAt, with(Replacement::kAsk, 1));
  network.run_for(1s);
  network.stop(right);
  network.run_for(3s);
  const Intruder& intruder =
      network.intrude([&](const SessionSecrets& session) { return prove_identity(key, session); });
  network.run_for(1s);
  EXPECT_TRUE(intruder.peer->was_heard());
  EXPECT_EQ(left.count<Connected>(), 2U);
  EXPECT_EQ(left.count<NewcomerWaits>(), 0U);
}

TEST(ReplacingByForce, ANewcomerThatWaitsGetsNoAnswerToAnything) {
  const SigningKey key;
  IntruderWorld network;
  Node& left = network.listen(kListenerAt, with(Replacement::kAsk));
  Node& right = network.join(kJoinerAt, kListenerAt);
  network.run_for(1s);
  network.stop(right);
  network.run_for(3s);
  Intruder& intruder = network.intrude(
      [&](const SessionSecrets&) { return IdentityProof{.key = key.public_key()}; });
  network.run_for(2s);
  ASSERT_TRUE(left.when<NewcomerWaits>());
  const auto before = network.sent_to[kOtherAt];
  for (uint32_t i = 0; i < 1000; ++i) {
    intruder.peer->ping(network.now());
    intruder.peer->send(network.now(), plain_datagram(70 * i));
    while (const auto transmit = intruder.peer->poll_transmit(network.now())) {
      network.inject(kOtherAt, kListenerAt, transmit->bytes);
    }
  }
  network.run_for(1s);
  EXPECT_EQ(network.sent_to[kOtherAt], before);
  EXPECT_EQ(left.connection->stats().forged_identities,
            static_cast<uint64_t>(IdentityCheck::kForgedMax));
  network.answer(left, true);
  const auto received = left.received.size();
  network.run_for(200ms);
  EXPECT_EQ(left.received.size(), received) << "nothing of before was kept";
}

// ---- at the joiner

class Rejoining : public testing::Test {
 protected:
  /// The listener restarts, as the end of this identity.
  Node& restart(Replacement replacement, uint8_t identity) {
    left = &network.listen(kListenerAt, with(replacement, 1));
    right = &network.join(kJoinerAt, kListenerAt, with(replacement));
    network.run_for(1s);
    network.stop(*left);
    network.run_for(1s);
    Node& again = network.listen(kListenerAt, with(replacement, identity));
    network.run_for(3s);
    return again;
  }
  SecureWorld network;
  Node* left = nullptr;
  Node* right = nullptr;
};

TEST_F(Rejoining, TheSameListenerIsJoinedAgainSilently) {
  Node& again = restart(Replacement::kRefuse, 1);
  EXPECT_TRUE(again.connection->is_connected());
  EXPECT_EQ(right->count<Connected>(), 2U);
  EXPECT_EQ(right->count<Closed>() + right->count<NewcomerWaits>(), 0U);
  EXPECT_GT(again.received.size(), 15U);
}

TEST_F(Rejoining, AnotherListenerIsAskedAboutAndGetsNothingBefore) {
  Node& again = restart(Replacement::kAsk, 2);
  ASSERT_EQ(right->count<NewcomerWaits>(), 1U);
  EXPECT_EQ(find<NewcomerWaits>(*right)->code, again.connection->code());
  network.run_for(30s);
  EXPECT_EQ(right->count<NewcomerWaits>(), 1U);
  EXPECT_EQ(right->count<NewcomerGone>(), 0U);
  EXPECT_TRUE(again.received.empty());
  network.answer(*right, true);
  network.run_for(1s);
  EXPECT_EQ(right->closed(), CloseReason::kReplaced);
  EXPECT_EQ(right->count<Connected>(), 2U);
  EXPECT_EQ(right->count<NewcomerGone>(), 1U);
  EXPECT_FALSE(right->connection->has_ended());
  EXPECT_GT(again.received.size(), 15U);
}

TEST_F(Rejoining, ARefusedListenerIsNotAskedAboutAgainForTenSeconds) {
  Node& again = restart(Replacement::kAsk, 2);
  network.answer(*right, false);
  network.run_for(9s);
  EXPECT_EQ(right->count<NewcomerWaits>(), 1U);
  EXPECT_EQ(right->count<NewcomerGone>(), 1U);
  EXPECT_EQ(again.closed(), CloseReason::kBusy);
  network.run_for(2s);
  EXPECT_EQ(right->count<NewcomerWaits>(), 2U);
  network.run_for(60s);
  EXPECT_EQ(right->closed(), CloseReason::kTimedOut);
  EXPECT_TRUE(again.received.empty());
}

TEST_F(Rejoining, AnotherListenerIsRefusedUntilTheSilenceEndsTheCall) {
  Node& again = restart(Replacement::kRefuse, 2);
  EXPECT_EQ(right->count<Closed>() + right->count<NewcomerWaits>(), 0U);
  network.run_for(60s);
  EXPECT_EQ(right->closed(), CloseReason::kTimedOut);
  EXPECT_EQ(right->count<Connected>(), 1U);
  EXPECT_TRUE(again.received.empty());
}

TEST_F(Rejoining, AnotherListenerIsAdmittedWhereAnybodyIs) {
  Node& again = restart(Replacement::kAdmit, 2);
  EXPECT_EQ(right->count<Connected>(), 2U);
  EXPECT_EQ(right->closed(), CloseReason::kReplaced);
  EXPECT_FALSE(right->connection->has_ended());
  EXPECT_GT(again.received.size(), 15U);
}

TEST_F(Rejoining, TheListenerHeardAgainEndsTheQuestion) {
  Node& other = restart(Replacement::kAsk, 2);
  ASSERT_EQ(right->count<NewcomerWaits>(), 1U);
  network.stop(other);
  network.start(*left);
  network.run_for(2s);
  EXPECT_EQ(right->count<NewcomerGone>(), 1U);
  EXPECT_EQ(right->count<Connected>(), 1U);
  EXPECT_EQ(right->count<Closed>(), 0U);
  const auto received = left->received.size();
  network.run_for(1s);
  EXPECT_GT(left->received.size(), received + 15);
}

TEST_F(Rejoining, OutagesAreSurvivedWhereNobodyIsAdmitted) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SecureWorld world{seed};
    Node& listener = world.listen(kListenerAt, with(Replacement::kRefuse));
    Node& joiner = world.join(kJoinerAt, kListenerAt, with(Replacement::kRefuse));
    world.run_for(1s);
    world.set_conditions({.jitter = 60ms, .loss = 0.3, .duplicate = 0.1});
    Rng rng{seed};
    for (int i = 0; i < 30; ++i) {
      world.watch = [](const Flight&) { return false; };
      world.run_for(from_seconds(4 * rng.uniform()));
      world.watch = nullptr;
      world.run_for(from_seconds(rng.uniform()));
    }
    world.set_conditions({});
    world.run_for(12s);
    EXPECT_EQ(joiner.count<Closed>() + listener.count<Closed>(), 0U) << "seed " << seed;
    const auto received = listener.received.size();
    world.run_for(1s);
    EXPECT_GT(listener.received.size(), received + 15) << "seed " << seed;
  }
}

// ---- keys

TEST(IdentityKey, IsOfItsSecretItsLinkAndItsRole) {
  const auto key = [](uint8_t secret, uint8_t link, Role role) {
    return identity_key(test_secret(secret), link_credential(test_secret(link)), role).public_key();
  };
  const PublicKey one = key(1, 7, Role::kJoiner);
  EXPECT_EQ(key(1, 7, Role::kJoiner), one);
  EXPECT_NE(key(2, 7, Role::kJoiner), one);
  EXPECT_NE(key(1, 8, Role::kJoiner), one);
  EXPECT_NE(key(1, 7, Role::kListener), one);
}

TEST(IdentityCheck, AProofIsOfOneDirection) {
  SessionSecrets session;
  session.binding = random_secret();
  session.role = Role::kJoiner;
  const SigningKey key;
  const IdentityProof own = prove_identity(key, session);
  uint64_t forged = 0;
  IdentityCheck reflected{session, forged};
  reflected.handle(own);
  EXPECT_FALSE(reflected.key());
  EXPECT_EQ(forged, 1U);
  session.role = Role::kListener;
  IdentityCheck at_the_other_end{session, forged};
  at_the_other_end.handle(own);
  EXPECT_EQ(at_the_other_end.key(), key.public_key());
  at_the_other_end.handle(IdentityProof{});
  EXPECT_EQ(at_the_other_end.key(), key.public_key());
  EXPECT_EQ(forged, 1U);
}

}  // namespace
}  // namespace cress::secure
