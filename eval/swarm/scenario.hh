#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "eval/swarm/person.hh"
#include "relay/daemon/relay_machine.hh"
#include "transport/base/rng.hh"
#include "transport/sim/world.hh"

namespace cress::swarm {

/// One direction between a person and the other end.
struct LinkPlan {
  DataRate rate = DataRate::kilobits_per_second(3000);
  Duration propagation = 20ms;
  Duration jitter{};
  double loss = 0;
  sim::BurstLoss burst_loss{};
  double duplicate = 0;
  DataSize queue{150'000};
};

/// What is between a person and the Internet: none, or one of RFC 3489's four.
enum class NatKind : uint8_t { kNone, kFullCone, kRestricted, kPortRestricted, kSymmetric };
/// Whether probes from both ends open a direct path: not if one NAT is symmetric, so that the other
/// end cannot learn its port, and the other NAT is symmetric or port-restricted.
bool can_be_direct(NatKind one, NatKind other);

/// A whole call or room in virtual time, as a plan that is carried out while it is written:
///
///   Scenario scenario{7};
///   scenario.link({.rate = 1000 kbit/s}).loss(.05).call().run(10s).blackout(5s).run(3s)
///       .expect("the picture is fresh", [](Scenario& s) { return s.frame_age() < 300ms; });
///   EXPECT_EQ(scenario.report(), "");
///
/// The machines are those of the live programs: SecureCall, SecureRoom, RelayMachine. Everything
/// drawn comes from the seed (keys apart, on which nothing depends). Threads: none inside; one
/// owner.
class Scenario {
 public:
  explicit Scenario(uint64_t seed);
  ~Scenario();

  // Conditions, for links created after them.
  Scenario& link(const LinkPlan& both);
  Scenario& loss(double share);
  Scenario& jitter(Duration most);
  Scenario& bursts(const sim::BurstLoss& bursts);

  // Participants.
  /// Two persons, "Ada" listening and "Bo" joining.
  Scenario& call();
  /// The same, of two behind NATs who meet at a relay; each has links to the relay and past it.
  Scenario& relayed_call(NatKind ada, NatKind bo);
  /// A relay with a room of `members`, named "Ada", "Bo", "Cem", ...
  Scenario& room(size_t members);
  Scenario& join();
  Scenario& leave(size_t person);
  /// The program crashes and is started again; for the others its session ends or continues.
  Scenario& restart(size_t person);
  Scenario& restart_relay();

  // Network events.
  Scenario& run(Duration length);
  /// All links of a person (without one: of everybody) carry nothing for this long.
  Scenario& blackout(Duration length);
  Scenario& blackout(size_t person, Duration length);
  /// Of a relayed call: nothing passes between the two but through the relay.
  Scenario& blackout_past_relay(Duration length);
  /// The person's address changes, and their NAT for one of the same kind; they are notified, as by
  /// a real network.
  Scenario& move(size_t person);
  /// Datagrams from strangers to everybody: noise, and replays of observed ones.
  Scenario& strangers(size_t datagrams);

  /// Records a failure unless `holds`.
  Scenario& expect(const std::string& what, const std::function<bool(Scenario&)>& holds);
  /// The invariants of docs/ARCHITECTURE.md that hold at every instant.
  Scenario& check_always();
  /// Those that hold after some seconds of a good network: everybody sees and hears everybody.
  Scenario& check_settled();

  /// The age of the newest picture, maximum over all pairs of those present.
  Duration frame_age() const { return oldest_picture().age; }
  /// Of a relayed call: it is direct where that is possible, for both.
  bool takes_best_path() const;
  /// How long what waits in the longest queue of any link takes.
  Duration queue_delay() const;
  size_t people() const;
  bool is_present(size_t person) const;
  const Person& person(size_t at) const;
  TimePoint now() const { return world_.now(); }
  uint64_t seed() const { return seed_; }
  /// Failures, one per line with the step at which they were found and the seed; "" if there are
  /// none.
  std::string report() const;
  /// The steps so far, one per line.
  const std::vector<std::string>& steps() const { return steps_; }

 private:
  struct Seat;
  enum class Kind { kNone, kCall, kRelayedCall, kRoom };
  struct Oldest {
    Duration age{};
    const Seat* viewer = nullptr;
    const Seat* other = nullptr;
  };

  Seat& add(const std::string& name);
  std::unique_ptr<Person> make_person(const Seat& seat);
  void place(Seat& seat, const Address& address);
  void wire_up(Seat& seat);
  void wire_up_relayed();
  sim::Nat* make_nat(Seat& seat);
  void tell_addresses(Seat& seat);
  bool is_room() const { return kind_ == Kind::kRoom; }
  void know_cameras();
  void note(const std::string& step);
  void pass(Duration length);
  void fail(const std::string& what);
  void overhear(const sim::Datagram& datagram);
  void check_person(const Seat& seat);
  void check_relay();
  void check_paths(uint64_t forwarded_before);
  /// Datagrams and records that persons and the relay took for those of their peers, so far.
  uint64_t accepted() const;
  Oldest oldest_picture() const;
  std::vector<Seat*> present() const;
  std::set<std::string> names_but(const Seat& seat) const;
  void set_down(Seat& seat, bool is_down);
  std::string name_of(size_t at) const;
  std::unique_ptr<relay::RelayMachine> make_relay() const;

  uint64_t seed_;
  Rng rng_;
  LinkPlan plan_;
  Kind kind_ = Kind::kNone;
  sim::World world_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::unique_ptr<relay::RelayMachine> relay_;
  sim::World::HostId relay_id_ = 0;
  uint32_t addresses_ = 0;
  Address in_link_;  // where Ada is, by the link that Bo was started with
  uint32_t links_ = 0;
  std::vector<sim::Datagram> overheard_;  // the newest
  std::vector<sim::Datagram> recorded_;   // every so many of all
  uint64_t record_every_ = 1;
  uint64_t datagrams_ = 0;
  std::vector<std::string> steps_;
  std::vector<std::string> failures_;
};

/// Runs a scenario drawn from `seed`: topology, conditions, faults, members who join and leave.
/// Returns its report().
std::string run_drawn(uint64_t seed, std::vector<std::string>* steps = nullptr);

}  // namespace cress::swarm
