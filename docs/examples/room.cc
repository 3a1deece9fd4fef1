// A room: three members and a relay in virtual time. One member's network fails for three seconds;
// afterwards everybody must see and hear everybody again. The machines are those of the live
// programs: SecureRoom and RelayMachine.
#include <fmt/core.h>

#include "eval/swarm/scenario.hh"

using namespace cress;

int main() {
  swarm::Scenario scenario{1};  // the seed of everything random: cameras, voices, losses
  // Each member's link to the relay, and the relay's link to the member.
  scenario.link({.rate = DataRate::kilobits_per_second(2000), .propagation = 20ms}).loss(0.02);
  scenario.room(3).run(5s);
  fmt::print("5 s after joining, the oldest displayed frame was captured {:.0f} ms ago\n",
             to_milliseconds(scenario.frame_age()));

  scenario.blackout(1, 3s);  // Bo's link carries nothing; the audio and video of the others goes on
  fmt::print("at the end of Bo's blackout: {:.0f} ms\n", to_milliseconds(scenario.frame_age()));

  scenario.run(10s).check_settled();
  fmt::print("10 s later: {:.0f} ms\n", to_milliseconds(scenario.frame_age()));
  for (size_t i = 0; i < scenario.people(); ++i) {
    const swarm::Person& person = scenario.person(i);
    for (const auto& [name, sight] : person.sights()) {
      fmt::print("{} displayed {} frames of {}\n", person.name(), sight.frames, name);
    }
  }
  fmt::print("{}", scenario.report());  // empty: every check held
  return scenario.report().empty() ? 0 : 1;
}
