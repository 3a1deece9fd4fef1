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

/// Searches a direct path between the two ends of a call whose datagrams pass through a relay, and
/// the way back when a direct path has fallen silent (docs/protocol/rendezvous.md). Both ends
/// report to each other where they may be reached, and send probes there: those that leave open the
/// NATs for those that arrive (the connectivity checks of RFC 8445). A path is found when a probe
/// of ours was answered from the very address that it went to.
///
/// A probe proves who made it, but not who sent it here. It is answered only if it was made for one
/// of our own addresses, or comes from one that the other end has named: an attacker who repeats
/// captured probes from an address of its own moves nothing. An unknown address from which a probe
/// made for us comes (the other end's NAT may use another port for each peer) is probed itself,
/// with no more bytes than came. Without I/O. Threads: none inside; one owner. `now` never goes
/// back.
class DirectPath {
 public:
  /// `relay`: where datagrams that pass through the relay come from.
  explicit DirectPath(const Address& relay) : relay_(relay) {}

  /// Where we may be reached, the most likely first; beyond PathCandidates::kMax they are ignored.
  /// Without effect if they are the same as before.
  void set_own(TimePoint now, std::vector<Address> addresses);
  void set_relay(const Address& relay) { relay_ = relay; }
  void handle_candidates(TimePoint now, const PathCandidates& message);
  void handle_acknowledgement(const CandidatesAcknowledgement& message);
  /// True: to be answered, to where it came from.
  bool handle_probe(TimePoint now, const Address& from, const PathProbe& probe);
  /// True: datagrams pass both ways between us and `from`.
  bool handle_answer(const Address& from, const PathProbeAnswer& answer);
  /// At `at` both ends begin to probe each other's addresses, for kRound.
  void begin_round(TimePoint at) { round_at_ = at; }
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
  /// Of which one side names at most PathCandidates::kMax; the others are those of unknown probes.
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
  TimePoint say_at_ = kNever;
  Duration say_interval_{};
  uint32_t their_revision_ = 0;
  std::optional<uint32_t> to_acknowledge_;
  std::vector<Target> targets_;  // at most kTargetsMax
  Target relay_target_;
  bool is_silent_ = false;
};

}  // namespace cress::secure
