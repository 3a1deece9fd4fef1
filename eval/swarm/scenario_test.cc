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
  std::vector<std::string> first;
  std::vector<std::string> second;
  EXPECT_EQ(run_drawn(11, &first), "");
  EXPECT_EQ(run_drawn(11, &second), "");
  EXPECT_EQ(first, second);
  std::string all;
  for (const std::string& step : first) {
    all += step + "\n";
  }
  expect_golden("steps", all);
}

}  // namespace
}  // namespace cress::swarm
