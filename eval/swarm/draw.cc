#include <utility>

#include "eval/swarm/scenario.hh"

namespace cress::swarm {
namespace {

LinkPlan draw_plan(Rng& rng) {
  LinkPlan plan;
  // A room's member receives from several: below 600 kbit/s age would be a matter of rate, not of
  // correctness.
  plan.rate = DataRate::kilobits_per_second(static_cast<int64_t>(rng.uniform(600, 6000)));
  plan.propagation = from_seconds(rng.uniform(0.002, 0.08));
  plan.jitter = rng.chance(0.4) ? from_seconds(rng.uniform(0, 0.03)) : Duration{};
  plan.loss = rng.chance(0.4) ? rng.uniform(0, 0.05) : 0;
  if (rng.chance(0.3)) {
    plan.burst_loss = {.enter = rng.uniform(0, 0.01), .leave = rng.uniform(0.2, 0.6), .loss = 1};
  }
  plan.duplicate = rng.chance(0.3) ? rng.uniform(0, 0.02) : 0;
  return plan;
}

/// One fault of one person's network, or of everybody's.
void draw_fault(Scenario& scenario, Rng& rng) {
  const size_t person = rng.below(scenario.people());
  const Duration length = from_seconds(rng.uniform(0.2, 6));
  switch (rng.below(6)) {
    case 0:
      scenario.blackout(length);
      return;
    case 1:
      scenario.blackout(person, length);
      return;
    case 2:
      if (scenario.is_present(person)) {
        scenario.move(person);
      }
      return;
    case 3:
      scenario.strangers(50 + rng.below(200));
      return;
    case 4:
      if (scenario.is_present(person)) {
        scenario.restart(person);
      }
      return;
    default:
      scenario.run(length);
      return;
  }
}

void draw_room_event(Scenario& scenario, Rng& rng) {
  constexpr size_t kPeopleMax = 7;
  const size_t person = rng.below(scenario.people());
  switch (rng.below(3)) {
    case 0:
      if (scenario.people() < kPeopleMax) {
        scenario.link(draw_plan(rng)).join();
      }
      return;
    case 1:
      if (scenario.is_present(person)) {
        scenario.leave(person);
      }
      return;
    default:
      scenario.restart_relay();
      return;
  }
}

}  // namespace

std::string run_drawn(uint64_t seed, std::vector<std::string>* steps) {
  Rng rng = Rng{seed}.fork(1);
  Scenario scenario{seed};
  const bool is_room = rng.chance(0.5);
  scenario.link(draw_plan(rng));
  if (is_room) {
    scenario.room(2 + rng.below(4));
  } else {
    scenario.call();
  }
  scenario.run(from_seconds(rng.uniform(1, 4)));
  for (uint64_t faults = 1 + rng.below(5); faults > 0; --faults) {
    if (is_room && rng.chance(0.4)) {
      draw_room_event(scenario, rng);
    } else {
      draw_fault(scenario, rng);
    }
    scenario.run(from_seconds(rng.uniform(0.2, 4)));
  }
  // After the last fault, recovery may take some time: an outage's back-off, and a rejoin.
  scenario.run(20s).check_settled();
  if (steps != nullptr) {
    *steps = scenario.steps();
  }
  return scenario.report();
}

}  // namespace cress::swarm
