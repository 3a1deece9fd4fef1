// Goal: each rule of the parts of Cress's forecast, with its constants, at its limit and just
// beyond.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "transport/control/cress/exposure_history.hh"
#include "transport/control/cress/gamma_belief.hh"
#include "transport/control/cress/recent_least.hh"
#include "transport/control/cress/reordering.hh"
#include "transport/control/cress/reverse_path.hh"
#include "transport/control/cress/silences.hh"
#include "transport/control/cress/transit_watch.hh"

namespace cress::control {
namespace {

TEST(GammaBelief, BeginsWithItsPrior) {
  GammaBelief belief{{}};
  EXPECT_DOUBLE_EQ(belief.mean_rate(), 40);
  belief.observe(3);  // in addition to the one packet in 25 ms that the prior is worth
  EXPECT_DOUBLE_EQ(belief.mean_rate(), 160);
}

TEST(GammaBelief, BusyTimeHalvesEvidenceAndAddsExposure) {
  GammaBelief belief{{}};
  belief.observe(9);  // 10 packets in 25 ms
  belief.pass_busy(200ms);
  // The exposure of the last 200 ms, each moment discounted by its age.
  const double exposure = 0.025 / 2 + 0.2 / 2 / std::numbers::ln2;
  EXPECT_NEAR(belief.mean_rate(), 5 / exposure, 1e-9);
  belief.pass_busy(Duration{});
  EXPECT_NEAR(belief.mean_rate(), 5 / exposure, 1e-9);
}

TEST(GammaBelief, BusyTimeInPiecesIsTheSame) {
  GammaBelief whole{{}};
  GammaBelief pieces{{}};
  whole.pass_busy(150ms);
  for (int i = 0; i < 150; ++i) {
    pieces.pass_busy(1ms);
  }
  EXPECT_NEAR(whole.mean_rate(), pieces.mean_rate(), 1e-9);
}

TEST(GammaBelief, IdleTimeHalvesCertaintyInASecond) {
  GammaBelief belief{{}};
  belief.observe(29);  // 30 packets in 25 ms, a shape of 20
  belief.pass_idle(1s);
  EXPECT_NEAR(belief.mean_rate(), 1200, 1e-9);
  belief.observe(15);  // as many as remain
  EXPECT_NEAR(belief.mean_rate(), 2400, 1e-9);
}

TEST(GammaBelief, IdleTimeLeavesAShapeOfOne) {
  GammaBelief belief{{}};
  belief.observe(29);
  belief.pass_idle(1h);
  belief.observe(1.5);  // a shape of one more
  EXPECT_NEAR(belief.mean_rate(), 2400, 1e-9);
  // Less than that to begin with: it stays as it is.
  GammaBelief young{{}};
  young.pass_idle(1h);
  young.observe(1);
  EXPECT_NEAR(young.mean_rate(), 80, 1e-9);
}

/// P(X <= x) for a gamma variable of this shape and scale 1, by the trapezoid rule.
double gamma_cdf(double shape, double x) {
  constexpr int kSteps = 20'000;
  double sum = 0;
  for (int i = 1; i <= kSteps; ++i) {
    const double at = x * i / kSteps;
    const double density = std::exp((shape - 1) * std::log(at) - at - std::lgamma(shape));
    sum += i == kSteps ? density / 2 : density;
  }
  return sum * x / kSteps;
}

TEST(GammaBelief, DeliveriesAreAQuantileOfThePrediction) {
  for (const double certainty : {4.0, 30.0, 400.0}) {
    for (const double burstiness : {1.0, 1.5, 3.0}) {
      const GammaBelief belief{
          {.burstiness = burstiness, .prior_rate = 300, .prior_packets = certainty}};
      for (const auto& [normal, probability] :
           {std::pair{-0.674, 0.25}, std::pair{0.0, 0.5}, std::pair{0.674, 0.75}}) {
        // In units of `burstiness` packets deliveries are Poisson with a gamma rate: mean m,
        // variance m + m²/a; the gamma of the same moments.
        const double mean = 300 * 0.1 / burstiness;
        const double variance = mean + mean * mean / (certainty / burstiness);
        const double x = belief.deliveries(100ms, normal) / burstiness * mean / variance;
        EXPECT_NEAR(gamma_cdf(mean * mean / variance, x), probability, 0.01)
            << certainty << " " << burstiness;
      }
    }
  }
}

TEST(GammaBelief, DeliveriesAreNeverNegative) {
  const GammaBelief belief{{}};
  EXPECT_EQ(belief.deliveries(Duration{}, 5), 0);
  EXPECT_EQ(belief.deliveries(10ms, -10), 0);
  EXPECT_GT(belief.deliveries(10ms, 0), 0);
}

/// So many tenths of a second of busy time that deliver exactly what was expected.
void deliver_as_expected(GammaBelief& belief, int tenths) {
  for (int i = 0; i < tenths; ++i) {
    const double expected = belief.mean_rate() * 0.1;
    belief.pass_busy(100ms);
    belief.observe(expected);
  }
}

// What the belief's own uncertainty adds to the variance of a tenth of a second: it then knows as
// much as 200 ms / ln 2 of deliveries tell.
const double kUncertainty = 1 + 0.1 * std::numbers::ln2 / 0.2;

TEST(GammaBelief, BurstinessFollowsTheErrorsOfTenthsOfASecond) {
  GammaBelief belief{{}};
  EXPECT_EQ(belief.burstiness(), 1.5);
  deliver_as_expected(belief, 60);
  // 30 comparisons that found 1.5, each kept by 0.98 a comparison, and a margin of a fifth.
  const double kept = std::pow(0.98, 60);
  const double errors = 45 * kept;
  const double blocks = 30 * kept + (1 - kept) / 0.02;
  EXPECT_NEAR(belief.burstiness(), 1.2 * errors / blocks, 1e-9);

  // Less than a tenth is no comparison; with the rest of it, five packets too many are an error.
  const double rate = belief.mean_rate();
  belief.pass_busy(50ms);
  belief.observe(rate * 0.05 + 5);
  EXPECT_NEAR(belief.burstiness(), 1.2 * errors / blocks, 1e-9);
  belief.pass_busy(50ms);
  belief.observe(rate * 0.05);
  const double error = 25 / (rate * 0.1 * kUncertainty);
  EXPECT_NEAR(belief.burstiness(), 1.2 * (0.98 * errors + error) / (0.98 * blocks + 1), 1e-6);
}

TEST(GammaBelief, AnHourOfOutageLeavesNumbers) {
  GammaBelief belief{{}};
  for (int i = 0; i < 3600; ++i) {
    belief.pass_busy(1s);
    belief.observe(0);
  }
  EXPECT_EQ(belief.mean_rate(), 0) << "halved more often than a double can be";
  EXPECT_GE(belief.burstiness(), 0.2);
  belief.pass_busy(100ms);
  belief.observe(10);
  EXPECT_GT(belief.deliveries(100ms, 0), 1);
}

TEST(GammaBelief, BurstinessHasBounds) {
  GammaBelief belief{{}};
  deliver_as_expected(belief, 500);
  EXPECT_EQ(belief.burstiness(), 0.2);
  belief.pass_busy(100ms);
  belief.observe(1000);
  EXPECT_EQ(belief.burstiness(), 1.5);
  EXPECT_EQ((GammaBelief{{.burstiness = 0.1}}.burstiness()), 0.1);
}

TEST(GammaBelief, ErrorsOnASlowLinkAreInUnitsOfHalfAPacket) {
  GammaBelief belief{{.prior_rate = 0.001}};
  deliver_as_expected(belief, 60);
  const double expected = belief.mean_rate() * 0.1;
  belief.pass_busy(100ms);
  belief.observe(expected + 1);
  const double kept = std::pow(0.98, 61);
  const double blocks = 30 * kept + (1 - kept) / 0.02;
  EXPECT_NEAR(belief.burstiness(), 1.2 * (45 * kept + 1 / (0.5 * kUncertainty)) / blocks, 1e-6);
}

TEST(GammaBelief, MoreIsSureOfAnEvenLink) {
  GammaBelief even{{}};
  GammaBelief bursty{{}};
  for (int i = 0; i < 3000; ++i) {  // 100 packets a second; or tenths of 20 and of none
    even.pass_busy(10ms);
    even.observe(1);
    bursty.pass_busy(10ms);
    bursty.observe(i % 20 == 0 ? 20 : 0);
  }
  EXPECT_EQ(bursty.burstiness(), 1.5);
  EXPECT_NEAR(even.mean_rate(), 100, 2);
  EXPECT_GT(even.deliveries(60ms, -0.674), 0.85 * 6);
  EXPECT_LT(bursty.deliveries(60ms, -0.674) / bursty.mean_rate(), 0.75 * 0.06);
}

TEST(GammaBelief, RefusesOptionsOutOfRange) {
  EXPECT_DEATH(GammaBelief{{.busy_half_life = 0ms}}, "out of range");
  EXPECT_DEATH(GammaBelief{{.idle_half_life = 0ms}}, "out of range");
  EXPECT_DEATH(GammaBelief{{.burstiness = 0}}, "out of range");
  EXPECT_DEATH(GammaBelief{{.prior_rate = 0}}, "out of range");
  EXPECT_DEATH(GammaBelief{{.prior_packets = 0}}, "out of range");
  GammaBelief{{.busy_half_life = 1ns,
               .idle_half_life = 1ns,
               .burstiness = 1e-9,
               .prior_rate = 1e-9,
               .prior_packets = 1e-9}};
}

/// A history and the intervals that a report yields, as (microseconds, busy, packets,
/// replaces_silence).
class ExposureHistoryRules : public testing::Test {
 protected:
  struct Stretch {
    int64_t us = 0;
    bool busy = false;
    double packets = 0;
    bool replaces_silence = false;
    friend bool operator==(const Stretch&, const Stretch&) = default;
  };
  static TimePoint at(Duration since_start) { return kTimeZero + 1s + since_start; }

  void send(Duration now, uint64_t sequence, int64_t size = 1500) {
    history_.on_sent(at(now), sequence, DataSize{size - 44});
  }
  std::vector<Stretch> report(Duration made_at,
                              const std::vector<std::pair<uint64_t, Duration>>& arrived,
                              bool in_doubt = true) {
    std::vector<ArrivalStamp> stamps;
    for (const auto& [sequence, when] : arrived) {
      stamps.push_back({sequence, at(when)});
    }
    std::vector<Stretch> stretches;
    is_news_ =
        history_.handle_report(at(made_at), at(made_at), stamps, in_doubt, [&](const Exposure& e) {
          stretches.push_back({e.elapsed / 1us, e.busy, e.packets, e.replaces_silence});
        });
    return stretches;
  }
  /// 20 ms is the base delay, 20 ms the newest report.
  void begin() {
    send(0ms, 0);
    report(20ms, {{0, 20ms}});
  }

  ExposureHistory history_;
  bool is_news_ = false;
};

TEST_F(ExposureHistoryRules, FirstReportBeginsWithItsFirstArrival) {
  send(0ms, 0);
  EXPECT_EQ(report(50ms, {{0, 20ms}}), (std::vector<Stretch>{{0, true, 1}, {30'000, false, 0}}));
  EXPECT_EQ(history_.base_delay(), Duration{20ms});
  EXPECT_EQ(history_.last_arrival(), at(20ms));
  EXPECT_EQ(history_.newest_arrived_sent(), at(0ms));
}

TEST_F(ExposureHistoryRules, NothingIsKnownBeforeTheFirstArrival) {
  send(0ms, 0);
  EXPECT_TRUE(report(15ms, {}).empty());
  EXPECT_TRUE(is_news_);
  EXPECT_EQ(history_.reported_until(), at(15ms));
  EXPECT_EQ(history_.base_delay(), std::nullopt);
  EXPECT_EQ(report(30ms, {{0, 20ms}}),
            (std::vector<Stretch>{{5'000, false, 0}, {0, true, 1}, {10'000, false, 0}}));
}

TEST_F(ExposureHistoryRules, ReportThatIsNotNewerIsIgnored) {
  begin();
  send(30ms, 100);
  EXPECT_TRUE(report(20ms, {{100, 20ms}}).empty());
  EXPECT_FALSE(is_news_);
  EXPECT_EQ(history_.outstanding().size(), 1U);
  report(20ms + 1us, {});
  EXPECT_TRUE(is_news_);
  EXPECT_EQ(history_.reported_until(), at(20ms + 1us));
}

TEST_F(ExposureHistoryRules, ArrivalAfterItsReportIsIgnored) {
  begin();
  send(30ms, 100);
  report(60ms, {{100, 60ms + 1us}});
  EXPECT_EQ(history_.outstanding().size(), 1U);
  EXPECT_EQ(history_.last_arrival(), at(20ms));
  send(31ms, 200);
  report(61ms, {{200, 61ms}});
  EXPECT_EQ(history_.outstanding().size(), 0U);
}

TEST_F(ExposureHistoryRules, UnknownAndRepeatedArrivalsAreIgnored) {
  begin();
  send(30ms, 100);
  send(31ms, 200);
  EXPECT_EQ(report(51ms, {{0, 20ms}, {99, 40ms}, {101, 41ms}, {100, 51ms}, {300, 51ms}}),
            (std::vector<Stretch>{{30'000, false, 0}, {1'000, true, 1}}));
  ASSERT_EQ(history_.outstanding().size(), 1U);
  EXPECT_EQ(history_.outstanding().front().sequence, 200U);
  EXPECT_EQ(history_.outstanding_size(), DataSize{1500});
}

TEST_F(ExposureHistoryRules, BaseDelayIsTheLeastOfAll) {
  begin();
  send(30ms, 100);
  send(40ms, 200);
  report(70ms, {{100, 55ms}, {200, 58ms}});
  EXPECT_EQ(history_.base_delay(), Duration{18ms});
  EXPECT_EQ(history_.last_arrival(), at(58ms));
  EXPECT_EQ(history_.newest_arrived_sent(), at(40ms));
}

TEST_F(ExposureHistoryRules, BaseDelayIsForgottenAfterTwoSpansOf20Seconds) {
  begin();
  send(25s, 100);
  report(25s + 50ms, {{100, 25s + 30ms}});
  EXPECT_EQ(history_.base_delay(), Duration{20ms});
  send(38s, 200);
  report(38s + 50ms, {{200, 38s + 30ms}});
  EXPECT_EQ(history_.base_delay(), Duration{20ms}) << "the second span ends at 40 s + 1 s of start";
  send(45s, 300);
  report(45s + 50ms, {{300, 45s + 30ms}});
  EXPECT_EQ(history_.base_delay(), Duration{30ms});
}

TEST_F(ExposureHistoryRules, ArrivalsWithin300MicrosecondsShareAnOpportunity) {
  begin();
  send(30ms, 100, 600);
  send(30ms, 200, 600);
  EXPECT_EQ(report(55ms, {{100, 54'000us}, {200, 54'300us}}),
            (std::vector<Stretch>{{30'000, false, 0}, {4'300, true, 1}, {700, false, 0}}));
  send(80ms, 300, 600);
  send(80ms, 400, 600);
  EXPECT_EQ(report(105ms, {{300, 104'000us}, {400, 104'301us}}),
            (std::vector<Stretch>{
                {45'000, false, 0}, {4'000, true, 0.4}, {301, true, 1}, {699, false, 0}}));
}

TEST_F(ExposureHistoryRules, OpportunityIsWholeOnlyIfNothingElseHadReachedTheLink) {
  begin();
  send(30ms, 100, 600);
  send(35ms, 200, 600);  // reaches the link at 55
  EXPECT_EQ(report(55ms, {{100, 55ms - 1us}})[1], (Stretch{4'999, true, 1}));
  send(80ms, 300, 600);
  send(85ms, 400, 600);  // at 105 it was just too late, or the clock is not that exact
  EXPECT_EQ(report(105'300us, {{200, 60ms}, {300, 105'300us}}).back(), (Stretch{5'300, true, 1}));
  send(130ms, 500, 600);
  send(135ms, 600, 600);
  EXPECT_EQ(report(155'301us, {{400, 110ms}, {500, 155'301us}}).back(),
            (Stretch{5'301, true, 0.4}));
  // The same if the next one is in the same report.
  send(180ms, 700, 600);
  send(185ms, 800, 600);
  const auto both = report(220ms, {{600, 160ms}, {700, 205'301us}, {800, 210ms}});
  ASSERT_EQ(both.size(), 5U);
  EXPECT_EQ(both[2], (Stretch{5'301, true, 0.4}));
  EXPECT_EQ(both[3], (Stretch{4'699, true, 1}));
}

TEST_F(ExposureHistoryRules, FullOpportunitiesAreNotRoundedUp) {
  begin();
  send(30ms, 100, 1000);
  send(30ms, 200, 1000);
  send(30ms, 300, 1000);
  EXPECT_EQ(report(55ms, {{100, 55ms}, {200, 55ms}, {300, 55ms}})[1], (Stretch{5'000, true, 2}));
}

TEST_F(ExposureHistoryRules, OvertakenDatagramIsNoLongerOutstanding) {
  begin();
  send(30ms, 100, 500);
  send(31ms, 200, 600);
  send(32ms, 300, 700);
  EXPECT_EQ(history_.outstanding_size(), DataSize{1800});
  report(60ms, {{200, 55ms}});
  EXPECT_EQ(history_.outstanding_size(), DataSize{700});
  EXPECT_EQ(history_.outstanding().front().sequence, 300U);
}

TEST_F(ExposureHistoryRules, FirstOvertakenDatagramShowsTheSpread) {
  begin();
  send(30ms, 100);
  send(34ms, 200);
  report(60ms, {{200, 54ms}});
  EXPECT_EQ(history_.reordering().spread(), 0ms);
  report(70ms, {{100, 62ms}});
  EXPECT_EQ(history_.reordering().spread(), 12ms) << "of transit more than the other";
  EXPECT_EQ(history_.base_delay(), 20ms);
}

TEST_F(ExposureHistoryRules, ABurstOfLossesReplacesWhatSeemedASilence) {
  begin();
  send(30ms, 100);  // lost
  EXPECT_EQ(report(100ms, {}), (std::vector<Stretch>{{30'000, false, 0}, {50'000, true, 0}}));
  send(100ms, 200);
  EXPECT_EQ(report(130ms, {{200, 125ms}}),
            (std::vector<Stretch>{{100'000, false, 0, true}, {5'000, true, 1}, {5'000, false, 0}}))
      << "from the delivery at 20 ms until the next one reached the link";
  send(130ms, 300);
  EXPECT_EQ(report(160ms, {}), (std::vector<Stretch>{{20'000, false, 0}, {10'000, true, 0}}));
  EXPECT_EQ(report(170ms, {{300, 170ms}}), (std::vector<Stretch>{{10'000, true, 1}}))
      << "nothing was lost: it waited";
  send(180ms, 400);  // lost
  report(250ms, {});
  send(250ms, 500);
  EXPECT_EQ(report(270ms, {{500, 270ms}}, false),
            (std::vector<Stretch>{{20'000, false, 0}, {0, true, 1}}))
      << "not in doubt";
}

TEST_F(ExposureHistoryRules, ABurstThatEndsBeforeItBeganIsIgnored) {
  begin();
  // A spread of 20 ms: what is sent counts as waiting from 40 ms after.
  send(30ms, 100);
  send(38ms, 200);
  report(80ms, {{200, 58ms}, {100, 70ms}});
  send(60ms, 300);  // lost
  report(120ms, {});
  send(80ms, 400);
  // By the peer's word it came earlier than the one before.
  for (const Stretch& stretch : report(130ms, {{400, 69ms}})) {
    EXPECT_GE(stretch.us, 0);
    EXPECT_FALSE(stretch.replaces_silence);
  }
}

TEST_F(ExposureHistoryRules, WithinTheReorderingTheOvertakenAreOutstanding) {
  begin();
  send(30ms, 100);
  send(38ms, 200);
  report(60ms, {{100, 59ms}, {200, 58ms}});  // a spread of 9 ms; sent 8 ms before: 11 with margin
  send(60ms, 300, 500);
  send(66ms, 400, 600);
  EXPECT_EQ(report(88ms, {{400, 87ms}}),
            (std::vector<Stretch>{{27'000, false, 0}, {0, true, 1}, {1'000, false, 0}}))
      << "the first is expected by 89 ms";
  EXPECT_EQ(history_.outstanding_size(), DataSize{500});
  report(94ms, {{300, 87'500us}});
  EXPECT_EQ(history_.outstanding_size(), DataSize{0});
  send(100ms, 500, 500);
  send(111ms, 600, 600);
  report(140ms, {{600, 135ms}});
  EXPECT_TRUE(history_.outstanding().empty()) << "lost: another was sent 11 ms later and is there";
}

TEST_F(ExposureHistoryRules, RepeatedLateArrivalCountsOnce) {
  begin();
  send(30ms, 100);
  send(34ms, 200);
  report(60ms, {{200, 54ms}});
  double packets = 0;
  for (const Duration made_at : {70ms, 80ms, 90ms}) {
    for (const Stretch& stretch : report(made_at, {{100, 62ms}, {200, 54ms}})) {
      packets += stretch.packets;
    }
  }
  EXPECT_EQ(packets, 1);
}

TEST_F(ExposureHistoryRules, OutstandingIsBounded) {
  for (uint64_t i = 0; i < 16'384; ++i) {
    send(0ms, i, 100);
  }
  EXPECT_EQ(history_.outstanding().front().sequence, 0U);
  send(0ms, 16'384, 100);
  EXPECT_EQ(history_.outstanding().size(), 16'384U);
  EXPECT_EQ(history_.outstanding().front().sequence, 1U);
  EXPECT_EQ(history_.outstanding_size(), DataSize{1'638'400});
}

TEST(ExposureHistory, CountsTheOverheadItIsGiven) {
  ExposureHistory usual;
  usual.on_sent(kTimeZero, 0, DataSize{100});
  EXPECT_EQ(usual.outstanding_size(), DataSize{144});
  ExposureHistory other{DataSize{7}};
  other.on_sent(kTimeZero, 0, DataSize{100});
  EXPECT_EQ(other.outstanding_size(), DataSize{107});
}

TEST(Reordering, InOrderArrivalsHaveNoSpread) {
  Reordering reordering;
  for (uint64_t i = 0; i < 200; ++i) {  // a queue that grows by 5 ms a datagram
    const TimePoint sent = kTimeZero + i * 10ms;
    reordering.handle_arrival(sent, i, sent, sent + i * 5ms, 0ms);
  }
  EXPECT_EQ(reordering.spread(), 0ms);
  EXPECT_EQ(reordering.sent_before_max(), 0ms);
}

TEST(Reordering, SpreadIsTheLongestTimeAfterALaterOne) {
  Reordering reordering;
  // Number 0 is still in the queue when 1 is sent.
  reordering.handle_arrival(kTimeZero, 0, kTimeZero - 10ms, kTimeZero + 41ms, 40ms);
  reordering.handle_arrival(kTimeZero, 2, kTimeZero + 20ms, kTimeZero + 60ms, 40ms);
  reordering.handle_arrival(kTimeZero, 3, kTimeZero + 24ms, kTimeZero + 65ms, 40ms);
  reordering.handle_arrival(kTimeZero, 1, kTimeZero, kTimeZero + 72ms, 40ms);
  EXPECT_EQ(reordering.spread(), 12ms);
  EXPECT_EQ(reordering.sent_before_max(), 31ms) << "24 ms, a quarter and 1 ms more";
}

TEST(Reordering, TimeBetweenSendingsCountsWhereNothingElseWaited) {
  Reordering reordering;
  reordering.handle_arrival(kTimeZero, 0, kTimeZero - 10ms, kTimeZero + 40ms, 40ms);
  reordering.handle_arrival(kTimeZero, 2, kTimeZero + 30ms, kTimeZero + 70ms, 40ms);
  reordering.handle_arrival(kTimeZero, 3, kTimeZero + 30ms + 1ns, kTimeZero + 71ms, 40ms);
  reordering.handle_arrival(kTimeZero, 1, kTimeZero, kTimeZero + 72ms, 40ms);
  EXPECT_EQ(reordering.spread(), 32ms);
}

TEST(Reordering, SpreadIsForgottenAndBounded) {
  Reordering reordering;
  reordering.handle_arrival(kTimeZero, 2, kTimeZero + 10s, kTimeZero, -10s);
  for (uint64_t i = 1; i <= 5; ++i) {
    reordering.handle_arrival(kTimeZero, 2 + i, kTimeZero + 10s, kTimeZero + i * 40ms, -10s);
  }
  reordering.handle_arrival(kTimeZero, 1, kTimeZero, kTimeZero + 200ms, -10s);
  EXPECT_EQ(reordering.spread(), 200ms);
  EXPECT_EQ(reordering.sent_before_max(), 251ms);
  reordering.handle_arrival(kTimeZero + 11s, 10, kTimeZero + 11s, kTimeZero + 11s, -10s);
  EXPECT_EQ(reordering.spread(), 200ms);
  reordering.handle_arrival(kTimeZero + 21s, 11, kTimeZero + 21s, kTimeZero + 21s, 0s);
  EXPECT_EQ(reordering.spread(), 0ms);
  EXPECT_EQ(reordering.sent_before_max(), 0ms);
}

// Number 1 and 2 change places, then a queue sends one every 83 ms.
TEST(Reordering, WaitingInASlowQueueAfterwardsIsNoJitter) {
  Reordering reordering;
  reordering.handle_arrival(kTimeZero, 0, kTimeZero - 10ms, kTimeZero + 41ms, 40ms);
  reordering.handle_arrival(kTimeZero, 2, kTimeZero + 10ms, kTimeZero + 124ms, 40ms);
  reordering.handle_arrival(kTimeZero, 3, kTimeZero + 11ms, kTimeZero + 126ms, 40ms);
  reordering.handle_arrival(kTimeZero, 1, kTimeZero, kTimeZero + 207ms, 40ms);
  EXPECT_EQ(reordering.spread(), 2ms);
  EXPECT_EQ(reordering.sent_before_max(), 14'750us) << "11 ms, a quarter and 1 ms more";
}

TEST(Reordering, StraysDoNotCount) {
  Reordering reordering;
  reordering.handle_arrival(kTimeZero, 2, kTimeZero + 10ms, kTimeZero + 30ms, 20ms);
  reordering.handle_arrival(kTimeZero, 1, kTimeZero, kTimeZero + 230ms + 1ns, 20ms);
  EXPECT_EQ(reordering.spread(), 0ms);
  EXPECT_EQ(reordering.sent_before_max(), 0ms);
}

/// 1 to 4 were sent in this order; 3 came first, 2 so much later.
Overtaking overtaking_of(Duration spread) {
  Overtaking overtaking;
  overtaking.handle_arrival(kTimeZero, 1);
  overtaking.handle_arrival(kTimeZero + 1s, 3);
  overtaking.handle_arrival(kTimeZero + 1s + spread, 2);
  return overtaking;
}

TEST(Overtaking, KnowsNothingOnAPathThatKeepsTheOrder) {
  Overtaking overtaking;
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 1h), 0U);
  overtaking.handle_arrival(kTimeZero, 1);
  overtaking.handle_arrival(kTimeZero + 1ms, 3);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 1h), 0U);
}

TEST(Overtaking, DecidesAfterFiveQuartersOfTheSpread) {
  Overtaking overtaking = overtaking_of(20ms);
  overtaking.handle_arrival(kTimeZero + 2s, 7);
  overtaking.handle_arrival(kTimeZero + 2s + 1ms, 6);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 2s + 26ms - 1ns), 3U);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 2s + 26ms), 7U);
}

TEST(Overtaking, DecidesAfterTenMillisecondsAtLeast) {
  Overtaking overtaking = overtaking_of(2ms);
  overtaking.handle_arrival(kTimeZero + 2s, 5);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 2s + 10ms - 1ns), 3U);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 2s + 10ms), 5U);
}

TEST(Overtaking, DuplicatesAndStraysDoNotCount) {
  Overtaking overtaking;
  overtaking.handle_arrival(kTimeZero, 1);
  overtaking.handle_arrival(kTimeZero, 3);
  overtaking.handle_arrival(kTimeZero + 5ms, 1);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 1s), 0U);
  overtaking.handle_arrival(kTimeZero + 200ms + 1ns, 2);
  overtaking.handle_arrival(kTimeZero + 300ms, 7);
  overtaking.handle_arrival(kTimeZero + 310ms, 6);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 1s), 7U) << "a stray is no spread";
  EXPECT_EQ(overtaking_of(200ms).decided_before(kTimeZero + 2s), 0U) << "no stray yet";
}

TEST(Overtaking, KnowsNothingWhereOpportunitiesPassBetween) {
  EXPECT_EQ(overtaking_of(40ms).decided_before(kTimeZero + 2s), 3U);
  EXPECT_EQ(overtaking_of(40ms + 1ns).decided_before(kTimeZero + 2s), 0U);
}

TEST(Overtaking, TheSpreadIsForgottenAfterTwoSpansOf10Seconds) {
  Overtaking overtaking = overtaking_of(20ms);
  overtaking.handle_arrival(kTimeZero + 12s, 5);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 13s), 5U);
  overtaking.handle_arrival(kTimeZero + 23s, 6);
  EXPECT_EQ(overtaking.decided_before(kTimeZero + 24s), 0U);
}

TEST(TransitWatch, FiveMillisecondsCountAsClear) {
  for (const auto& [late, clear] : {std::pair{5, true}, std::pair{6, false}}) {
    TransitWatch watch;
    watch.handle_arrival(kTimeZero + 1s, 900);
    watch.handle_arrival(kTimeZero + 1s, static_cast<uint16_t>(900 - late));
    EXPECT_EQ(watch.is_clear(kTimeZero + 1s + 1ms), clear) << late;
  }
}

TEST(TransitWatch, ClearIsKnownForHalfASecond) {
  TransitWatch watch;
  watch.handle_arrival(kTimeZero + 1s, 900);
  EXPECT_TRUE(watch.is_clear(kTimeZero + 1s));
  EXPECT_TRUE(watch.is_clear(kTimeZero + 1500ms - 1ns));
  EXPECT_FALSE(watch.is_clear(kTimeZero + 1500ms));
}

TEST(TransitWatch, WaitIsRememberedForHalfASecond) {
  TransitWatch watch;
  watch.handle_arrival(kTimeZero + 1s, 900);
  watch.handle_arrival(kTimeZero + 1010ms, 800);
  watch.handle_arrival(kTimeZero + 1400ms, 1300);
  EXPECT_FALSE(watch.is_clear(kTimeZero + 1510ms));
  EXPECT_TRUE(watch.is_clear(kTimeZero + 1510ms + 1ns));
}

TEST(TransitWatch, NothingIsKnownInTheFirstHalfSecond) {
  TransitWatch watch;
  watch.handle_arrival(kTimeZero + 300ms, 0);
  EXPECT_FALSE(watch.is_clear(kTimeZero + 500ms));
  EXPECT_TRUE(watch.is_clear(kTimeZero + 500ms + 1ns));
}

TEST(TransitWatch, LeastTransitIsForgottenAfterTwoSpansOf5Seconds) {
  TransitWatch watch;
  for (int ms = 0; ms <= 10'600; ms += 20) {
    const TimePoint now = kTimeZero + std::chrono::milliseconds{ms};
    watch.handle_arrival(now, static_cast<uint16_t>(ms - (ms < 4'000 ? 40 : 50)));
    if (ms == 9'980) {
      EXPECT_FALSE(watch.is_clear(now)) << "10 ms above the least";
    }
  }
  EXPECT_TRUE(watch.is_clear(kTimeZero + 10'600ms)) << "50 ms have become the least";
}

TEST(Silences, CountFrom200Milliseconds) {
  Silences silences;
  silences.pass_busy(199ms, true);
  EXPECT_EQ(silences.share(), 0);
  silences.pass_busy(100ms, false);
  EXPECT_EQ(silences.share(), 0) << "not over";
  silences.pass_busy(100ms, true);
  EXPECT_NEAR(silences.share(), 0.2 / 10.4, 1e-3) << "of ten seconds without, and its own";
}

TEST(Silences, IdleTimeIsNoSilence) {
  Silences silences;
  silences.pass_idle(5s);
  silences.pass_busy(10ms, true);
  EXPECT_EQ(silences.share(), 0);
}

TEST(Silences, OneCountsFor300MillisecondsAtMost) {
  Silences once;
  once.pass_busy(300ms, true);
  Silences in_a_tunnel;
  in_a_tunnel.pass_busy(40s, false);
  in_a_tunnel.pass_busy(40s, true);
  EXPECT_DOUBLE_EQ(once.share(), in_a_tunnel.share());
}

TEST(Silences, TheShareIsThatOfTheLastMinute) {
  Silences silences;
  for (int i = 0; i < 200; ++i) {
    silences.pass_busy(300ms, true);
    silences.pass_idle(700ms);
  }
  EXPECT_NEAR(silences.share(), 0.3, 0.01);
  for (int i = 0; i < 10; ++i) {
    silences.pass_busy(300ms, true);
    silences.pass_idle(5700ms);
  }
  EXPECT_NEAR(silences.share(), 0.12, 0.02) << "half of it is older than half a minute";
}

TEST(ReversePath, DelayOfHalfTheSilenceIsHarmless) {
  for (const auto& [transit, harmless] :
       {std::pair<Duration, Duration>{230ms, 400ms}, {230ms - 1us, 0ms}}) {
    ReversePath reverse_path;
    reverse_path.handle_report(kTimeZero + 1s, kTimeZero + 970ms, 20ms, 0ms, false);
    reverse_path.handle_report(kTimeZero + 2s, kTimeZero + 2s - transit, 20ms, 400ms, false);
    EXPECT_EQ(reverse_path.harmless_silence(), harmless);
  }
}

TEST(ReversePath, HarmlessSilenceIsForgottenAfterTwoSpansOf10Seconds) {
  ReversePath reverse_path;
  const auto hear = [&](Duration now, Duration transit, Duration silence) {
    reverse_path.handle_report(kTimeZero + now, kTimeZero + now - transit, 20ms, silence, false);
  };
  hear(1s, 30ms, 50ms);
  hear(2s, 730ms, 800ms);
  hear(11s, 30ms, 50ms);
  hear(19s, 30ms, 50ms);
  EXPECT_EQ(reverse_path.harmless_silence(), 800ms);
  hear(21s, 30ms, 50ms);
  EXPECT_EQ(reverse_path.harmless_silence(), 0ms);
}

TEST(ReversePath, LeastTransitIsForgottenAfterTwoSpansOf20Seconds) {
  ReversePath reverse_path;
  for (int s = 1; s < 60; ++s) {
    const TimePoint now = kTimeZero + std::chrono::seconds{s};
    reverse_path.handle_report(now, now - (s < 15 ? 30ms : 130ms), 20ms, 150ms, false);
    if (s == 39) {
      EXPECT_EQ(reverse_path.harmless_silence(), 150ms) << "100 ms above the least";
    }
  }
  EXPECT_EQ(reverse_path.harmless_silence(), 0ms) << "130 ms are usual by now";
}

/// A report every 100 ms.
class Reports {
 public:
  void hear(int count, Duration transit, Duration there = 20ms, bool of_outage = false) {
    for (int i = 0; i < count; ++i) {
      now_ += 100ms;
      path_.handle_report(now_, now_ - transit, there, transit, of_outage);
    }
  }
  Duration queue() const { return path_.standing_queue(); }

 private:
  TimePoint now_ = kTimeZero;
  ReversePath path_;
};

TEST(ReversePath, QueueStandsForWhatEveryReportOfASecondWaited) {
  Reports reports;
  reports.hear(10, 30ms);
  reports.hear(9, 1030ms);
  EXPECT_EQ(reports.queue(), 0ms) << "it may have been a silence";
  reports.hear(11, 1030ms);
  EXPECT_EQ(reports.queue(), 1s);
  reports.hear(600, 2030ms);
  EXPECT_EQ(reports.queue(), 2s) << "a minute later, too";
  reports.hear(1, 329ms);
  EXPECT_EQ(reports.queue(), 0ms) << "less than kQueueLeast";
  reports.hear(20, 330ms);
  EXPECT_EQ(reports.queue(), 300ms);
  reports.hear(20, 1h);
  EXPECT_EQ(reports.queue(), ReversePath::kQueueMost);
}

TEST(ReversePath, ReportOfAnOutageEndsAStandingQueue) {
  Reports reports;
  reports.hear(10, 30ms);
  reports.hear(30, 1030ms);
  reports.hear(1, 1030ms, 20ms, true);
  EXPECT_EQ(reports.queue(), 0ms);
}

TEST(ReversePath, SleepOfAMachineIsNoStandingQueue) {
  Reports receiver_slept;
  receiver_slept.hear(10, 30ms);
  receiver_slept.hear(50, 1h, 50ms - 1h);
  EXPECT_EQ(receiver_slept.queue(), 0ms);
  Reports sender_slept;
  sender_slept.hear(10, 30ms);
  sender_slept.hear(300, 30ms - 1h);  // the way there is long only when the short one is forgotten
  sender_slept.hear(50, 30ms - 1h, 20ms + 1h);
  EXPECT_EQ(sender_slept.queue(), 0ms);
}

TEST(RecentLeast, ForgetsValuesTwoSpansOld) {
  for (const auto& [later, least] : {std::pair<Duration, int>{20s - 1ns, 3}, {20s, 8}}) {
    RecentLeast<int> recent{10s};
    recent.add(kTimeZero, 3);
    recent.add(kTimeZero + later, 8);
    EXPECT_EQ(recent.least(), least);
  }
  RecentLeast<int> recent{10s};
  recent.add(kTimeZero + 10s - 1ns, 3);
  recent.add(kTimeZero + 10s, 8);  // another span begins
  recent.add(kTimeZero + 20s - 1ns, 9);
  EXPECT_EQ(recent.least(), 3);
  recent.add(kTimeZero + 20s, 9);
  EXPECT_EQ(recent.least(), 8);
}

}  // namespace
}  // namespace cress::control
