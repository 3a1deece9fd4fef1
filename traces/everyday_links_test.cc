#include "traces/everyday_links.hh"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cress::traces {
namespace {

DataRate rate_between(const sim::DeliveryTrace& trace, Duration from, Duration to) {
  return DataRate::from(trace.capacity(kTimeZero + from, kTimeZero + to), to - from);
}

TEST(EverydayLinks, ConstantRateHasEvenGaps) {
  const NamedLink link = constant_link("constant:12Mbit/s");
  ASSERT_EQ(link.down.opportunities.size(), 120'000U);
  EXPECT_EQ(link.down.opportunities.front().at, 1ms);
  EXPECT_EQ(link.down.opportunities[999].at, 1s);
  EXPECT_EQ(link.down.period(), 120s);
  EXPECT_EQ(link.up, link.down);
  EXPECT_EQ(link.path.queue, "infinite");
}

TEST(EverydayLinks, RateStepsAtTheGivenTimes) {
  const NamedLink link = constant_link("constant:12Mbit/s,500kbit/s@20s,6Mbit/s@90");
  EXPECT_NEAR(rate_between(link.down, 0s, 20s).kilobits_per_second(), 12'000, 1);
  EXPECT_NEAR(rate_between(link.down, 20s, 90s).kilobits_per_second(), 500, 1);
  EXPECT_NEAR(rate_between(link.down, 90s, 150s).kilobits_per_second(), 6'000, 1);
  EXPECT_NEAR(to_seconds(link.down.period()), 150, 0.002);
}

TEST(EverydayLinks, WrongRatesAreRefused) {
  for (const char* name :
       {"constant:", "constant:12", "constant:12Mbit/s@1s", "constant:12Mbit/s,",
        "constant:0Mbit/s", "constant:-1Mbit/s", "constant:nanMbit/s", "constant:1e99Mbit/s",
        "constant:1kbit/s", "constant:1Mbit/s,2Mbit/s", "constant:1Mbit/s,2Mbit/s@0",
        "constant:1Mbit/s,2Mbit/s@-1", "constant:1Mbit/s,2Mbit/s@9,3Mbit/s@9",
        "constant:1Mbit/s,2Mbit/s@9x", "constant:1Mbit/s,2Mbit/s@99999"}) {
    EXPECT_THROW(constant_link(name), std::runtime_error) << name;
  }
}

TEST(EverydayLinks, HaveTheRatesTheirDescriptionsPromise) {
  struct Promise {
    std::string_view name;
    double down_low, down_high, up_low, up_high;
  };
  for (const Promise& promise :
       {Promise{"home", 5999, 6000, 5999, 6000}, Promise{"home-deep", 5999, 6000, 5999, 6000},
        Promise{"wifi-busy", 12'000, 18'000, 12'000, 18'000},
        Promise{"lte-good", 17'000, 23'000, 7'000, 9'000},
        Promise{"starlink", 10'000, 35'000, 3'000, 8'000}}) {
    const NamedLink link = everyday_link(promise.name);
    const double down = rate_between(link.down, 0s, kEmbeddedLength).kilobits_per_second();
    const double up = rate_between(link.up, 0s, kEmbeddedLength).kilobits_per_second();
    EXPECT_GE(down, promise.down_low) << promise.name;
    EXPECT_LE(down, promise.down_high) << promise.name;
    EXPECT_GE(up, promise.up_low) << promise.name;
    EXPECT_LE(up, promise.up_high) << promise.name;
    EXPECT_EQ(everyday_link(promise.name).down, link.down) << promise.name;
  }
}

TEST(EverydayLinks, StarlinkStepsEveryFifteenSecondsAfterASilence) {
  const NamedLink link = everyday_link("starlink");
  for (int step = 1; step < 8; ++step) {
    const Duration at = step * 15s;
    EXPECT_EQ(link.down.capacity(kTimeZero + at, kTimeZero + at + 40ms), DataSize{}) << step;
    const auto rate = [&](Duration from, Duration to) {
      return rate_between(link.down, at + from, at + to).kilobits_per_second();
    };
    EXPECT_NEAR(rate(50ms, 7s), rate(7s, 15s), rate(7s, 15s) * 0.01) << "constant between steps";
    EXPECT_GT(std::abs(rate(1s, 14s) / rate(-14s, -1s) - 1), 0.02) << step;
  }
}

TEST(EverydayLinks, AreListedAndResolved) {
  EXPECT_TRUE(is_everyday("home"));
  EXPECT_FALSE(is_everyday("wifi"));
  EXPECT_EQ(resolve_link("home-deep", "/nowhere").path.queue, "droptail:256");
  EXPECT_EQ(resolve_link("wifi-busy", "/nowhere").path.jitter, 5ms);
  EXPECT_EQ(resolve_link("constant:6Mbit/s", "/nowhere").name, "constant:6Mbit/s");
}

}  // namespace
}  // namespace cress::traces
