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

/// A joiner's way to the listener, whose link may name several addresses: one handshake with each,
/// begun kAddressSpacing after one another and all kept running (RFC 8305 §5, in spirit), and begun
/// anew when one fails; IPv6 and IPv4 take turns. The first that completes is taken, the others are
/// forgotten. Sans-IO: after each handle_*, poll_transmit until empty; sleep until poll_timeout.
/// Threads: none inside; one owner. `now` never goes back. Throws as Handshake does.
class Joining {
 public:
  enum class State : uint8_t {
    kRunning,
    kComplete,
    /// One address says that the link is not its own, and no other has answered in kHandshakeMax.
    kWrongSecret,
  };
  /// Handshakes since the last question.
  struct Counts {
    uint64_t begun = 0;
    uint64_t failed = 0;
  };

  /// `listeners`: the likeliest first; at least one, over kAddressesMax are left out, as are those
  /// named twice. `last_repeat`: see Handshake. The context is borrowed and must outlive it.
  Joining(TimePoint now, const HandshakeContext& context, const std::vector<Address>& listeners,
          Duration last_repeat);

  /// False: of none of the handshakes; nothing has changed then.
  bool handle_datagram(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  std::optional<Transmit> poll_transmit();
  TimePoint poll_timeout() const;

  State state() const { return state_; }
  /// Of kComplete: what both ends know now, and where the listener was found.
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
  std::deque<Transmit> out_;  // of one flight each: drained after each call
  Counts counts_;
};

}  // namespace cress::secure
