#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/base/time.hh"
#include "transport/base/token_bucket.hh"
#include "transport/base/units.hh"
#include "transport/secure/crypto/keyed_hash.hh"
#include "transport/secure/handshake/handshake_limits.hh"
#include "transport/secure/rendezvous/rendezvous_message.hh"

namespace cress::relay {

struct CallRelayOptions {
  /// At the same time; 0: none, and registrations are answered kNotOffered.
  size_t calls_max = 0;
  /// Of one call, both directions together; more is dropped.
  DataRate rate_max = DataRate::kilobits_per_second(8'000);
  /// After this long nothing more of the call is forwarded, and its registrations are answered
  /// kOver until both ends have been silent for silence_max.
  Duration length_max = 24h;
  /// An end that has sent nothing for this long has gone.
  Duration silence_max = 30s;
  /// After this much silence of an end another program with the link may take its place.
  Duration replace_after = 2s;
  /// A signature costs about 0.1 ms to check; a stateless answer costs next to nothing.
  secure::HandshakeLimits::Options limits{.hellos = {.per_second = 40'000, .burst = 4'000},
                                          .answers = {.per_second = 20'000, .burst = 2'000},
                                          .handshakes = {.per_second = 500, .burst = 200},
                                          .handshakes_of_network = {.per_second = 20, .burst = 40},
                                          .networks = 1024};
};

struct CallRelayStats {
  uint64_t begun = 0;          ///< calls in which both ends have met
  uint64_t datagrams = 0;      ///< forwarded
  uint64_t bytes = 0;          ///< forwarded
  uint64_t over_rate = 0;      ///< datagrams dropped: the call sends more than it may
  uint64_t over_time = 0;      ///< likewise: the call has lasted as long as it may
  uint64_t without_other = 0;  ///< datagrams of an end whose other end is not there
  uint64_t bad_signature = 0;  ///< by a program without the link, or damaged
  uint64_t malformed = 0;
  uint64_t rate_limited = 0;  ///< requests beyond what strangers may cost
  uint64_t refused_busy = 0;
  uint64_t refused_full = 0;
  friend bool operator==(const CallRelayStats&, const CallRelayStats&) = default;
};

/// Forwards the datagrams of calls of two, unchanged and unread, between two ends that could not
/// reach each other (docs/protocol/rendezvous.md). Once an end has returned a cookie from its
/// address and signed with the key that derives from the link, the address identifies it. No
/// amplification: an answer is never larger than its request, and a datagram in gives at most one
/// out; only a registration that brings two ends together gives each of them an answer. The cost of
/// a datagram does not depend on the number of calls. Memory is bounded by the options. Without
/// I/O: after each handle_*, poll_transmit until empty. Threads: none inside; one owner.
/// `now` never goes back. Peer data never fails a check.
class CallRelay {
 public:
  /// `spare`, which may be null, is where buffers of sent datagrams return to.
  CallRelay(const CallRelayOptions& options, SpareBuffers* spare);

  /// False: it is nothing of a call's. `ecn`: of the IP packet that it came in; forwarded too, so
  /// that the ends see what queues on both sides say.
  bool handle_datagram(TimePoint now, const Address& from, std::span<const std::byte> bytes,
                       Ecn ecn = Ecn::kNotEct);
  void handle_timeout(TimePoint now);
  std::optional<Transmit> poll_transmit();
  TimePoint poll_timeout() const { return calls_.empty() ? kNever : sweep_at_; }

  size_t calls() const { return calls_.size(); }
  const CallRelayStats& stats() const { return stats_; }

 private:
  struct End {
    Address address;
    std::array<std::byte, 16> party{};
    uint64_t transaction = 0;
    TimePoint heard;
  };
  struct Call {
    std::array<std::optional<End>, 2> ends;  // by role
    TimePoint began;
    TokenBucket bucket{{}};
    bool has_begun = false;
  };
  struct Place {
    secure::PublicKey call{};
    secure::Role role{};
  };
  struct CallHash {
    secure::KeyedHash hash;
    size_t operator()(const secure::PublicKey& call) const {
      return static_cast<size_t>(hash(std::span<const std::byte>{call}));
    }
  };

  void forward(TimePoint now, const Place& place, std::span<const std::byte> bytes, Ecn ecn);
  void handle_request(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  bool is_refresh(const Address& from, const secure::Registration& request) const;
  bool has_cookie(TimePoint now, const Address& from, const secure::Registration& request) const;
  secure::RendezvousCookie cookie(int64_t period, const Address& from) const;
  void place(TimePoint now, const Address& from, const secure::Registration& request);
  void answer(const Address& to, uint64_t transaction, secure::RendezvousStatus status);
  void notify_both(const Call& call);
  void forget(const std::optional<End>& end);
  void send(const Address& to, std::vector<std::byte> bytes, Ecn ecn = Ecn::kNotEct);

  static constexpr size_t kOutMax = 1024;

  CallRelayOptions options_;
  SpareBuffers* spare_;
  secure::HandshakeLimits limits_;
  secure::KeyedHash first_;  // the two halves of a cookie
  secure::KeyedHash second_;
  std::unordered_map<secure::PublicKey, Call, CallHash> calls_;
  std::unordered_map<Address, Place, secure::KeyedHash> by_address_;
  TimePoint sweep_at_ = kNever;
  std::deque<Transmit> out_;
  CallRelayStats stats_;
};

}  // namespace cress::relay
