#include "eval/swarm/scenario.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transport/base/golden_test_tools.hh"

namespace cress::swarm {
namespace {

TEST(Scenario, ACallStaysFreshThroughLoss) {
  Scenario scenario{1};
  scenario.link({.rate = DataRate::kilobits_per_second(1500)})
      .loss(0.05)
      .call()
      .run(5s)
      .expect("the picture is fresh", [](Scenario& s) { return s.frame_age() < 300ms; });
  scenario.check_settled();
  EXPECT_EQ(scenario.report(), "");
}

TEST(Scenario, ACallIsBackASecondAfterABlackout) {
  Scenario scenario{2};
  scenario.call().run(3s).blackout(5s).run(1s).expect(
      "the picture is back", [](Scenario& s) { return s.frame_age() < 300ms; });
  EXPECT_EQ(scenario.report(), "");
}

TEST(Scenario, ACallFollowsAnAddress) {
  Scenario scenario{3};
  scenario.call().run(3s).move(1).run(1s).move(1).run(1s).expect(
      "the picture is fresh", [](Scenario& s) { return s.frame_age() < 300ms; });
  EXPECT_EQ(scenario.report(), "");
}

TEST(Scenario, ARoomSurvivesItsRelay) {
  Scenario scenario{4};
  scenario.room(3).run(3s).restart_relay().run(10s).check_settled();
  EXPECT_EQ(scenario.report(), "");
}

TEST(Scenario, MembersComeAndGo) {
  Scenario scenario{5};
  scenario.room(2).run(2s).join().run(2s).leave(0).run(2s).restart(1).run(20s).check_settled();
  EXPECT_EQ(scenario.report(), "");
}

/// How long until everybody sees everybody; at most 3 s.
Duration until_all_see_all(Scenario& scenario) {
  const TimePoint began = scenario.now();
  while (scenario.frame_age() == Duration::max() && scenario.now() < began + 3s) {
    scenario.run(10ms);
  }
  return scenario.now() - began;
}

TEST(Scenario, ARoomOfTenIsJoinedWithinASecond) {
  Scenario all_at_once{8};
  all_at_once.link({.rate = DataRate::kilobits_per_second(12'000)}).room(10);
  const Duration together = until_all_see_all(all_at_once);
  Scenario one_by_one{9};
  one_by_one.link({.rate = DataRate::kilobits_per_second(12'000)}).room(9).run(3s).join();
  const Duration last = until_all_see_all(one_by_one);
  EXPECT_LE(together, 1s);
  EXPECT_LE(last, 1s);
  RecordProperty("all_at_once_ms", static_cast<int>(to_milliseconds(together)));
  RecordProperty("one_by_one_ms", static_cast<int>(to_milliseconds(last)));
}

TEST(Scenario, ARelayedCallFindsTheDirectPathAfterABlackout) {
  // The first search, and the one five seconds later, find nothing.
  Scenario scenario{10};
  scenario.relayed_call(NatKind::kPortRestricted, NatKind::kRestricted)
      .blackout_past_relay(12s)
      .expect("it goes through the relay", [](Scenario& s) { return !s.takes_best_path(); })
      .expect("the picture is fresh", [](Scenario& s) { return s.frame_age() < 300ms; })
      .run(8s)
      .expect("it is direct", [](Scenario& s) { return s.takes_best_path(); })
      .check_settled();
  EXPECT_EQ(scenario.report(), "");
}

TEST(Scenario, ARelayedCallSurvivesWhatItsRelayAndItsEndsDo) {
  Scenario scenario{11};
  scenario.relayed_call(NatKind::kSymmetric, NatKind::kSymmetric)
      .run(3s)
      .restart_relay()
      .run(3s)
      .restart(0)
      .run(8s)
      .move(1)
      .run(3s)
      .check_settled();
  EXPECT_EQ(scenario.report(), "");
}

TEST(Scenario, ARelayMayRestartAtAnyMomentOfAHandshake) {
  for (const Duration before : {20ms, 60ms, 100ms, 140ms, 180ms, 220ms, 260ms, 300ms}) {
    Scenario scenario{20};
    scenario.relayed_call(NatKind::kNone, NatKind::kNone)
        .run(before)
        .restart_relay()
        .run(12s)
        .check_settled();
    EXPECT_EQ(scenario.report(), "") << to_milliseconds(before);
  }
}

TEST(Scenario, ViolationsAreReportedWithSeedAndStep) {
  Scenario scenario{6};
  scenario.call().run(1s).expect("pigs fly", [](Scenario&) { return false; });
  EXPECT_EQ(scenario.report(), "seed 6: pigs fly (at 1.0 s, after \"1.0 s pass\")\n");
}

TEST(Scenario, ADeadNetworkIsNoticed) {
  Scenario scenario{7};
  scenario.call().run(3s).blackout(3s);
  EXPECT_GE(scenario.frame_age(), 3s);
}

TEST(Scenario, TheSameSeedTakesTheSameSteps) {
  std::vector<std::string> steps;
  EXPECT_EQ(run_drawn(11, &steps), "");
  std::string all;
  for (const std::string& step : steps) {
    all += step + "\n";
  }
  expect_golden("steps", all);
}

}  // namespace
}  // namespace cress::swarm
