#include "transport/runtime/network_watch.hh"

#include <gtest/gtest.h>

#include <vector>

#include "transport/runtime/private_network_test.hh"

namespace cress::runtime {
namespace {

/// Runs the loop until `done` or ten seconds; returns whether it was done.
bool run_until(EventLoop& loop, const MonotonicClock& clock, const std::function<bool()>& done) {
  const TimePoint end = clock.now() + 10s;
  std::unique_ptr<EventLoop::Timer> look;
  look = std::make_unique<EventLoop::Timer>(loop, [&] {
    if (done() || clock.now() > end) {
      loop.stop();
    } else {
      look->arm(clock.now() + 2ms);
    }
  });
  look->arm(clock.now());
  loop.run();
  return done();
}

TEST(NetworkWatch, AddedOrRemovedAddressIsReported) {
  const bool allowed = PrivateNetwork::run([](PrivateNetwork& network) {
    const MonotonicClock clock;
    EventLoop loop{clock};
    int told = 0;
    const NetworkWatch watch{loop, [&](const NetworkChange& change) {
                               told += change.addresses ? 1 : 0;
                               EXPECT_EQ(change.slept, Duration{});
                             }};
    network.set_second_address("192.0.2.1");
    EXPECT_TRUE(run_until(loop, clock, [&] { return told >= 1; }));
    const int before = told;
    network.remove_second_address();
    EXPECT_TRUE(run_until(loop, clock, [&] { return told > before; }));
  });
  if (!allowed) {
    GTEST_SKIP() << "a private network takes root's rights";
  }
}

TEST(NetworkWatch, InterfaceDownAndUpIsReported) {
  const bool allowed = PrivateNetwork::run([](PrivateNetwork& network) {
    const MonotonicClock clock;
    EventLoop loop{clock};
    network.set_second_address("192.0.2.1");
    int told = 0;
    const NetworkWatch watch{
        loop, [&](const NetworkChange& change) { told += change.addresses || change.routes; }};
    network.set_up(false);
    EXPECT_TRUE(run_until(loop, clock, [&] { return told >= 1; }));
    const int before = told;
    network.set_up(true);
    EXPECT_TRUE(run_until(loop, clock, [&] { return told > before; }));
  });
  if (!allowed) {
    GTEST_SKIP() << "a private network takes root's rights";
  }
}

TEST(NetworkWatch, QuietNetworkReportsNothing) {
  const bool allowed = PrivateNetwork::run([](PrivateNetwork& network) {
    const MonotonicClock clock;
    EventLoop loop{clock};
    network.set_second_address("192.0.2.1");
    const NetworkWatch watch{loop, [](const NetworkChange&) { FAIL() << "nothing has changed"; }};
    // Long enough for the answer with the current addresses, and for one check for suspend.
    const TimePoint end = clock.now() + 1200ms;
    EXPECT_TRUE(run_until(loop, clock, [&] { return clock.now() >= end; }));
  });
  if (!allowed) {
    GTEST_SKIP() << "a private network takes root's rights";
  }
}

TEST(NetworkWatch, NeedsNoPrivileges) {
  const MonotonicClock clock;
  EventLoop loop{clock};
  EXPECT_NO_THROW((NetworkWatch{loop, [](const NetworkChange&) {}}));
}

}  // namespace
}  // namespace cress::runtime
