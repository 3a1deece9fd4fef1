#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/program_test_tools.hh"

namespace cress::relay {
namespace {

TEST_F(RelayProgram, MembersMeetAndComeBackWhenTheRelayIsReplaced) {
  const std::string link = ask_relay({"room", "create", "kitchen"});
  auto relay = start_relay("first");
  const auto ann = start_member("ann", link);
  const auto bob = start_member("bob", link);
  const auto together = [&] {
    return others("ann") == std::vector<std::string>{"bob"} &&
           others("bob") == std::vector<std::string>{"ann"};
  };
  ASSERT_TRUE(eventually(together)) << stats("ann") << ann->err() << relay->err();

  relay->terminate();
  EXPECT_EQ(relay->wait(), 0);
  EXPECT_EQ(count(relay->err(), "\"draining\""), 1U);
  EXPECT_EQ(count(relay->err(), "the relay is going away"), 2U) << relay->err();
  relay = start_relay("second");
  EXPECT_TRUE(eventually([&] { return count(relay->err(), "\"joined\"") == 2; })) << relay->err();
  EXPECT_TRUE(eventually(together)) << stats("ann");
}

TEST_F(RelayProgram, RunningRelayOpensKicksAndClosesOnRequest) {
  const auto relay = start_relay("relay");
  const std::string link = ask_relay({"room", "create", "attic"});
  const auto ann = start_member("ann", link);
  const auto bob = start_member("bob", link);
  ASSERT_TRUE(eventually([&] { return others("bob") == std::vector<std::string>{"ann"}; }))
      << relay->err() << ann->err();
  ask_relay({"room", "kick", "attic", "1"});
  EXPECT_TRUE(eventually([&] { return count(relay->err(), "was removed") == 1; })) << relay->err();
  ask_relay({"room", "close", "attic"});
  EXPECT_TRUE(eventually([&] { return count(relay->err(), "\"closed\"") == 1; })) << relay->err();
  EXPECT_TRUE(eventually([&] { return count(relay->err(), "the room was closed") >= 1; }))
      << relay->err();
}

}  // namespace
}  // namespace cress::relay
