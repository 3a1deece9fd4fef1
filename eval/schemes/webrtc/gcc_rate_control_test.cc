#include "eval/schemes/webrtc/gcc_rate_control.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::schemes {
namespace {

constexpr DataRate kbps(int64_t rate) { return DataRate::kilobits_per_second(rate); }
constexpr TimePoint at(Duration time) { return kTimeZero + time; }

// ---- Packet groups, §5.2 ----

TEST(GccPacketGroups, PacketsSentWithinABurstTimeAreOneGroup) {
  GccPacketGroups groups;
  // Groups sent at 0, 33 and 70 ms, of 2, 1 and 1 packets; the path takes 20, 22 and 30 ms.
  EXPECT_FALSE(groups.handle_packet({at(0ms), at(20ms)}));
  EXPECT_FALSE(groups.handle_packet({at(5ms), at(27ms)}));
  EXPECT_FALSE(groups.handle_packet({at(33ms), at(55ms)})) << "the first group has none before it";
  EXPECT_EQ(groups.handle_packet({at(70ms), at(100ms)}),
            (GccGroupVariation{.sent_gap = 28ms, .arrival_gap = 28ms, .arrived = at(55ms)}));
  const auto last = groups.handle_packet({at(100ms), at(130ms)});
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->variation(), 8ms) << "45 ms between arrivals, 37 ms between departures";
}

TEST(GccPacketGroups, ABurstAfterAnOutageIsOneGroup) {
  GccPacketGroups groups;
  EXPECT_FALSE(groups.handle_packet({at(0ms), at(20ms)}));
  // Sent every 20 ms during an outage, delivered 1 ms apart at 500 ms and after.
  for (int i = 1; i <= 20; ++i) {
    const auto told = groups.handle_packet({at(i * 20ms), at(500ms + i * 1ms)});
    EXPECT_FALSE(told) << i;
  }
  EXPECT_EQ(groups.handle_packet({at(600ms), at(620ms)}),
            (GccGroupVariation{.sent_gap = 400ms, .arrival_gap = 500ms, .arrived = at(520ms)}))
      << "one growth of 100 ms, not twenty";
}

TEST(GccPacketGroups, ReorderedPacketsAndGroupsAreIgnored) {
  GccPacketGroups groups;
  EXPECT_FALSE(groups.handle_packet({at(100ms), at(120ms)}));
  EXPECT_FALSE(groups.handle_packet({at(50ms), at(121ms)})) << "left out";
  EXPECT_FALSE(groups.handle_packet({at(150ms), at(115ms)}));
  EXPECT_FALSE(groups.handle_packet({at(200ms), at(220ms)})) << "the last group came too early";
  EXPECT_TRUE(groups.handle_packet({at(250ms), at(270ms)}));
}

// ---- Arrival-time filter, §5.3 ----

GccGroupVariation varied(Duration variation, Duration gap = 33'333'333ns) {
  return {.sent_gap = gap, .arrival_gap = gap + variation, .arrived = {}};
}

TEST(GccArrivalFilter, FirstStepsAreTheDraftsFormulasWorkedByHand) {
  // Groups 1/30 s apart: the exponent 30 / (1000 f_max) is 1 and alpha is 1 - chi = 0.9.
  GccArrivalFilter filter{
      {.state_noise = 1e-3, .initial_error = 0.1, .chi = 0.1, .initial_noise = 10.0}};
  filter.handle_variation(varied(4ms));
  // z = 4; var = 0.9 * 10 + 0.1 * 16 = 10.6; k = 0.101 / 10.701; m = 4 k.
  EXPECT_NEAR(filter.noise_variance(), 10.6, 1e-6);
  EXPECT_NEAR(filter.gradient_ms(), 4 * 0.101 / 10.701, 1e-9);
  const double m1 = filter.gradient_ms();
  const double e1 = (1 - 0.101 / 10.701) * 0.101;
  filter.handle_variation(varied(-2ms));
  const double z2 = -2 - m1;
  const double var2 = 0.9 * 10.6 + 0.1 * z2 * z2;
  const double k2 = (e1 + 1e-3) / (var2 + e1 + 1e-3);
  EXPECT_NEAR(filter.noise_variance(), var2, 1e-6);
  EXPECT_NEAR(filter.gradient_ms(), m1 + z2 * k2, 1e-9);
}

TEST(GccArrivalFilter, AnOutlierCountsAsThreeStandardDeviations) {
  const GccArrivalFilterOptions options{
      .state_noise = 1e-3, .initial_error = 0.1, .chi = 0.1, .initial_noise = 4.0};
  GccArrivalFilter spiked{options};
  GccArrivalFilter cut{options};
  spiked.handle_variation(varied(1s));
  cut.handle_variation(varied(6ms));  // 3 * sqrt(4)
  EXPECT_EQ(spiked.gradient_ms(), cut.gradient_ms());
  EXPECT_EQ(spiked.noise_variance(), cut.noise_variance());
}

TEST(GccArrivalFilter, TheNoiseNeverFallsBelowOne) {
  GccArrivalFilter filter;
  for (int i = 0; i < 5'000; ++i) {
    filter.handle_variation(varied(0ms));
  }
  EXPECT_EQ(filter.noise_variance(), 1);
}

TEST(GccArrivalFilter, FollowsASteadyGradientThroughNoise) {
  GccArrivalFilter filter;
  Rng rng{1};
  for (int i = 0; i < 3'000; ++i) {
    filter.handle_variation(varied(from_seconds(1e-3 * (0.5 + 2 * rng.normal()))));
  }
  EXPECT_NEAR(filter.gradient_ms(), 0.5, 0.35);
}

TEST(GccTrendline, TheSlopeOfALineIsItsGainTimesTheSlope) {
  GccTrendline trendline{{.window = 20, .smoothing = 0.0, .gain = 4.0}};
  for (int i = 0; i < 19; ++i) {
    trendline.handle_variation({.sent_gap = 30ms, .arrival_gap = 33ms, .arrived = {}});
  }
  EXPECT_EQ(trendline.gradient(), 0) << "the window is not full";
  trendline.handle_variation({.sent_gap = 30ms, .arrival_gap = 33ms, .arrived = {}});
  EXPECT_NEAR(trendline.gradient(), 4 * 3.0 / 33.0, 1e-9);
}

// ---- Over-use detector, §5.4 ----

TEST(GccOveruseDetector, SignalsAfterItsTimeAndOnlyWhileTheGradientGrows) {
  GccOveruseDetector detector;
  EXPECT_EQ(detector.handle_gradient(at(0ms), 13), GccUsage::kNormal) << "not for 10 ms yet";
  EXPECT_EQ(detector.handle_gradient(at(9ms), 14), GccUsage::kNormal);
  EXPECT_EQ(detector.handle_gradient(at(12ms), 13.5), GccUsage::kNormal) << "it falls";
  EXPECT_EQ(detector.handle_gradient(at(20ms), 14), GccUsage::kOveruse);
  EXPECT_EQ(detector.handle_gradient(at(53ms), 3), GccUsage::kNormal);
  EXPECT_EQ(detector.handle_gradient(at(86ms), -20), GccUsage::kUnderuse);
}

TEST(GccOveruseDetector, TheThresholdMovesAsTheDraftSays) {
  GccOveruseDetector detector{GccDetectorOptions::draft()};
  detector.handle_gradient(at(0ms), 12.5);
  // Below: 12.5 + 50 * 0.00018 * (2.5 - 12.5) = 12.41.
  detector.handle_gradient(at(50ms), -2.5);
  EXPECT_NEAR(detector.threshold_ms(), 12.41, 1e-9);
  // Above: 12.41 + 50 * 0.01 * (22.41 - 12.41) = 17.41.
  detector.handle_gradient(at(100ms), 22.41);
  EXPECT_NEAR(detector.threshold_ms(), 17.41, 1e-9);
  // More than 15 beyond it: a spike.
  detector.handle_gradient(at(150ms), 17.41 + 15.1);
  EXPECT_NEAR(detector.threshold_ms(), 17.41, 1e-9);
}

TEST(GccOveruseDetector, TheThresholdStaysBetweenItsBounds) {
  const GccDetectorOptions options;
  GccOveruseDetector detector;
  Duration now{};
  for (int i = 0; i < 100'000; ++i) {
    detector.handle_gradient(at(now += 50ms), 0);
  }
  EXPECT_EQ(detector.threshold_ms(), options.threshold_min_ms);
  for (int i = 0; i < 100'000; ++i) {
    detector.handle_gradient(at(now += 50ms), detector.threshold_ms() + 14);
  }
  EXPECT_EQ(detector.threshold_ms(), options.threshold_max_ms);
}

TEST(GccOveruseDetector, TimesThatGoBackCountAsNow) {
  GccOveruseDetector detector;
  detector.handle_gradient(at(100ms), 20);
  detector.handle_gradient(at(50ms), 21);
  EXPECT_EQ(detector.handle_gradient(at(112ms), 22), GccUsage::kOveruse);
}

// ---- Incoming rate and AIMD, §5.5 ----

TEST(GccIncomingRate, IsWhatArrivedInHalfASecond) {
  GccIncomingRate incoming;
  for (int i = 0; i <= 100; ++i) {  // 1000 bytes every 10 ms: 800 kbit/s
    incoming.handle_arrival(at(i * 10ms), DataSize{1000});
    EXPECT_EQ(incoming.rate().has_value(), i >= 25);
  }
  EXPECT_EQ(incoming.rate(), kbps(800));
}

using State = GccDelayControl::State;

TEST(GccDelayControl, GoesThroughTheDraftsStates) {
  GccDelayControl control;
  const auto state = [&](Duration now, GccUsage usage) {
    control.update(at(now), usage, kbps(300), 50ms);
    return control.state();
  };
  EXPECT_EQ(control.state(), State::kHold);
  EXPECT_EQ(state(0s, GccUsage::kNormal), State::kIncrease);
  EXPECT_EQ(state(1s, GccUsage::kNormal), State::kIncrease);
  EXPECT_EQ(state(2s, GccUsage::kUnderuse), State::kHold);
  EXPECT_EQ(state(3s, GccUsage::kUnderuse), State::kHold);
  EXPECT_EQ(state(4s, GccUsage::kOveruse), State::kDecrease);
  EXPECT_EQ(state(5s, GccUsage::kOveruse), State::kDecrease);
  EXPECT_EQ(state(6s, GccUsage::kNormal), State::kHold);
  EXPECT_EQ(state(7s, GccUsage::kNormal), State::kIncrease);
  EXPECT_EQ(state(8s, GccUsage::kOveruse), State::kDecrease);
  EXPECT_EQ(state(9s, GccUsage::kUnderuse), State::kHold);
}

TEST(GccDelayControl, RisesEightPerCentASecondWhereTheLimitIsUnknown) {
  GccDelayControl control;
  control.update(at(0s), GccUsage::kNormal, kbps(5000), 50ms);
  for (int i = 1; i <= 20; ++i) {
    control.update(at(i * 50ms), GccUsage::kNormal, kbps(5000), 50ms);
  }
  EXPECT_NEAR(control.estimate().kilobits_per_second(), 300 * 1.08, 0.1);
  // After a silence of ten seconds, one second's worth (§5.5).
  control.update(at(11s), GccUsage::kNormal, kbps(5000), 50ms);
  EXPECT_NEAR(control.estimate().kilobits_per_second(), 300 * 1.08 * 1.08, 0.1);
}

TEST(GccDelayControl, DecreasesToAShareOfArrivalsThenRisesAdditively) {
  GccDelayControl control{{.start = kbps(1000)}};
  control.update(at(0s), GccUsage::kNormal, kbps(900), 100ms);
  control.update(at(1s), GccUsage::kOveruse, kbps(800), 100ms);
  EXPECT_EQ(control.estimate(), kbps(680));
  EXPECT_TRUE(control.near_convergence());
  control.update(at(1100ms), GccUsage::kNormal, kbps(690), 100ms);  // Hold
  control.update(at(1200ms), GccUsage::kNormal, kbps(690), 100ms);  // Increase, from now on
  const auto before = static_cast<double>(control.estimate().bits_per_second());
  control.update(at(1300ms), GccUsage::kNormal, kbps(690), 100ms);
  // 22 667 bits a frame are three packets of 7556; 100 ms are half of a response time of 200 ms.
  const double rise = 0.5 * 0.5 * (before / 30 / 3);
  EXPECT_NEAR(static_cast<double>(control.estimate().bits_per_second()), before + rise, 1.5);
}

TEST(GccDelayControl, ForgetsTheLimitWhenMoreArrivesThanEverBefore) {
  GccDelayControl control{{.start = kbps(1000)}};
  control.update(at(0s), GccUsage::kOveruse, kbps(1000), 50ms);
  control.update(at(1s), GccUsage::kNormal, kbps(800), 50ms);
  control.update(at(2s), GccUsage::kNormal, kbps(800), 50ms);
  ASSERT_TRUE(control.near_convergence());
  // Three deviations: 3 sqrt(0.4 * 1000) = 60 kbit/s.
  control.update(at(3s), GccUsage::kNormal, kbps(1059), 50ms);
  EXPECT_TRUE(control.near_convergence());
  control.update(at(4s), GccUsage::kNormal, kbps(1061), 50ms);
  EXPECT_FALSE(control.near_convergence());
}

TEST(GccDelayControl, DoesNotRiseFarAboveWhatArrivesNorLowersForThat) {
  GccDelayControl control{{.start = kbps(1000)}};
  for (int i = 0; i < 600; ++i) {
    control.update(at(i * 100ms), GccUsage::kNormal, kbps(1000), 50ms);
  }
  EXPECT_EQ(control.estimate(), kbps(1510));
  control.update(at(61s), GccUsage::kNormal, kbps(100), 50ms);
  EXPECT_EQ(control.estimate(), kbps(1510));
}

TEST(GccDelayControl, StaysWithinItsBoundsWhateverIsReported) {
  const GccDelayControlOptions options;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    GccDelayControl control;
    Rng rng{seed};
    TimePoint now = kTimeZero;
    for (int i = 0; i < 3'000; ++i) {
      now += std::chrono::milliseconds{rng.below(400)};
      const auto usage = static_cast<GccUsage>(rng.below(3));
      const DataRate incoming =
          kbps(static_cast<int64_t>(rng.below(rng.chance(0.5) ? 60 : 90'000)));
      control.update(now, usage, rng.chance(0.1) ? std::nullopt : std::optional{incoming},
                     std::chrono::milliseconds{rng.below(20'000)});
      ASSERT_GE(control.estimate(), options.floor) << "seed " << seed;
      ASSERT_LE(control.estimate(), options.ceiling) << "seed " << seed;
    }
  }
}

// ---- Loss, §6 ----

TEST(GccLossControl, RisesHoldsAndLowersByTheLossReported) {
  const auto after = [](int64_t lost) {
    GccLossControl control{kbps(1000)};
    control.handle_feedback(at(0s), 0, 0, kbps(5000));
    control.handle_feedback(at(1s), lost, 100, kbps(5000));
    return control.estimate();
  };
  EXPECT_EQ(after(0), kbps(1050));
  EXPECT_EQ(after(1), kbps(1050));
  EXPECT_EQ(after(2), kbps(1000));
  EXPECT_EQ(after(10), kbps(1000));
  EXPECT_EQ(after(20), kbps(900));
  EXPECT_EQ(after(100), kbps(500));
}

TEST(GccLossControl, WaitsForAWholeReportAndNeverPassesItsLimit) {
  GccLossControl control{kbps(1000)};
  for (int i = 0; i < 9; ++i) {
    control.handle_feedback(at(i * 50ms), 5, 10, kbps(1000));
  }
  EXPECT_EQ(control.estimate(), kbps(1000)) << "half a second is not over";
  control.handle_feedback(at(500ms), 5, 10, kbps(1000));
  EXPECT_EQ(control.estimate(), kbps(750));
  for (int i = 0; i < 100; ++i) {
    control.handle_feedback(at(1s + i * 1s), 0, 100, kbps(1000));
  }
  EXPECT_EQ(control.estimate(), kbps(1000));
}

// ---- All of it over a modelled path ----

/// A queue in front of a steady link, fed at the estimator's target; feedback every 50 ms, 20 ms
/// each way.
class Path {
 public:
  explicit Path(GccEstimatorOptions options = {}) : estimator(options) {}

  /// Sends 1200-byte packets at the target for `length` over a link of `capacity`, of which other
  /// traffic takes `competing`; a share `loss` is lost before the queue.
  void run(Duration length, DataRate capacity, double loss = 0, DataRate competing = {}) {
    const TimePoint end = now + length;
    while (now < end) {
      const TimePoint step_end = now + 50ms;
      while (next_send < step_end) {
        estimator.handle_sent(next_send);
        GccPacketResult packet{.sent = next_send, .arrived = {}, .size = DataSize{1200}};
        if (!rng.chance(loss)) {
          busy_until = std::max(busy_until, next_send) + DataSize{1200} / (capacity - competing);
          packet.arrived = busy_until + 20ms;
        }
        out.push_back(packet);
        next_send += DataSize{1200} / estimator.target();
      }
      now = step_end;
      std::vector<GccPacketResult> told;
      while (!out.empty() && (!out.front().arrived || *out.front().arrived + 20ms <= now)) {
        told.push_back(out.front());
        out.erase(out.begin());
      }
      if (!told.empty()) {
        estimator.handle_feedback(now, told, 40ms + queue());
      } else if (now >= estimator.poll_timeout()) {
        estimator.handle_timeout(now);
      }
      worst_queue = std::max(worst_queue, queue());
    }
  }
  Duration queue() const { return std::max(Duration{}, busy_until - now); }

  GccEstimator estimator;
  Rng rng{7};
  TimePoint now = kTimeZero;
  TimePoint next_send = kTimeZero;
  TimePoint busy_until = kTimeZero;
  std::vector<GccPacketResult> out;
  Duration worst_queue{};
};

GccEstimatorOptions draft_filter() {
  GccEstimatorOptions options;
  options.filter = GccEstimatorOptions::Filter::kKalman;
  options.detector = GccDetectorOptions::draft();
  return options;
}

TEST(GccEstimator, RampsUpToWhatTheLinkCarriesAndKeepsTheQueueShort) {
  for (const auto& options : {draft_filter(), GccEstimatorOptions{}}) {
    Path path{options};
    path.run(5s, kbps(2000));
    EXPECT_GT(path.estimator.target(), kbps(380)) << "8 % a second";
    EXPECT_LT(path.estimator.target(), kbps(520));
    path.run(55s, kbps(2000));
    EXPECT_GT(path.estimator.target(), kbps(1500));
    EXPECT_LT(path.estimator.target(), kbps(2200));
    EXPECT_LT(path.worst_queue, 700ms);
  }
}

TEST(GccEstimator, GivesWayWithinTwoSecondsWhenTheLinkFalls) {
  for (const auto& options : {draft_filter(), GccEstimatorOptions{}}) {
    Path path{options};
    path.run(40s, kbps(1500));
    ASSERT_GT(path.estimator.target(), kbps(1100));
    path.run(2s, kbps(500));
    EXPECT_LT(path.estimator.target(), kbps(500));
    path.run(8s, kbps(500));
    EXPECT_LT(path.queue(), 500ms);
  }
}

TEST(GccEstimator, YieldsToCompetingTrafficAndRecovers) {
  Path path;
  path.run(40s, kbps(1500));
  path.run(20s, kbps(1500), 0, kbps(900));
  EXPECT_LT(path.estimator.target(), kbps(750));
  EXPECT_LT(path.queue(), 500ms);
  path.run(40s, kbps(1500));
  EXPECT_GT(path.estimator.target(), kbps(1000));
}

TEST(GccEstimator, HeavyLossLowersLightLossDoesNot) {
  Path light;
  light.run(40s, kbps(1500));
  const DataRate before = light.estimator.target();
  light.run(20s, kbps(1500), 0.01);
  EXPECT_GT(light.estimator.target(), before * 0.75);
  Path heavy;
  heavy.run(40s, kbps(1500));
  heavy.run(20s, kbps(1500), 0.25);
  EXPECT_LT(heavy.estimator.target(), before * 0.4);
}

TEST(GccEstimator, FallsEverySecondWithoutFeedback) {
  const GccEstimatorOptions options;
  GccEstimator estimator{options};
  estimator.handle_sent(at(0s));
  EXPECT_EQ(estimator.poll_timeout(), at(3s));
  estimator.handle_timeout(at(3s));
  EXPECT_EQ(estimator.target(), kbps(240));
  estimator.handle_timeout(at(4s));
  EXPECT_EQ(estimator.target(), kbps(192));
  for (int second = 5; second < 60; ++second) {
    estimator.handle_timeout(at(second * 1s));
  }
  EXPECT_EQ(estimator.target(), options.delay.floor);
}

}  // namespace
}  // namespace cress::schemes
