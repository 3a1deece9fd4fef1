#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/secure/records/control_record.hh"

namespace cress::secure {

/// Searches for a direct path between the two ends of a call whose datagrams pass through a relay,
/// and for the relay when the direct path is silent (docs/protocol/rendezvous.md). The ends
/// exchange lists of candidate addresses and probe each other's (the connectivity checks of RFC
/// 8445); outgoing probes open the sender's NAT for incoming ones. A path is found when a probe was
/// answered from the address that was probed.
/// A probe authenticates its author, not its source address. It is answered only if its destination
/// is one of our candidates, or its source one of the other end's: an attacker that repeats
/// captured probes from its own address moves nothing. A probe to one of our candidates from an
/// unknown source (a NAT may use another port for each peer) is answered by a probe, no larger than
/// itself. Without I/O. Threads: none inside; one owner. `now` never goes back.
class DirectPath {
 public:
  /// `relay`: where datagrams that pass through the relay come from.
  explicit DirectPath(const Address& relay) : relay_(relay) {}

  /// Our candidates, the most likely first; those beyond PathCandidates::kMax are ignored.
  /// Without effect if they are the same as before.
  void set_own(TimePoint now, std::vector<Address> addresses);
  void set_relay(const Address& relay) { relay_ = relay; }
  void handle_candidates(TimePoint now, const PathCandidates& message);
  void handle_acknowledgement(const CandidatesAcknowledgement& message);
  /// Returns whether to answer the probe, to its source.
  bool handle_probe(TimePoint now, const Address& from, const PathProbe& probe);
  /// Returns whether this shows that datagrams pass between us and `from` in both directions.
  bool handle_answer(const Address& from, const PathProbeAnswer& answer);
  /// At `at` both ends begin to probe each other's addresses, for kRound.
  void begin_round(TimePoint at) { round_at_ = at; }
  /// Whether a round is scheduled.
  bool awaits_round() const { return round_at_ != kNever; }
  bool has_own() const { return !own_.empty(); }
  /// While the path in use is silent the relay is probed too.
  void set_silent(TimePoint now, bool is_silent);

  struct Message {
    /// nullopt: along the path in use.
    std::optional<Address> to;
    ControlMessage message;
  };
  /// To be called until nullopt after each call of the above, and at poll_timeout().
  std::optional<Message> poll(TimePoint now);
  TimePoint poll_timeout() const;

  const Address& relay() const { return relay_; }
  bool is_silent() const { return is_silent_; }

  static constexpr Duration kRound = 2s;
  /// The other end's candidates (at most PathCandidates::kMax) and unknown sources of probes.
  static constexpr size_t kTargetsMax = PathCandidates::kMax + 4;

 private:
  /// An address that is probed.
  struct Target {
    Address to{};
    bool is_named = false;      ///< by the other end
    bool answers_next = false;  ///< where unnamed: the next probe from there is answered
    PathToken token{};
    TimePoint probe_at = kNever;
    TimePoint until{};
    Duration interval{};
  };
  Target* find(const Address& to);
  Target& add_unnamed(const Address& to);
  void aim_at_named(TimePoint now);
  static void aim(TimePoint at, TimePoint until, Target& target);
  std::optional<Message> poll_target(TimePoint now, const Address& to, Target& target);

  Address relay_;
  std::vector<Address> own_;
  uint32_t revision_ = 0;
  TimePoint round_at_ = kNever;
  TimePoint announce_at_ = kNever;
  Duration announce_interval_{};
  uint32_t their_revision_ = 0;
  std::optional<uint32_t> to_acknowledge_;
  std::vector<Target> targets_;  // at most kTargetsMax
  Target relay_target_;
  bool is_silent_ = false;
};

}  // namespace cress::secure
