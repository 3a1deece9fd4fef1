#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/secure/handshake/handshake.hh"

namespace cress::secure {

/// Connects a joiner to the listener, whose link may name several addresses. One handshake per
/// address, started kAddressSpacing apart and all kept running (like RFC 8305 §5), and restarted
/// when one fails; IPv6 and IPv4 alternate. The first that completes is used, the others are
/// discarded. Sans-IO: after each handle_*, poll_transmit until empty; sleep until poll_timeout.
/// Threads: none inside; one owner. `now` never goes back. Throws as Handshake does.
class Joining {
 public:
  enum class State : uint8_t {
    kRunning,
    kComplete,
    /// One address reports that the link is unknown there, and no other has answered in
    /// kHandshakeMax.
    kWrongSecret,
  };
  /// Handshakes since the last call.
  struct Counts {
    uint64_t begun = 0;
    uint64_t failed = 0;
  };

  /// `listeners`: the most likely first, at least one; duplicates and addresses beyond
  /// kAddressesMax are ignored. `last_repeat`: see Handshake. The context is borrowed and must
  /// outlive it.
  Joining(TimePoint now, const HandshakeContext& context, const std::vector<Address>& listeners,
          Duration last_repeat);

  /// False if the datagram belongs to none of the handshakes; the state is unchanged then.
  bool handle_datagram(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  std::optional<Transmit> poll_transmit();
  TimePoint poll_timeout() const;

  State state() const { return state_; }
  /// Running, and a listener may have let this end in.
  bool may_be_complete_there() const;
  /// After kComplete: the shared secrets, and the listener's address.
  const SessionSecrets& secrets() const { return lanes_[complete_].handshake->secrets(); }
  const Address& listener() const { return lanes_[complete_].to; }
  Counts take_counts() { return std::exchange(counts_, {}); }

  /// RFC 8305 §8: "Connection Attempt Delay".
  static constexpr Duration kAddressSpacing = 250ms;
  static constexpr size_t kAddressesMax = 8;

 private:
  struct Lane {
    Address to;
    TimePoint begin_at{};
    std::unique_ptr<Handshake> handshake{};
    bool has_refused = false;
    bool has_failed = false;
  };
  void begin(TimePoint now, Lane& lane);
  void settle(TimePoint now, Lane& lane);

  const HandshakeContext& context_;
  Duration last_repeat_;
  State state_ = State::kRunning;
  std::vector<Lane> lanes_;
  size_t complete_ = 0;
  std::deque<Transmit> out_;  // one flight per handshake: drained after each call
  Counts counts_;
};

}  // namespace cress::secure
