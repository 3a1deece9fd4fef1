#include <gtest/gtest.h>

#include <iostream>
#include <optional>

#include "app/live/live_test_tools.hh"
#include "app/live/router_test_tools.hh"
#include "transport/runtime/private_network_test.hh"

namespace cress::live {
namespace {

/// The time from `since` until a picture captured after it is displayed at `end`; runs until there
/// is one.
std::optional<Duration> first_fresh(const End& end, TimePoint since) {
  for (const app::ShownFrame& frame : end.shown) {
    if (frame.captured >= since) {
      return frame.shown - since;
    }
  }
  return std::nullopt;
}

TEST(LiveNetwork, VideoIsBackASecondAfterThirtySecondsWithoutNetwork) {
  const bool allowed = runtime::PrivateNetwork::run([](runtime::PrivateNetwork& network) {
    LivePair pair;
    End lea{pair.clock(), pair.loop(), pair.listener()};
    End jo{pair.clock(), pair.loop(), pair.joiner(lea)};
    ASSERT_TRUE(pair.run_until([&] { return lea.shown.size() > 20 && jo.shown.size() > 20; }));
    network.set_up(false);
    pair.run_until([] { return false; }, 30s);
    EXPECT_TRUE(lea.has(LiveEvent::Kind::kUnreachable));
    EXPECT_TRUE(jo.has(LiveEvent::Kind::kUnreachable));
    EXPECT_FALSE(lea.has(LiveEvent::Kind::kEnded));
    network.set_up(true);
    const TimePoint back = pair.clock().now();
    ASSERT_TRUE(pair.run_until([&] { return first_fresh(lea, back) && first_fresh(jo, back); }));
    std::cout << "picture back after " << to_milliseconds(*first_fresh(lea, back)) << " and "
              << to_milliseconds(*first_fresh(jo, back)) << " ms\n";
    EXPECT_LE(*first_fresh(lea, back), 1s);
    EXPECT_LE(*first_fresh(jo, back), 1s);
    EXPECT_EQ(jo.call->sample().key_frames, 1U) << "an outage costs no key frame";
  });
  if (!allowed) {
    GTEST_SKIP() << "no network namespace of its own may be made here (it takes root)";
  }
}

TEST(LiveNetwork, ACallFollowsAnAddressThatChangesInItsMiddle) {
  LivePair pair;
  End lea{pair.clock(), pair.loop(), pair.listener()};
  TestRouter router{pair.clock(), pair.loop(), lea.call->local_address()};
  LiveCallOptions options = pair.joiner(lea);
  options.listener = router.address();
  End jo{pair.clock(), pair.loop(), options};
  ASSERT_TRUE(pair.run_until([&] { return lea.shown.size() > 20 && jo.shown.size() > 20; }));
  router.rebind();
  const TimePoint moved = pair.clock().now();
  ASSERT_TRUE(pair.run_until([&] { return first_fresh(lea, moved) && first_fresh(jo, moved); }));
  std::cout << "picture goes on after " << to_milliseconds(*first_fresh(lea, moved)) << " and "
            << to_milliseconds(*first_fresh(jo, moved)) << " ms\n";
  EXPECT_LE(*first_fresh(lea, moved), 1s);
  EXPECT_LE(*first_fresh(jo, moved), 1s);
  EXPECT_TRUE(pair.run_until([&] { return lea.has(LiveEvent::Kind::kPathChanged); }));
}

}  // namespace
}  // namespace cress::live
