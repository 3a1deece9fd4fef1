// Goal: every score stays as it was. Method: seeded arrivals, frames, deliveries, audio and
// pictures, scored in windows inside, at and beyond their ends.

#include <gtest/gtest.h>

#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "eval/metrics/audio.hh"
#include "eval/metrics/delay_over_time.hh"
#include "eval/metrics/frames.hh"
#include "eval/metrics/picture_quality.hh"
#include "eval/metrics/rates.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::metrics {
namespace {

const std::vector<Window> kGoldenWindows{{kTimeZero, kTimeZero + 10s},
                                         {kTimeZero + 2s, kTimeZero + 7s},
                                         {kTimeZero + 3s, kTimeZero + 3'010ms},
                                         {kTimeZero + 9s, kTimeZero + 30s},
                                         {kTimeZero + 40s, kTimeZero + 41s}};

std::string text_of(std::optional<Duration> value) {
  return value ? std::to_string(value->count()) : "-";
}
std::string text_of(std::optional<double> value) {
  std::ostringstream text;
  text << std::setprecision(9);
  value ? text << *value : text << "-";
  return text.str();
}
std::string text_of(const std::vector<DataRate>& rates) {
  std::string text;
  for (const DataRate rate : rates) {
    text += text_of(rate.kilobits_per_second()) + " ";
  }
  return std::to_string(rates.size()) + " " + golden_digest(text);
}
std::string text_of(const std::vector<Duration>& values) {
  std::string text;
  for (const Duration value : values) {
    text += text_of(value) + " ";
  }
  return std::to_string(values.size()) + " " + golden_digest(text);
}

Duration random_time(Rng& rng, Duration most) {
  return Duration{static_cast<int64_t>(rng.uniform() * static_cast<double>(most.count()))};
}

sim::DeliveryTrace random_golden_trace(Rng& rng) {
  sim::DeliveryTrace trace;
  Duration at{};
  while (at < 6s) {
    at += std::chrono::milliseconds{rng.chance(0.01) ? 900 : rng.below(20)};
    trace.opportunities.push_back({at});
  }
  return trace;
}

TEST(MetricsGolden, DelaysAndRatesAreAsRecorded) {
  Rng rng{13};
  std::string golden;
  for (int round = 0; round < 12; ++round) {
    std::vector<Arrival> arrivals;
    std::vector<Delivery> deliveries;
    const uint64_t count = round == 0 ? 0 : 1 + rng.below(300);
    for (uint64_t i = 0; i < count; ++i) {
      const TimePoint sent = kTimeZero + random_time(rng, 10s);
      const TimePoint arrived = sent + from_seconds(rng.exponential(round % 3 == 0 ? 1.5 : 0.1));
      arrivals.push_back({sent, arrived});
      deliveries.push_back({arrived, DataSize{static_cast<int64_t>(40 + rng.below(1460))}});
    }
    const sim::DeliveryTrace trace = random_golden_trace(rng);
    for (const Window& window : kGoldenWindows) {
      const std::vector<DelaySegment> segments = delay_segments(arrivals, window);
      golden += std::to_string(segments.size());
      for (const double q : {0.0, 0.05, 0.5, 0.95, 1.0}) {
        golden += " " + text_of(delay_quantile(segments, q));
        EXPECT_EQ(delay_quantile(segments, q), delay_quantile(arrivals, window, q));
      }
      golden += " peaks " + text_of(delay_peaks(segments, window, 130ms));
      const auto omniscient = omniscient_arrivals(trace, 20ms, window);
      golden += " omniscient " + std::to_string(omniscient.size()) + " " +
                text_of(delay_quantile(omniscient, window, 0.95));
      const DataRate used = throughput(deliveries, window);
      const DataRate offered = capacity(trace, window);
      golden += " " + std::to_string(delivered(deliveries, window).bytes()) + " " +
                text_of(used.kilobits_per_second()) + " of " +
                text_of(offered.kilobits_per_second()) + " " + text_of(utilization(used, offered)) +
                " bins " + text_of(throughput_per_bin(deliveries, window, 170ms)) + " " +
                text_of(capacity_per_bin(trace, window, 170ms)) + "\n";
    }
  }
  expect_golden("delays_and_rates", golden);
}

TEST(MetricsGolden, ViewersAndListenersScoresAreAsRecorded) {
  Rng rng{17};
  std::string golden;
  for (int round = 0; round < 12; ++round) {
    std::vector<ShownFrame> frames;
    std::vector<PlayedSound> played;
    std::vector<TimePoint> spoken;
    TimePoint at = kTimeZero;
    while (round > 0 && at < kTimeZero + 10s) {
      at += rng.chance(0.04) ? random_time(rng, 1500ms) : random_time(rng, 60ms);
      const Duration delay = 40ms + random_time(rng, 300ms);
      if (rng.chance(0.9)) {
        frames.push_back({at, at + delay, rng.uniform(0.5, 1), rng.uniform(20, 45)});
      }
    }
    for (TimePoint speech = kTimeZero; round > 0 && speech < kTimeZero + 10s; speech += 20ms) {
      if (rng.chance(0.7)) {
        spoken.push_back(speech);
      }
      const auto kind = static_cast<PlayedSound::Kind>(rng.below(3));
      if (rng.chance(0.85)) {
        played.push_back(
            {speech + random_time(rng, 15ms), speech + 60ms + random_time(rng, 80ms), kind});
      }
    }
    for (const Window& window : kGoldenWindows) {
      const Freezes frozen = freezes(frames, window);
      const auto quality = mean_quality(frames, window);
      golden += "frame " + text_of(frame_delay_quantile(frames, window, 0.5)) + " " +
                text_of(frame_delay_quantile(frames, window, 0.95)) + " freezes " +
                std::to_string(frozen.count) + " " + text_of(frozen.frozen);
      golden += quality ? " quality " + text_of(quality->ssim) + " " + text_of(quality->ssim_db) +
                              " " + text_of(quality->psnr_db) + " " + text_of(quality->on_screen)
                        : " none";
      golden += " ear";
      for (const double q : {0.0, 0.5, 0.95, 1.0}) {
        golden += " " + text_of(mouth_to_ear_quantile(played, window, q));
      }
      golden += " " + text_of(concealed_share(played, window)) + " " +
                text_of(unheard_share(spoken, played, window)) + "\n";
    }
  }
  expect_golden("viewers_and_listeners", golden);
}

media::Picture patterned_picture(Rng& rng, int width, int height) {
  media::Picture picture = media::make_picture(width, height);
  const uint64_t step = 1 + rng.below(9);
  for (size_t i = 0; i < picture.data.size(); ++i) {
    picture.data[i] = static_cast<uint8_t>(i * step + rng.below(40));
  }
  return picture;
}

TEST(MetricsGolden, PictureQualityIsAsRecorded) {
  Rng rng{29};
  std::string golden;
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {8, 8}, {9, 8}, {16, 12}, {31, 17}, {64, 48}, {100, 70}, {13, 200}}) {
    const media::Picture original = patterned_picture(rng, width, height);
    media::Picture shown = original;
    for (int noise = 0; noise < 60; noise += 12) {
      const PictureQuality quality = picture_quality(shown, original);
      golden += text_of(quality.ssim) + " " + text_of(quality.psnr_db) + " " +
                text_of(ssim_to_db(quality.ssim)) + "\n";
      EXPECT_EQ(ssim(shown, original), quality.ssim);
      EXPECT_EQ(psnr_db(shown, original), quality.psnr_db);
      for (uint8_t& pixel : shown.data) {
        pixel = static_cast<uint8_t>(pixel + rng.below(static_cast<uint64_t>(noise) + 2));
      }
    }
    for (const auto& [w, h] : std::vector<std::pair<int, int>>{{1, 1},
                                                               {2, 40},
                                                               {width, height},
                                                               {width * 2, height * 2},
                                                               {width / 2, height / 3},
                                                               {width + 1, height - 1},
                                                               {320, 9}}) {
      const media::Picture scaled = scaled_luma(shown, w, h);
      golden +=
          std::to_string(scaled.width) + "x" + std::to_string(scaled.height) + " " +
          golden_digest({reinterpret_cast<const char*>(scaled.data.data()), scaled.data.size()}) +
          " " + text_of(picture_quality(scaled, original).ssim) + "\n";
    }
  }
  for (const double value : {-1.0, 0.0, 0.5, 0.99, 1 - 1e-9, 1 - 1e-11, 1.0}) {
    golden += text_of(ssim_to_db(value)) + " ";
  }
  expect_golden("picture_quality", golden + "\n");
}

}  // namespace
}  // namespace cress::metrics
