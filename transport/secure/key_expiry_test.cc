// Goal: the owner of a session overwrites its previous keys when they have expired, in constant
// traffic too. Method: the other end is in the test's hands, so that its keys are known; the memory
// of this process is searched for them after an hour and ten seconds of virtual time.

#include <gtest/gtest.h>

#include <optional>
#include <type_traits>
#include <vector>

#include "transport/secure/connection.hh"
#include "transport/secure/crypto/memory_test_tools.hh"
#include "transport/secure/listener.hh"
#include "transport/secure/secure_test_tools.hh"

namespace cress::secure {
namespace {

const Address kOwner = test_address(1);
const Address kFar = test_address(2, 6000);

/// A joiner in the test's hands, and the owner of the other end.
template <class Owner>
class KnownSession {
 public:
  KnownSession(Owner& owner, const Credential& credential) : owner_(owner) {
    const HandshakeContext context{Role::kJoiner, credential};
    Handshake joining{now_, context};
    for (int i = 0; i < 10 && joining.state() == Handshake::State::kRunning; ++i) {
      while (const auto flight = joining.poll_transmit()) {
        owner_.handle_datagram(now_, kFar, *flight);
      }
      while (const auto sent = owner_.poll_transmit(now_)) {
        joining.handle_datagram(now_, sent->bytes);
      }
    }
    const SessionSecrets& secrets = joining.secrets();
    far_.emplace(now_, secrets, kOwner, PeerOptions{});
    first_keys_ = {Needle::record_key(secrets.records.send),
                   Needle::record_key(secrets.control.send)};
  }

  /// Records and control records in both directions.
  void talk_at(TimePoint now) {
    wake_at(now);
    far_->handle_timeout(now);
    far_->send(now, plain_datagram(far_sequence_ += 200));
    far_->ping(now);
    while (const auto sent = far_->poll_transmit(now)) {
      owner_.handle_datagram(now, kFar, sent->bytes);
    }
    while (owner_.poll_datagram()) {
    }
    answer();
    while (const auto sent = owner_.poll_transmit(now)) {
      (void)far_->handle_datagram(now, kOwner, sent->bytes);
    }
    while (far_->poll_datagram()) {
    }
  }
  /// The owner's timers alone.
  void wake_at(TimePoint now) {
    now_ = now;
    if (owner_.poll_timeout() <= now) {
      owner_.handle_timeout(now);
    }
  }
  TimePoint now() const { return now_; }
  /// Of the two first keys with which the owner opens, those that it has.
  int first_keys() const {
    int found = 0;
    for (const Needle& key : first_keys_) {
      found += key.times_in_memory() > 0 ? 1 : 0;
    }
    return found;
  }

 private:
  void answer() {
    const auto plain = plain_datagram(own_sequence_ += 200);
    if constexpr (std::is_same_v<Owner, Listener>) {
      while (const auto event = owner_.poll_event()) {
        id_ = event->peer;
      }
      owner_.send(now_, id_, plain);
    } else {
      owner_.send(now_, plain);
    }
  }

  Owner& owner_;
  TimePoint now_ = kTimeZero;
  std::optional<Peer> far_;
  std::vector<Needle> first_keys_;
  PeerId id_;
  uint64_t far_sequence_ = 0;
  uint64_t own_sequence_ = 0;
};

template <class Owner>
void expect_first_keys_go(KnownSession<Owner> session) {
  for (TimePoint at = kTimeZero; at <= kTimeZero + 1h; at += 30s) {
    session.talk_at(at);
  }
  const TimePoint due = session.now() + 10s + Duration{1};
  while (session.now() + 100ms < due) {
    session.talk_at(session.now() + 100ms);
  }
  EXPECT_EQ(session.first_keys(), 2);
  session.wake_at(due);
  EXPECT_EQ(session.first_keys(), 0);
}

TEST(KeyExpiry, AConnectionOverwritesPreviousKeysInTime) {
  if (!kMemoryCanBeSearched) {
    GTEST_SKIP() << "a sanitizer's memory is not searched";
  }
  const Credential link = link_credential(test_secret());
  Connection owner{kTimeZero, {.credential = link}};
  expect_first_keys_go(KnownSession{owner, link});
}

TEST(KeyExpiry, AListenerOverwritesPreviousKeysInTime) {
  if (!kMemoryCanBeSearched) {
    GTEST_SKIP() << "a sanitizer's memory is not searched";
  }
  const Credential link = link_credential(test_secret());
  Listener owner{kTimeZero, {.lookup = [&](std::string_view /*identity*/) { return link.psk; }}};
  expect_first_keys_go(KnownSession{owner, link});
}

}  // namespace
}  // namespace cress::secure
