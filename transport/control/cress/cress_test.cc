#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/control/cress/recent_least.hh"

namespace cress::control {
namespace {

constexpr double kLowerQuartile = -0.674;

TEST(GammaBelief, FindsTheRateOfAPoissonLinkAndKeepsItsForecast) {
  Rng rng{1};
  constexpr double kRate = 300;
  GammaBelief belief{{.burstiness = 1}};
  int kept = 0;
  int forecasts = 0;
  std::vector<double> promised;
  std::vector<int> delivered(20'000);
  for (int ms = 0; ms < 20'000; ++ms) {
    delivered[static_cast<size_t>(ms)] = rng.chance(kRate / 1000) ? 1 : 0;
  }
  for (size_t ms = 0; ms + 100 < delivered.size(); ++ms) {
    belief.pass_busy(1ms);
    belief.observe(delivered[ms]);
    if (ms >= 2000 && ms % 100 == 0) {
      const double promise = belief.deliveries(100ms, kLowerQuartile);
      int came = 0;
      for (size_t later = ms + 1; later <= ms + 100; ++later) {
        came += delivered[later];
      }
      ++forecasts;
      kept += came >= promise ? 1 : 0;
    }
  }
  EXPECT_NEAR(belief.mean_rate(), kRate, 0.3 * kRate);
  // Promised at the lower quartile: true three times in four.
  EXPECT_NEAR(static_cast<double>(kept) / forecasts, 0.75, 0.12);
}

TEST(GammaBelief, IdleTimeKeepsTheMeanAndLowersTheForecast) {
  GammaBelief belief{{}};
  for (int i = 0; i < 1000; ++i) {
    belief.pass_busy(2ms);
    belief.observe(1);
  }
  const double mean = belief.mean_rate();
  const double sure = belief.deliveries(100ms, kLowerQuartile);
  belief.pass_idle(1h);
  EXPECT_DOUBLE_EQ(belief.mean_rate(), mean);
  const double unsure = belief.deliveries(100ms, kLowerQuartile);
  EXPECT_LT(unsure, sure);
  EXPECT_GT(unsure, 0.1 * sure) << "a long silence must not starve what follows it";
}

TEST(GammaBelief, BusyWithoutDeliveriesIsAnOutage) {
  GammaBelief belief{{}};
  for (int i = 0; i < 1000; ++i) {
    belief.pass_busy(2ms);
    belief.observe(1);
  }
  belief.pass_busy(1s);
  EXPECT_LT(belief.deliveries(100ms, kLowerQuartile), 0.5);
}

/// The intervals from one report, as (milliseconds, busy, packets).
struct Told {
  double ms = 0;
  bool busy = false;
  double packets = 0;
  friend bool operator==(const Told&, const Told&) = default;
};

class ExposureHistoryTest : public testing::Test {
 protected:
  static constexpr DataSize kFull = kOpportunitySize - kDatagramOverhead;

  std::vector<Told> report(TimePoint at, std::vector<ArrivalStamp> arrivals) {
    std::vector<Told> told;
    history_.handle_report(at + 20ms, at, arrivals, /*in_doubt=*/true, [&](const Exposure& e) {
      told.push_back({to_milliseconds(e.elapsed), e.busy, e.packets});
    });
    return told;
  }
  /// One datagram through an idle link fixes the base delay (20 ms) and the start.
  void begin() {
    history_.on_sent(kTimeZero, 0, kFull);
    report(kTimeZero + 20ms, {{0, kTimeZero + 20ms}});
  }

  ExposureHistory history_;
};

TEST_F(ExposureHistoryTest, OnlyTimeInWhichSomethingWaitedIsExposure) {
  begin();
  ASSERT_EQ(history_.base_delay(), Duration{20ms});
  history_.on_sent(kTimeZero + 30ms, 1550, kFull);
  // Reaches the link at 50, arrives at 57: idle 20..50, busy 50..57, idle again.
  EXPECT_EQ(report(kTimeZero + 70ms, {{1550, kTimeZero + 57ms}}),
            (std::vector<Told>{{30, false, 0}, {7, true, 1}, {13, false, 0}}));
}

TEST_F(ExposureHistoryTest, LastDeliveryOfAQueueCountsAsAWholeOpportunity) {
  begin();
  history_.on_sent(kTimeZero + 30ms, 1550, DataSize{100});
  const auto told = report(kTimeZero + 60ms, {{1550, kTimeZero + 55ms}});
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[1], (Told{5, true, 1}));
}

TEST_F(ExposureHistoryTest, WhileMoreWaitsOnlyArrivedBytesCount) {
  begin();
  history_.on_sent(kTimeZero + 30ms, 1550, DataSize{706});
  history_.on_sent(kTimeZero + 30ms, 3000, DataSize{706});
  const auto told = report(kTimeZero + 60ms, {{1550, kTimeZero + 55ms}});
  EXPECT_EQ(told, (std::vector<Told>{{30, false, 0}, {5, true, 0.5}, {5, true, 0}}));
  EXPECT_EQ(history_.outstanding().size(), 1U);
}

TEST_F(ExposureHistoryTest, OvertakenDatagramWasNeverInTheQueue) {
  begin();
  history_.on_sent(kTimeZero + 30ms, 1550, kFull);
  history_.on_sent(kTimeZero + 40ms, 3100, kFull);
  // The first is lost: the link was idle until the second reached it at 60.
  EXPECT_EQ(report(kTimeZero + 70ms, {{3100, kTimeZero + 62ms}}),
            (std::vector<Told>{{40, false, 0}, {2, true, 1}, {8, false, 0}}));
  EXPECT_TRUE(history_.outstanding().empty());
}

TEST_F(ExposureHistoryTest, AnOutageIsExposureWithoutDeliveries) {
  begin();
  history_.on_sent(kTimeZero + 30ms, 1550, kFull);
  EXPECT_EQ(report(kTimeZero + 550ms, {}), (std::vector<Told>{{30, false, 0}, {500, true, 0}}));
}

TEST_F(ExposureHistoryTest, HostileReportsAreHarmless) {
  Rng rng{5};
  begin();
  uint64_t sequence = 1550;
  TimePoint now = kTimeZero + 30ms;
  for (int i = 0; i < 20'000; ++i) {
    now += std::chrono::microseconds{rng.below(20'000)};
    history_.on_sent(now, sequence, DataSize{static_cast<int64_t>(rng.below(1400))});
    sequence += 1450;
    std::vector<ArrivalStamp> arrivals;
    for (uint64_t n = rng.below(5); n > 0; --n) {
      arrivals.push_back({rng.below(2) == 0 ? rng.next() : sequence - 1450 * rng.below(20),
                          kTimeZero + Duration{static_cast<int64_t>(rng.next() >> 2U)}});
    }
    double total = 0;
    const TimePoint made_at =
        rng.chance(0.5) ? now : kTimeZero + Duration{static_cast<int64_t>(rng.next() >> 2U)};
    history_.handle_report(now, made_at, arrivals, /*in_doubt=*/true, [&](const Exposure& e) {
      EXPECT_GE(e.elapsed, Duration{});
      EXPECT_TRUE(std::isfinite(e.packets));
      total += e.packets;
    });
    ASSERT_LE(history_.outstanding().size(), ExposureHistory::kOutstandingMax);
  }
}

/// Both halves over a link of one opportunity every `gap`, in steps of a millisecond.
class Loop {
 public:
  /// Reports return together, every `reverse_path_gap`.
  explicit Loop(Duration gap, const CressControl::Options& options = {},
                Duration reverse_path_gap = 1ms)
      : gap_(gap),
        reverse_path_gap_(reverse_path_gap),
        next_opportunity_(kTimeZero + gap),
        sender_(options),
        receiver_(options) {}

  /// Sends full packets as the window permits while `offers`; advances by 1 ms.
  void step(bool offers) {
    now_ += 1ms;
    while (next_opportunity_ <= now_) {
      if (!queue_.empty() && !is_dead) {
        in_flight_.push_back({queue_.front(), next_opportunity_ + 20ms});
        queue_.pop_front();
      }
      next_opportunity_ += gap_;
    }
    while (!in_flight_.empty() && in_flight_.front().at <= now_) {
      receiver_.handle_arrival(now_, {.sequence = in_flight_.front().sequence,
                                      .payload = kPayload,
                                      .asks_for_feedback = true});
      ++arrived;
      in_flight_.pop_front();
    }
    if (receiver_.feedback_due() <= now_) {
      reports_.push_back({*receiver_.poll_feedback(now_), now_ + report_transit});
    }
    const bool is_reverse_path_open = (now_ - kTimeZero) % reverse_path_gap_ == Duration{};
    while (is_reverse_path_open && !reports_.empty() && reports_.front().second <= now_) {
      sender_.handle_feedback(now_, reports_.front().first, sequence_, 0);
      reports_.pop_front();
    }
    const bool heartbeat = now_ - last_sent_ >= 50ms;
    while ((offers && sender_.window(now_) >= kOpportunitySize) ||
           (heartbeat && now_ != last_sent_)) {
      sender_.on_sent(now_, sequence_, kPayload);
      queue_.push_back(sequence_);
      sequence_ += 1500;
      last_sent_ = now_;
    }
  }
  size_t queued() const { return queue_.size(); }
  TimePoint now() const { return now_; }
  DataSize window() const { return sender_.window(now_); }

  int arrived = 0;
  bool is_dead = false;
  Duration report_transit = 20ms;

 private:
  static constexpr DataSize kPayload = kOpportunitySize - kDatagramOverhead;
  Duration gap_;
  Duration reverse_path_gap_;
  TimePoint next_opportunity_;
  TimePoint now_ = kTimeZero;
  TimePoint last_sent_ = kTimeZero - 1s;
  uint64_t sequence_ = 0;
  CressControl sender_;
  CressControl receiver_;
  std::deque<uint64_t> queue_;
  std::deque<ArrivalStamp> in_flight_;
  std::deque<std::pair<Feedback, TimePoint>> reports_;
};

TEST(CressControl, FillsASteadyLinkWithAShortQueue) {
  Loop loop{2400us};  // 5 Mbit/s
  for (int ms = 0; ms < 2000; ++ms) {
    loop.step(true);
  }
  const int before = loop.arrived;
  size_t longest = 0;
  for (int ms = 0; ms < 5000; ++ms) {
    loop.step(true);
    longest = std::max(longest, loop.queued());
  }
  EXPECT_GT(loop.arrived - before, 0.97 * 5000 / 2.4);
  EXPECT_LT(static_cast<double>(longest) * 2.4, 75) << "milliseconds of queue";
}

TEST(CressControl, RampsUpFromIdleToNineTenthsOfALinkWithinHalfASecond) {
  for (const int idle_ms : {200, 3000, 30'000}) {
    Loop loop{2400us};
    for (int ms = 0; ms < idle_ms; ++ms) {
      loop.step(false);
    }
    for (int ms = 0; ms < 500; ++ms) {
      loop.step(true);
    }
    const int before = loop.arrived;
    for (int ms = 0; ms < 500; ++ms) {
      loop.step(true);
    }
    EXPECT_GT(loop.arrived - before, 0.9 * 500 / 2.4) << "after " << idle_ms << " ms of idling";
    EXPECT_LT(static_cast<double>(loop.queued()) * 2.4, 120) << "ran away while idle";
  }
}

TEST(CressControl, ContinuesWhileTheReversePathIsSlow) {
  int arrived[2] = {};
  for (const bool is_call : {false, true}) {
    Loop loop{2400us, is_call ? call_control() : CressControl::Options{}, 700ms};
    for (int ms = 0; ms < 10'000; ++ms) {
      loop.step(true);
    }
    arrived[is_call ? 1 : 0] = loop.arrived;
    EXPECT_LT(static_cast<double>(loop.queued()) * 2.4, 120) << "milliseconds of queue";
  }
  EXPECT_GT(arrived[1], arrived[0] * 5 / 4) << arrived[0];
}

// An upload that begins after a second and fills the queue of the reverse path within ten.
TEST(CressControl, ContinuesBehindAQueueOfTheReversePath) {
  int arrived[2] = {};
  for (const bool is_call : {false, true}) {
    Loop loop{2400us, is_call ? call_control() : CressControl::Options{}};
    int before = 0;
    for (int ms = 0; ms < 60'000; ++ms) {
      loop.report_transit = 20ms + 300us * std::clamp(ms - 1000, 0, 10'000);
      loop.step(true);
      before = ms == 20'000 ? loop.arrived : before;
    }
    arrived[is_call ? 1 : 0] = loop.arrived - before;
    EXPECT_LT(static_cast<double>(loop.queued()) * 2.4, 120) << "milliseconds of queue";
  }
  EXPECT_GT(arrived[1], 0.45 * 40'000 / 2.4) << arrived[0] << " of a flow";
  EXPECT_LT(arrived[0], arrived[1] / 3);
}

TEST(CressControl, SilenceCountsAgainAfterAReportedOutage) {
  const auto told = [](Loop& loop, int ms, bool offers) {
    for (int i = 0; i < ms; ++i) {
      loop.step(offers);
    }
  };
  Loop loop{2400us, call_control(), 700ms};
  told(loop, 700 * 8 + 600, true);
  EXPECT_GT(loop.window(), DataSize{0}) << "no report for 600 ms, as before";
  loop.is_dead = true;
  told(loop, 700 * 3, true);
  EXPECT_EQ(loop.window(), DataSize{0});
  EXPECT_LT(static_cast<double>(loop.queued()) * 2.4, 700) << "milliseconds of queue";
  loop.is_dead = false;
  told(loop, 700 - 100, true);
  EXPECT_EQ(loop.window(), DataSize{0}) << "this one again was an outage, for all one knows";
}

TEST(ReversePath, RemembersTheLongestHarmlessReportDelay) {
  ReversePath reverse_path;
  EXPECT_EQ(reverse_path.harmless_silence(), Duration{});
  TimePoint now = kTimeZero;
  const auto hear = [&](Duration transit, Duration silence, bool of_outage = false) {
    now += 100ms;
    // Whatever the clocks' offset.
    reverse_path.handle_report(now, now - transit + 1h, 20ms, silence, of_outage);
  };
  hear(30ms, 50ms);
  EXPECT_EQ(reverse_path.harmless_silence(), Duration{});
  hear(630ms, 700ms);
  hear(230ms, 200ms);
  EXPECT_EQ(reverse_path.harmless_silence(), 700ms);
  hear(230ms, 900ms);
  EXPECT_EQ(reverse_path.harmless_silence(), 700ms) << "nothing was said for most of that time";
  hear(830ms, 900ms, true);
  EXPECT_EQ(reverse_path.harmless_silence(), Duration{});
  hear(130ms, 120ms);
  EXPECT_EQ(reverse_path.harmless_silence(), 120ms);
  for (int i = 0; i < 200; ++i) {
    hear(30ms, 100ms);
  }
  EXPECT_EQ(reverse_path.harmless_silence(), Duration{}) << "long ago";
}

/// Reports in 20 s of an end whose peer asks all the time, with an uplink of one opportunity every
/// 600 ms.
int reports_over_a_slow_link(const CressControl::Options& options) {
  CressControl end{options};
  const DataSize payload{600};
  int reports = 0;
  uint64_t sent = 0;
  std::optional<ArrivalStamp> arrived;
  for (int ms = 0; ms < 20'000; ++ms) {
    const TimePoint now = kTimeZero + std::chrono::milliseconds{ms};
    if (ms % 600 == 599 && sent > 0) {
      arrived = ArrivalStamp{sent - 1, now};
    }
    if (ms % 10 == 0) {
      std::vector<ArrivalStamp> arrivals;
      if (arrived) {
        arrivals.push_back(*arrived);
      }
      end.handle_feedback(now, {.made_at = now, .counts = {}, .arrivals = arrivals}, sent, sent);
      end.handle_arrival(
          now,
          {.sequence = static_cast<uint64_t>(ms), .payload = payload, .asks_for_feedback = true});
    }
    if (end.history().outstanding().empty()) {
      end.on_sent(now, sent++, payload);
    }
    reports += now >= end.feedback_due() && end.poll_feedback(now) ? 1 : 0;
  }
  return reports;
}

TEST(CressControl, OnlyMediaSendersReportsSpareASilentLink) {
  const int answering = reports_over_a_slow_link({});
  const int speaking = reports_over_a_slow_link(call_control());
  EXPECT_LT(speaking, answering / 2) << "of " << answering;
  EXPECT_GT(speaking, 20 * 4) << "the longest pace";
}

TEST(CressControl, HeartbeatIntervalIsAFractionOfTheArrivalsAge) {
  CressControl flow{flow_control()};
  const TimePoint start = kTimeZero + 1s;
  EXPECT_EQ(flow.heartbeat_interval(start, 50ms), 40ms) << "nothing is known";
  flow.on_sent(start, 0, DataSize{1000});
  const ArrivalStamp arrival{.sequence = 0, .at = start + 20ms};
  flow.handle_feedback(start + 40ms, {.made_at = start + 20ms, .counts = {}, .arrivals = {arrival}},
                       1000, 1000);
  EXPECT_EQ(flow.heartbeat_interval(start + 10s, 50ms), 40ms) << "nothing is on its way";
  flow.on_sent(start + 40ms, 1000, DataSize{1000});
  flow.on_sent(start + 400ms, 2000, DataSize{60});
  EXPECT_EQ(flow.heartbeat_interval(start + 600ms, 50ms), 40ms);
  EXPECT_EQ(flow.heartbeat_interval(start + 1280ms, 50ms), 80ms);
  // A datagram sent long ago arrives: those in transit behind it are old as well.
  const ArrivalStamp late{.sequence = 1000, .at = start + 2980ms};
  flow.handle_feedback(start + 3s, {.made_at = start + 2980ms, .counts = {}, .arrivals = {late}},
                       2060, 2000);
  EXPECT_EQ(flow.heartbeat_interval(start + 3240ms, 50ms), 200ms);
  EXPECT_EQ(flow.heartbeat_interval(start + 60s, 50ms), 250ms) << "at most";
}

TEST(RecentLeast, RemembersForOneToTwoSpans) {
  RecentLeast<int> recent{10s};
  EXPECT_EQ(recent.least(), std::nullopt);
  recent.add(kTimeZero + 1s, 3);
  recent.add(kTimeZero + 9s, 7);
  EXPECT_EQ(recent.least(), 3);
  recent.add(kTimeZero + 10s, 8);
  EXPECT_EQ(recent.least(), 3) << "the previous span's";
  recent.add(kTimeZero + 20s, 9);
  EXPECT_EQ(recent.least(), 8);
  recent.add(kTimeZero + 45s, 11);
  EXPECT_EQ(recent.least(), 11) << "a span without any lies between";
}

TEST(TransitWatch, DistinguishesAClearPathFromAQueueingOne) {
  for (const Duration offset : {Duration{}, Duration{31s}, Duration{65s}}) {
    TransitWatch watch;
    EXPECT_FALSE(watch.is_clear(kTimeZero)) << "nothing was heard";
    TimePoint now = kTimeZero;
    const auto hear = [&](Duration transit) {
      const auto sent = floor_milliseconds(now - transit + offset);
      watch.handle_arrival(now, static_cast<uint16_t>(sent));
      now += 20ms;
    };
    for (int i = 0; i < 3000; ++i) {  // a minute: the stamps wrap
      hear(40ms + (i % 3) * 1ms);
    }
    EXPECT_TRUE(watch.is_clear(now));
    hear(60ms);
    EXPECT_FALSE(watch.is_clear(now)) << "one waited";
    for (int i = 0; i < 30; ++i) {
      hear(40ms);
    }
    EXPECT_TRUE(watch.is_clear(now)) << "and none since";
    EXPECT_FALSE(watch.is_clear(now + 1s)) << "silence says nothing";
  }
}

TEST(CressControl, ReportWaitsForADatagramOnlyWhileThePathIsClear) {
  for (const bool is_clear : {true, false}) {
    CressControl receiver{{.report_interval_clear = 25ms}};
    uint64_t sequence = 0;
    std::vector<TimePoint> reports;
    for (TimePoint now = kTimeZero; now < kTimeZero + 3s; now += 1ms) {
      if ((now - kTimeZero) % 33ms == Duration{}) {
        const bool has_waited = !is_clear && sequence / 1000 % 4 == 3;
        const Duration transit = has_waited ? 50ms : 30ms;
        receiver.handle_arrival(
            now, {.sequence = sequence,
                  .payload = DataSize{1000},
                  .asks_for_feedback = true,
                  .sent_ms = static_cast<uint16_t>(floor_milliseconds(now - transit + 1s))});
        sequence += 1000;
      }
      if (receiver.feedback_due() <= now) {
        ASSERT_TRUE(receiver.poll_feedback(now).has_value());
        reports.push_back(now);
      }
    }
    const auto late = std::ranges::count_if(
        reports, [](TimePoint at) { return at >= kTimeZero + 1s && at < kTimeZero + 3s; });
    EXPECT_GE(late, is_clear ? 75 : 190) << is_clear;
    EXPECT_LE(late, is_clear ? 85 : 205) << is_clear;
    // A datagram that is sent anyway carries a report, soon after the last.
    EXPECT_FALSE(receiver.poll_feedback(reports.back() + 4ms).has_value());
    EXPECT_TRUE(receiver.poll_feedback(reports.back() + 6ms).has_value());
  }
}

}  // namespace
}  // namespace cress::control
