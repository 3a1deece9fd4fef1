#include <utility>

#include "eval/swarm/scenario.hh"

namespace cress::swarm {
namespace {

LinkPlan draw_plan(Rng& rng, bool is_room) {
  LinkPlan plan;
  // A room's member receives from several: less than 600 kbit/s would make age a matter of rate,
  // not of correctness. The small pictures of a call fill slow links only.
  const bool is_slow = !is_room && rng.chance(0.4);
  plan.rate = DataRate::kilobits_per_second(
      static_cast<int64_t>(is_slow ? rng.uniform(120, 200) : rng.uniform(600, 6000)));
  plan.propagation = from_seconds(rng.uniform(0.002, 0.08));
  plan.jitter = rng.chance(0.4) ? from_seconds(rng.uniform(0, 0.03)) : Duration{};
  plan.loss = rng.chance(0.4) ? rng.uniform(0, 0.05) : 0;
  if (rng.chance(0.3)) {
    plan.burst_loss = {.enter = rng.uniform(0, 0.01), .leave = rng.uniform(0.2, 0.6), .loss = 1};
  }
  plan.duplicate = rng.chance(0.3) ? rng.uniform(0, 0.02) : 0;
  return plan;
}

/// One fault at somebody's, or of everybody's network. `has_restarted`: Ada's program was started
/// again in a call; if she moved before Bo found her, nothing would say where she is.
void draw_fault(Scenario& scenario, Rng& rng, bool is_call, bool& has_restarted) {
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
      if (scenario.is_present(person) && !(person == 0 && has_restarted)) {
        scenario.move(person);
      }
      return;
    case 3:
      scenario.strangers(50 + rng.below(200));
      return;
    case 4:
      if (scenario.is_present(person)) {
        scenario.restart(person);
        has_restarted = has_restarted || (is_call && person == 0);
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
        scenario.link(draw_plan(rng, true)).join();
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

NatKind draw_nat(Rng& rng) { return static_cast<NatKind>(rng.below(5)); }

/// What only a call through a relay has.
void draw_relayed_fault(Scenario& scenario, Rng& rng, bool& has_restarted) {
  switch (rng.below(4)) {
    case 0:
      scenario.restart_relay();
      return;
    case 1:
      scenario.blackout_past_relay(from_seconds(rng.uniform(0.2, 6)));
      return;
    default:
      draw_fault(scenario, rng, false, has_restarted);
      return;
  }
}

}  // namespace

std::string run_drawn(uint64_t seed, std::vector<std::string>* steps) {
  Rng rng = Rng{seed}.fork(1);
  Scenario scenario{seed};
  const bool is_room = rng.chance(0.5);
  // Of its own stream: the other scenarios of a seed are what they were.
  Rng relay_rng = Rng{seed}.fork(2);
  const bool is_relayed = !is_room && relay_rng.chance(0.4);
  scenario.link(draw_plan(rng, is_room));
  if (is_room) {
    scenario.room(2 + rng.below(4));
  } else if (is_relayed) {
    const NatKind ada = draw_nat(relay_rng);
    scenario.relayed_call(ada, draw_nat(relay_rng));
  } else {
    scenario.call();
  }
  scenario.run(from_seconds(rng.uniform(1, 4)));
  bool has_restarted = false;
  for (uint64_t faults = 1 + rng.below(5); faults > 0; --faults) {
    if (is_room && rng.chance(0.4)) {
      draw_room_event(scenario, rng);
    } else if (is_relayed) {
      draw_relayed_fault(scenario, rng, has_restarted);
    } else {
      draw_fault(scenario, rng, !is_room, has_restarted);
    }
    scenario.run(from_seconds(rng.uniform(0.2, 4)));
  }
  // Recovery may take its time: an outage's back-off, a rejoin, and strangers' datagrams, which a
  // relay cannot read and forwards into slow links.
  scenario.strangers(150).run(20s);
  // The longest time until the direct path is searched for again, and found.
  constexpr Duration kSearchMax = 65s;
  for (Duration waited{}; is_relayed && !scenario.takes_best_path() && waited < kSearchMax;
       waited += 5s) {
    scenario.run(5s);
  }
  scenario.check_settled();
  if (steps != nullptr) {
    *steps = scenario.steps();
  }
  return scenario.report();
}

}  // namespace cress::swarm
