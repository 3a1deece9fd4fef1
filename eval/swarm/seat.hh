#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "eval/swarm/scenario.hh"

namespace cress::swarm {

/// Where a person of a scenario sits: their program, address and links.
struct Scenario::Seat {
  std::string name;
  Address address;
  LinkPlan plan;
  Duration clock_offset{};
  std::unique_ptr<Person> person;
  std::vector<std::unique_ptr<Person>>
      former;  // kept: the world may hold references until the next step
  std::unique_ptr<sim::Link> up;
  std::unique_ptr<sim::Link> down;
  std::unique_ptr<sim::Link> past;  // of a relayed call: to the other person, past the relay
  NatKind nat_kind = NatKind::kNone;
  std::vector<std::unique_ptr<sim::Nat>> nats;  // the last is in use
  sim::World::HostId id = 0;
  bool is_here = true;
  uint64_t starts = 0;
};

}  // namespace cress::swarm
