#include "eval/schemes/congestion/cubic.hh"

#include <gtest/gtest.h>

#include <cmath>

namespace cress::schemes {
namespace {

double segments(DataSize size) {
  return static_cast<double>(size.bytes()) / static_cast<double>(kTcpPayloadMax.bytes());
}

/// A path with a fixed round trip that acknowledges a full window each time: evenly spaced, or all
/// at once at the end.
class Path {
 public:
  Path(Cubic& cubic, Duration round_trip, bool burst = false)
      : cubic_(cubic), round_trip_(round_trip), burst_(burst) {}

  void run_round() {
    const auto count = static_cast<int64_t>(segments(cubic_.window()));
    const TimePoint start = now_;
    for (int64_t i = 1; i <= count; ++i) {
      now_ = start + (burst_ ? round_trip_ : round_trip_ * i / count);
      const DataSize sent = acknowledged_ + cubic_.window();
      acknowledged_ += kTcpPayloadMax;
      cubic_.on_ack({.now = now_,
                     .delivered = kTcpPayloadMax,
                     .in_flight = cubic_.window(),
                     .acknowledged = acknowledged_,
                     .sent = sent,
                     .round_trip = round_trip_});
    }
  }
  void run_until(TimePoint end) {
    while (now_ < end) {
      run_round();
    }
  }
  TimePoint now() const { return now_; }
  void set_round_trip(Duration round_trip) { round_trip_ = round_trip; }

 private:
  Cubic& cubic_;
  Duration round_trip_;
  bool burst_;
  TimePoint now_ = kTimeZero;
  DataSize acknowledged_;
};

const Cubic::Options kNoEarlyExit{.slow_start_exit = SlowStartExit::kAtLoss};

TEST(CubeRoot, IsTheRootOfTheCube) {
  for (int i = -60; i <= 90; ++i) {
    const double x = std::pow(10.0, i / 10.0);
    EXPECT_NEAR(cube_root(x * x * x), x, 1e-14 * x);
    EXPECT_NEAR(cube_root(x), std::cbrt(x), 1e-14 * std::cbrt(x));
  }
  EXPECT_EQ(cube_root(0.0), 0.0);
}

TEST(Cubic, DoublesEveryRoundTripInSlowStart) {
  Cubic cubic{kNoEarlyExit};
  Path path{cubic, 100ms};
  for (int doubled = 0; doubled < 9; ++doubled) {
    EXPECT_EQ(segments(cubic.window()), 10 << doubled);
    path.run_round();
  }
}

TEST(Cubic, FollowsItsCurveAfterALoss) {
  Cubic cubic{kNoEarlyExit};
  Path path{cubic, 100ms};
  for (int i = 0; i < 7; ++i) {
    path.run_round();
  }
  const double maximum = segments(cubic.window());
  ASSERT_EQ(maximum, 1280);
  cubic.on_loss(path.now());
  EXPECT_NEAR(segments(cubic.window()), 0.7 * maximum, 1.0);
  const TimePoint epoch = path.now();
  const double k = std::cbrt(0.3 * maximum / 0.4);
  while (to_seconds(path.now() - epoch) < 1.6 * k) {
    path.run_round();
    const double t = to_seconds(path.now() - epoch);
    const double formula = 0.4 * std::pow(t - k, 3) + maximum;
    // The window is controlled towards the curve's value one round trip later.
    EXPECT_NEAR(segments(cubic.window()), formula, 0.012 * formula) << "t = " << t;
  }
  EXPECT_GT(segments(cubic.window()), maximum);
}

TEST(Cubic, GivesUpMoreWhenItsWindowShrinksFromLossToLoss) {
  for (const bool shrinking : {false, true}) {
    Cubic cubic{kNoEarlyExit};
    Path path{cubic, 50ms};
    for (int i = 0; i < 6; ++i) {
      path.run_round();
    }
    cubic.on_loss(path.now());
    if (shrinking) {
      cubic.on_loss(path.now());
    }
    // The curve is flat at W_max: 640 without, and with fast convergence 0.7 * 640 * (1 + 0.7) / 2.
    const double maximum = shrinking ? 380.8 : 640.0;
    const double k = std::cbrt((maximum - segments(cubic.window())) / 0.4);
    path.run_until(path.now() + from_seconds(k));
    EXPECT_NEAR(segments(cubic.window()), maximum, 2.0) << "shrinking: " << shrinking;
  }
}

TEST(Cubic, IsNoSlowerThanRenoOnAShortPath) {
  // 10 ms and 20 segments: the cube would take K = 2.5 s to come back to its maximum.
  Cubic cubic{kNoEarlyExit};
  Path path{cubic, 10ms};
  path.run_round();
  ASSERT_EQ(segments(cubic.window()), 20);
  cubic.on_loss(path.now());
  const TimePoint start = path.now();
  while (segments(cubic.window()) < 20) {
    path.run_round();
  }
  // Reno's share with Cubic's factor: 6 segments at 3 * 0.3 / 1.7 = 0.53 a round.
  EXPECT_NEAR(to_milliseconds(path.now() - start), 10.0 * 6 / 0.53, 30.0);
}

TEST(Cubic, NeverGrowsFasterThanHalfAWindowARoundTrip) {
  Cubic cubic{kNoEarlyExit};
  Path path{cubic, 4s};
  for (int i = 0; i < 4; ++i) {
    path.run_round();
  }
  cubic.on_loss(path.now());
  for (int i = 0; i < 12; ++i) {
    const double before = segments(cubic.window());
    path.run_round();
    EXPECT_LE(segments(cubic.window()), before * std::exp(0.5) + 1);
  }
}

TEST(Cubic, RestoresItsWindowAfterASpuriousLoss) {
  Cubic cubic{kNoEarlyExit};
  Path path{cubic, 100ms};
  for (int i = 0; i < 5; ++i) {
    path.run_round();
  }
  cubic.on_loss(path.now());
  const DataSize before = cubic.window();
  cubic.on_timeout(path.now(), false);
  cubic.on_timeout(path.now(), true);
  EXPECT_EQ(cubic.window(), kTcpPayloadMax);
  cubic.on_spurious_loss(path.now());
  EXPECT_EQ(cubic.window(), before);
  EXPECT_FALSE(cubic.in_slow_start());
}

TEST(SlowStart, LeavesWhenTheDelayRises) {
  for (const SlowStartExit kind : {SlowStartExit::kHyStart, SlowStartExit::kHyStartPlusPlus}) {
    Cubic steady{{.slow_start_exit = kind}};
    Cubic rising{{.slow_start_exit = kind}};
    Path steady_path{steady, 100ms, true};
    Path rising_path{rising, 100ms, true};
    for (int i = 0; i < 5; ++i) {
      steady_path.run_round();
      rising_path.run_round();
    }
    EXPECT_TRUE(steady.in_slow_start());
    EXPECT_EQ(segments(steady.window()), 320);
    EXPECT_EQ(steady.window(), rising.window());
    rising_path.set_round_trip(130ms);
    for (int i = 0; i < 8; ++i) {
      rising_path.run_round();
    }
    EXPECT_FALSE(rising.in_slow_start());
    EXPECT_LT(segments(rising.window()), 320 * 16);
  }
}

TEST(SlowStart, PlusPlusGoesOnAfterAPassingRise) {
  Cubic classic{{.slow_start_exit = SlowStartExit::kHyStart}};
  Cubic careful{{.slow_start_exit = SlowStartExit::kHyStartPlusPlus}};
  Path classic_path{classic, 100ms, true};
  Path careful_path{careful, 100ms, true};
  for (int i = 0; i < 12; ++i) {
    const Duration round_trip = i == 4 ? 130ms : 100ms;
    classic_path.set_round_trip(round_trip);
    careful_path.set_round_trip(round_trip);
    classic_path.run_round();
    careful_path.run_round();
  }
  EXPECT_FALSE(classic.in_slow_start());
  EXPECT_TRUE(careful.in_slow_start());
}

TEST(SlowStart, LeavesWhenATrainOfAcknowledgementsLastsHalfTheRoundTrip) {
  // Acknowledgements 1 ms apart in rounds of 100 ms: the train passes 50 ms at some 50 segments.
  Cubic cubic;
  TimePoint now = kTimeZero;
  DataSize acknowledged;
  for (int round = 0; round < 8 && cubic.in_slow_start(); ++round) {
    const auto count = static_cast<int64_t>(segments(cubic.window()));
    for (int64_t i = 0; i < count; ++i) {
      const DataSize sent = acknowledged + cubic.window();
      acknowledged += kTcpPayloadMax;
      cubic.on_ack({.now = now + i * 1ms,
                    .delivered = kTcpPayloadMax,
                    .in_flight = cubic.window(),
                    .acknowledged = acknowledged,
                    .sent = sent,
                    .round_trip = 100ms});
    }
    now += 100ms;
  }
  EXPECT_FALSE(cubic.in_slow_start());
  EXPECT_LT(segments(cubic.window()), 140);
}

}  // namespace
}  // namespace cress::schemes
