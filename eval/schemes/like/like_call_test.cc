#include "eval/schemes/like/like_call.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "eval/schemes/like/like_test_tools.hh"
#include "media/source/synthetic_camera.hh"

namespace cress::schemes {
namespace {

using namespace like_test;

TEST(LikeCall, DropsTruncatedAndAbsurdDatagrams) {
  LikeCall call{kTimeZero, {}, nullptr};
  std::vector<uint8_t> report{2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
  std::vector<uint8_t> media(60, 0xff);
  media[0] = 1;
  TimePoint now = kTimeZero;
  for (int round = 0; round < 100; ++round) {
    for (const auto& whole : {report, media}) {
      for (size_t length = 0; length <= whole.size(); ++length) {
        call.handle_datagram(now, {}, std::as_bytes(std::span{whole}.first(length)));
      }
    }
    now += 100ms;
    call.handle_timeout(now);
    while (call.poll_transmit(now)) {
    }
    ASSERT_GE(call.target(), LikeOptions{}.floor);
    ASSERT_LE(call.target(), LikeOptions{}.ceiling);
  }
  // The valid reports show heavy trouble, but also more arrivals than were ever sent: no share of
  // that is less than the target, and trouble never raises the rate.
  EXPECT_EQ(call.target(), LikeOptions{}.start);
}

std::shared_ptr<media::VideoSource> camera() {
  return std::make_shared<media::SyntheticCamera>(media::SyntheticCameraOptions{
      .width = 320, .height = 180, .frame_rate = {.numerator = 15, .denominator = 1}});
}

TEST(LikeCall, SwitchesBetweenHalfAndFullSizeAtItsThresholds) {
  LikeOptions options;
  options.start = kbps(150);
  options.raise_factor = 1.2;
  LikeCall left{kTimeZero, options, camera()};
  LikeCall right{kTimeZero, options, nullptr};
  const Trace wide = stepped(2ms, 30s, 2ms, 30s);
  sim::Link forward{{.trace = wide, .queue = nullptr}};
  sim::Link reverse{{.trace = wide, .queue = nullptr}};
  sim::World world{{left, right, forward, reverse}};
  std::vector<int> widths;
  for (int step = 1; step <= 150; ++step) {
    world.run_until(at(step * 100ms));
    while (const auto shown = right.poll_shown()) {
      widths.push_back(shown ? shown->picture->width : 0);
    }
    const int expected = left.target() < options.half_size_below ? 160
                         : left.target() > options.full_size_above * 1.2
                             ? 320
                             : (widths.empty() ? 160 : widths.back());
    EXPECT_EQ(widths.empty() ? expected : widths.back(), expected) << "at " << step * 100 << " ms";
  }
  EXPECT_EQ(widths.front(), 160);
  EXPECT_EQ(widths.back(), 320);
  EXPECT_EQ(std::adjacent_find(widths.begin(), widths.end(), std::greater<>{}), widths.end())
      << "it changed its mind";
}

TEST(LikeCall, EndsSeeEachOthersPicturesAndTheLinkCarriesTheTarget) {
  LikeOptions options;
  options.start = kbps(400);
  options.raise_factor = 1;
  LikeCall left{kTimeZero, options, camera()};
  LikeCall right{at(5ms), options, camera()};
  const Trace wide = stepped(2ms, 30s, 2ms, 30s);
  sim::Link forward{{.trace = wide, .queue = nullptr}};
  sim::Link reverse{{.trace = wide, .queue = nullptr}};
  sim::World world{{left, right, forward, reverse}};
  world.run_until(at(12s));
  int shown = 0;
  while (right.poll_shown()) {
    ++shown;
  }
  EXPECT_GT(shown, 150);
  EXPECT_NEAR(DataRate::from(right.delivered(), 12s).kilobits_per_second(), 400, 60);
}

TEST(LikeCall, WithoutArrivalsIsSilentWhereTheProfileIs) {
  for (const bool reports : {true, false}) {
    LikeOptions options;
    options.reports_silence = reports;
    LikeCall left{kTimeZero, options, camera()};
    LikeCall right{kTimeZero, options, nullptr};
    sim::Link forward{{.trace = stepped(2ms, 5s, 10s, 25s), .queue = nullptr}};
    sim::Link reverse{{.trace = stepped(2ms, 30s, 2ms, 30s), .queue = nullptr}};
    sim::World world{{left, right, forward, reverse}};
    world.run_until(at(14s));  // nothing has arrived for nine seconds
    const bool told_in_the_outage =
        !reverse.records().empty() && reverse.records().back().sent > at(7s);
    EXPECT_EQ(told_in_the_outage, reports);
  }
}

}  // namespace
}  // namespace cress::schemes
