#include "eval/metrics/delay_over_time.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::metrics {
namespace {

TimePoint at(Duration since_start) { return kTimeZero + since_start; }

/// The slow twin: samples d every `step`. In order of size.
std::vector<Duration> samples_of(std::vector<Arrival> arrivals, Window window, Duration step) {
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.arrived < b.arrived; });
  std::vector<Duration> samples;
  TimePoint newest = kTimeZero;
  size_t next = 0;
  for (TimePoint t = window.from + step / 2; t < window.to; t += step) {
    for (; next < arrivals.size() && arrivals[next].arrived <= t; ++next) {
      newest = std::max(newest, arrivals[next].sent);
    }
    samples.push_back(t - newest);
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

Duration sampled_quantile(const std::vector<Duration>& samples, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(samples.size())));
  return samples[std::clamp<size_t>(rank, 1, samples.size()) - 1];
}

std::vector<Arrival> random_arrivals(Rng& rng, Duration length) {
  std::vector<Arrival> arrivals;
  const double mean_gap_s = rng.uniform(0.001, 0.2);
  const double mean_delay_s = rng.uniform(0.005, 0.5);
  TimePoint sent = kTimeZero + from_seconds(rng.uniform(0.0, 1.0));
  while (sent < kTimeZero + length) {
    if (!rng.chance(0.1)) {  // a tenth is lost
      arrivals.push_back(
          {.sent = sent, .arrived = sent + from_seconds(rng.exponential(mean_delay_s))});
    }
    sent += from_seconds(rng.exponential(mean_gap_s));
  }
  return arrivals;
}

TEST(DelayOverTime, IsExactForASteadyStream) {
  // One packet every 10 ms, each in transit for 20 ms: d goes from 20 to 30 ms, again and again.
  std::vector<Arrival> arrivals;
  arrivals.reserve(1001);
  for (int i = 0; i < 1000; ++i) {
    arrivals.push_back({.sent = at(i * 10ms), .arrived = at(i * 10ms + 20ms)});
  }
  const Window window{.from = at(1s), .to = at(9s)};
  EXPECT_EQ(delay_quantile(arrivals, window, 0.0), Duration{20ms});
  EXPECT_EQ(delay_quantile(arrivals, window, 0.5), Duration{25ms});
  EXPECT_EQ(delay_quantile(arrivals, window, 0.95), Duration{29'500us});
  EXPECT_EQ(delay_quantile(arrivals, window, 1.0), Duration{30ms});
}

TEST(DelayOverTime, WeighsTimeNotPackets) {
  // A thousand packets in the first second, then one after nine silent ones.
  std::vector<Arrival> arrivals;
  arrivals.reserve(1001);
  for (int i = 0; i < 1000; ++i) {
    arrivals.push_back({.sent = at(i * 1ms), .arrived = at(i * 1ms + 1ms)});
  }
  arrivals.push_back({.sent = at(9999ms), .arrived = at(10s)});
  EXPECT_EQ(delay_quantile(arrivals, {.from = at(1s), .to = at(10s)}, 0.5), Duration{4501ms});
}

TEST(DelayOverTime, AFrozenSenderDoesNotLookGood) {
  const std::vector<Arrival> once{{.sent = at(1s), .arrived = at(1020ms)}};
  EXPECT_EQ(delay_quantile(once, {.from = at(10s), .to = at(20s)}, 0.95), Duration{18'500ms});
}

TEST(DelayOverTime, CountsFromTheRunsStartBeforeTheFirstArrival) {
  const std::vector<Arrival> late{{.sent = at(7990ms), .arrived = at(8s)}};
  const Window window{.from = kTimeZero, .to = at(8s) + Duration{1}};
  EXPECT_EQ(delay_segments(late, window),
            (std::vector<DelaySegment>{{.from = kTimeZero, .to = at(8s), .low = 0s},
                                       {.from = at(8s), .to = window.to, .low = 10ms}}));
  EXPECT_NEAR(to_milliseconds(delay_quantile(late, window, 0.5).value_or(0s)), 4000, 0.001);
}

TEST(DelayOverTime, HasNoQuantileWhereNothingArrived) {
  EXPECT_FALSE(delay_quantile(std::vector<Arrival>{}, {.from = at(1s), .to = at(2s)}, 0.95));
  const std::vector<Arrival> later{{.sent = at(1s), .arrived = at(2s)}};
  EXPECT_FALSE(delay_quantile(later, {.from = at(1s), .to = at(2s)}, 0.95));
  EXPECT_TRUE(delay_quantile(later, {.from = at(1s), .to = at(2001ms)}, 0.95));
}

TEST(DelayOverTime, SegmentsCoverTheWindowWithoutHoles) {
  Rng rng{7};
  for (int round = 0; round < 50; ++round) {
    const std::vector<Arrival> arrivals = random_arrivals(rng, 10s);
    const Window window{.from = at(2s), .to = at(9s)};
    const std::vector<DelaySegment> segments = delay_segments(arrivals, window);
    ASSERT_FALSE(segments.empty());
    EXPECT_EQ(segments.front().from, window.from);
    EXPECT_EQ(segments.back().to, window.to);
    for (size_t i = 1; i < segments.size(); ++i) {
      EXPECT_EQ(segments[i].from, segments[i - 1].to);
      EXPECT_LT(segments[i].low, segments[i - 1].high());  // d drops at every arrival that counts
    }
  }
}

TEST(DelayOverTime, AgreesWithSamplingOnRandomInputInAnyOrder) {
  constexpr Duration kStep = 100us;
  Rng rng{1};
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed 1");
    std::vector<Arrival> arrivals = random_arrivals(rng, 8s);
    const Window window{.from = at(from_seconds(rng.uniform(0.0, 2.0))),
                        .to = at(from_seconds(rng.uniform(6.0, 9.0)))};
    for (size_t i = arrivals.size(); i > 1; --i) {
      std::swap(arrivals[i - 1], arrivals[rng.below(i)]);
    }
    const std::vector<Duration> samples = samples_of(arrivals, window, kStep);
    for (const double q : {0.0, 0.05, 0.5, 0.95, 0.99, 1.0}) {
      const Duration exact = delay_quantile(arrivals, window, q).value_or(Duration::min());
      // Between the samples around the rank d moves by a step; a quantile may also be on a flat
      // part of the distribution, which sampling crosses a rank earlier or later: hence the
      // bracket.
      const double slack = 2.0 * static_cast<double>(arrivals.size() + 2) * to_seconds(kStep) /
                           to_seconds(window.length());
      const Duration below = sampled_quantile(samples, std::max(0.0, q - slack)) - kStep;
      const Duration above = sampled_quantile(samples, std::min(1.0, q + slack)) + kStep;
      EXPECT_GE(exact, below) << "q " << q;
      EXPECT_LE(exact, above) << "q " << q;
    }
  }
}

TEST(DelayOverTime, QuantileSplitsTheTimeExactly) {
  // Property: at most a share q of the time lies below the quantile, and at least q at or below it.
  Rng rng{3};
  for (int round = 0; round < 40; ++round) {
    const std::vector<DelaySegment> segments =
        delay_segments(random_arrivals(rng, 5s), {.from = at(1s), .to = at(5s)});
    for (const double q : {0.01, 0.5, 0.95}) {
      const Duration quantile = delay_quantile(segments, q).value_or(Duration::min());
      double up_to = 0.0;
      double up_to_less_one = 0.0;
      for (const DelaySegment& s : segments) {
        const Duration length = s.to - s.from;
        up_to += to_seconds(std::clamp(quantile - s.low, Duration{0}, length));
        up_to_less_one +=
            to_seconds(std::clamp(quantile - Duration{1} - s.low, Duration{0}, length));
      }
      EXPECT_GE(up_to, q * 4.0 - 1e-9);
      EXPECT_LE(up_to_less_one, q * 4.0 + 1e-9);
    }
  }
}

TEST(DelayPeaks, AreTheLargestDelayOfEachBin) {
  // Arrivals at 1.25 s (sent 1.2 s) and 1.5 s (sent 1.4 s); bins of 100 ms from 1.2 s on.
  const std::vector<Arrival> arrivals{{.sent = at(1200ms), .arrived = at(1250ms)},
                                      {.sent = at(1400ms), .arrived = at(1500ms)}};
  const Window window{.from = at(1200ms), .to = at(1550ms)};
  const std::vector<Duration> peaks = delay_peaks(delay_segments(arrivals, window), window, 100ms);
  EXPECT_EQ(peaks, (std::vector<Duration>{1250ms, 200ms, 300ms, 150ms}));
}

TEST(DelayPeaks, TheLargestIsTheQuantileAtOne) {
  Rng rng{11};
  for (int round = 0; round < 20; ++round) {
    const Window window{.from = at(1s), .to = at(from_seconds(rng.uniform(3.0, 5.0)))};
    const auto segments = delay_segments(random_arrivals(rng, 5s), window);
    const auto peaks = delay_peaks(segments, window, 130ms);
    EXPECT_EQ(*std::max_element(peaks.begin(), peaks.end()), delay_quantile(segments, 1.0));
  }
}

TEST(Omniscient, RepeatsTheTraceAndStartsBeforeTheWindow) {
  const sim::DeliveryTrace trace{{{.at = 0ms}, {.at = 10ms}, {.at = 40ms}}};
  const Window window{.from = at(105ms), .to = at(150ms)};
  // Opportunities at 80, 80, 90, 120, 120, 130 arrive 20 ms later; 160 is past the window.
  EXPECT_EQ(omniscient_arrivals(trace, 20ms, window),
            (std::vector<Arrival>{{.sent = at(80ms), .arrived = at(100ms)},
                                  {.sent = at(90ms), .arrived = at(110ms)},
                                  {.sent = at(120ms), .arrived = at(140ms)},
                                  {.sent = at(120ms), .arrived = at(140ms)}}));
}

struct Measured {
  std::string link;
  double window_from_s = 0;
  double window_to_s = 0;
  double omniscient95_ms = 0;
};

/// The measured table, one row per link; empty if the file is missing.
std::vector<Measured> measured_links() {
  std::ifstream file(std::filesystem::path(CRESS_DATA) / "reference/sprout-measured.csv");
  std::vector<Measured> rows;
  std::set<std::string> seen;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) {
      fields.push_back(field);
    }
    const std::string link = fields.at(2) + "." + fields.at(3);
    if (seen.insert(link).second) {
      const size_t dash = fields.at(5).find('-');
      rows.push_back({link, std::stod(fields[5].substr(0, dash)),
                      std::stod(fields[5].substr(dash + 1)), std::stod(fields.at(10))});
    }
  }
  return rows;
}

TEST(Omniscient, AgreesWithWhatWasMeasuredOnAllEightLinks) {
  const std::vector<Measured> links = measured_links();
  if (links.empty()) {
    GTEST_SKIP() << "no data: reference/sprout-measured.csv in " CRESS_DATA;
  }
  EXPECT_EQ(links.size(), 8U);
  for (const Measured& row : links) {
    const sim::DeliveryTrace trace =
        sim::load_trace(std::filesystem::path(CRESS_DATA) / "traces/cellular" / row.link);
    // The table scores seconds of the trace: what left the link in them arrived a propagation
    // later.
    constexpr Duration kPropagation = 20ms;
    const Window window{.from = at(from_seconds(row.window_from_s) + kPropagation),
                        .to = at(from_seconds(row.window_to_s) + kPropagation)};
    const Duration exact =
        delay_quantile(omniscient_arrivals(trace, kPropagation, window), window, 0.95).value_or(0s);
    EXPECT_EQ(std::floor(to_milliseconds(exact)), row.omniscient95_ms)
        << row.link << ": exactly " << to_milliseconds(exact) << " ms";
  }
}

}  // namespace
}  // namespace cress::metrics
