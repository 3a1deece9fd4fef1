#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/base/token_bucket.hh"
#include "transport/secure/crypto/keyed_hash.hh"

namespace cress::secure {

/// Rate limits for unknown senders: stateless answers to all, handshakes for those that receive at
/// their address, fewer per network. Networks share buckets by a keyed hash, so an attacker cannot
/// choose which of them collide. Threads: none inside; one owner.
class HandshakeLimits {
 public:
  struct Options {
    /// Hellos that are processed at all: each costs one or two cookies to compute, 0.2 us.
    TokenBucket::Options hellos;
    TokenBucket::Options answers;
    TokenBucket::Options handshakes;
    TokenBucket::Options handshakes_of_network;
    size_t networks = 64;
  };
  explicit HandshakeLimits(const Options& options)
      : hash_(KeyedHash::random()),
        hellos_(options.hellos),
        answers_(options.answers),
        handshakes_(options.handshakes),
        networks_(options.networks, TokenBucket{options.handshakes_of_network}) {}

  bool allow_hello(TimePoint now) { return hellos_.take(now); }
  bool allow_answer(TimePoint now) { return answers_.take(now); }
  bool allow_handshake(TimePoint now, const Address& from) {
    // IPv4 /24 or IPv6 /48: the range from which one subscriber may send.
    const auto ip = std::as_bytes(std::span{from.ip});
    const uint64_t hash = hash_(ip.first(from.is_ipv4() ? 15 : 6));
    return networks_[hash % networks_.size()].take(now) && handshakes_.take(now);
  }

 private:
  KeyedHash hash_;
  TokenBucket hellos_;
  TokenBucket answers_;
  TokenBucket handshakes_;
  std::vector<TokenBucket> networks_;
};

}  // namespace cress::secure
