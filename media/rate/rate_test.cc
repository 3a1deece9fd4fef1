#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "media/codec/vp8_encoder.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "media/rate/frame_budget.hh"
#include "media/rate/quantizer_model.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

TEST(FrameBudget, IsTheLargestFrameThatFitsTheWindow) {
  Rng rng{6};
  int given = 0;
  for (int round = 0; round < 20'000; ++round) {
    const FrameBudgetInput input{
        .window = DataSize{static_cast<int64_t>(rng.below(60'000))},
        .queued = DataSize{static_cast<int64_t>(rng.below(20'000))},
        .message_max = DataSize{64 + static_cast<int64_t>(rng.below(1400))},
        .message_overhead = DataSize{static_cast<int64_t>(rng.below(120))},
        .minimum = DataSize{1}};
    const DataSize room = input.window - input.queued;
    const std::optional<DataSize> budget = frame_budget(input);
    if (!budget) {
      EXPECT_GT(window_cost(DataSize{1}, input), room);
      continue;
    }
    ++given;
    ASSERT_LE(window_cost(*budget, input), room);
    ASSERT_GT(window_cost(*budget + DataSize{1}, input), room);
  }
  EXPECT_GT(given, 10'000);
}

TEST(FrameBudget, LeavesRoomForParityWhereMessagesAreLost) {
  Rng rng{7};
  for (int round = 0; round < 5'000; ++round) {
    FrameBudgetInput input{.window = DataSize{2000 + static_cast<int64_t>(rng.below(60'000))},
                           .loss = rng.uniform(0.005, 0.3),
                           .minimum = DataSize{1}};
    const std::optional<DataSize> budget = frame_budget(input);
    ASSERT_TRUE(budget.has_value());
    ASSERT_LE(window_cost(*budget, input), input.window);
    ASSERT_GT(2 * window_cost(*budget, input), input.window) << "half of the window unused";
    input.loss = 0;
    ASSERT_LT(*budget, *frame_budget(input));
  }
}

TEST(FrameBudget, SkipsThePictureWhenTheWindowIsTooSmall) {
  EXPECT_EQ(frame_budget({.window = DataSize{0}}), std::nullopt);
  EXPECT_EQ(frame_budget({.window = DataSize{5000}, .queued = DataSize{9000}}), std::nullopt);
  EXPECT_EQ(frame_budget({.window = DataSize{403}}), std::nullopt) << "299 bytes and overhead";
  EXPECT_EQ(frame_budget({.window = DataSize{404}}), DataSize{300});
  EXPECT_EQ(frame_budget({.window = DataSize{100 << 20}}), kEncodedFrameMax);
}

TEST(FrameBudget, WithParityHardlyAnyWindowIsLeft) {
  Rng rng{8};
  for (int round = 0; round < 5'000; ++round) {
    const FrameBudgetInput input{
        .window = DataSize{20'000 + static_cast<int64_t>(rng.below(60'000))},
        .loss = rng.uniform(0.005, 0.3)};
    const DataSize budget = frame_budget(input).value_or(DataSize{});
    // One more fragment, with its overhead, would not have fitted.
    const DataSize more = budget + input.message_max;
    ASSERT_GT(window_cost(more, input), input.window);
  }
}

TEST(FrameBudget, CostIsBytesOverheadAndParity) {
  FrameBudgetInput input{.message_max = DataSize{1'024}, .message_overhead = DataSize{76}};
  EXPECT_EQ(window_cost(DataSize{1'000}, input), DataSize{1'100});
  EXPECT_EQ(window_cost(DataSize{1'001}, input), DataSize{1'201});
  input.loss = 0.1;  // one fragment has one parity, two have two
  EXPECT_EQ(window_cost(DataSize{1'000}, input), DataSize{2'200});
  EXPECT_EQ(window_cost(DataSize{1'001}, input), DataSize{1'001 + 2 * 501 + 4 * 100});
}

TEST(FrameBudget, AFrameIsNeverLargerThanItsMaximum) {
  EXPECT_EQ(frame_budget({.window = DataSize{50'000}, .maximum = DataSize{7'000}}),
            DataSize{7'000});
  EXPECT_DEATH(frame_budget({.message_max = DataSize{63}}), "out of range");
  EXPECT_DEATH(frame_budget({.minimum = DataSize{0}}), "out of range");
  EXPECT_DEATH(frame_budget({.minimum = DataSize{9}, .maximum = DataSize{8}}), "out of range");
}

TEST(QuantizerModel, StepGrowsOverTheWholeScale) {
  EXPECT_EQ(quantizer_step(0), 4);
  EXPECT_EQ(quantizer_step(32), 47);
  EXPECT_EQ(quantizer_step(63), 284);
  for (int q = 1; q < 64; ++q) {
    EXPECT_GT(quantizer_step(q), quantizer_step(q - 1));
  }
}

// An encoder that follows a law exactly.
DataSize lawful_size(int quantizer, double level, double slope) {
  return DataSize{static_cast<int64_t>(level * std::pow(quantizer_step(quantizer), -slope))};
}

TEST(QuantizerModel, BeforeTheFirstFrameSizesAreGuessedByPixels) {
  // A quarter of a bit for each pixel of a key frame at the middle of the scale (a step of 2^5.5),
  // a tenth of that for others.
  const QuantizerModel model{{.pixels = 640 * 360}};
  const auto middle = [&](FrameType type) {
    double between = 0;
    for (int q = 0; q < 64; ++q) {
      if (std::log2(quantizer_step(q)) <= 5.5) {
        between = static_cast<double>(model.predict(q, type).bytes());
      }
    }
    return between;
  };
  EXPECT_NEAR(middle(FrameType::kKey) / (640 * 360 * 0.25 / 8), 1, 0.1);
  EXPECT_NEAR(middle(FrameType::kDelta) / (640 * 360 * 0.025 / 8), 1, 0.1);
}

TEST(QuantizerModel, LearnsALawUnlikeItsPrior) {
  QuantizerModel model;
  Rng rng{1};
  for (int i = 0; i < 300; ++i) {
    const int quantizer = 4 + static_cast<int>(rng.below(56));
    model.observe(quantizer, FrameType::kDelta, lawful_size(quantizer, 4e5, 1.1));
  }
  for (int q = 4; q < 60; q += 5) {
    const double ratio = static_cast<double>(model.predict(q, FrameType::kDelta).bytes()) /
                         static_cast<double>(lawful_size(q, 4e5, 1.1).bytes());
    EXPECT_NEAR(ratio, 1.0, 0.06) << q;
  }
}

TEST(QuantizerModel, ALargerBudgetNeverGetsACoarserQuantizer) {
  Rng rng{2};
  QuantizerModel model;
  for (int i = 0; i < 200; ++i) {
    const FrameType type = rng.chance(0.1) ? FrameType::kKey : FrameType::kDelta;
    model.observe(static_cast<int>(rng.below(64)), type,
                  DataSize{1 + static_cast<int64_t>(rng.below(100'000))});
    int last = 63;
    for (int64_t budget = 100; budget < 200'000; budget *= 2) {
      const int quantizer = model.quantizer_for(DataSize{budget}, type);
      ASSERT_LE(quantizer, last);
      ASSERT_GE(quantizer, 2);
      last = quantizer;
    }
  }
}

TEST(QuantizerModel, OneOutlierIsIgnoredASecondIsAccepted) {
  const auto trained = [] {
    QuantizerModel model;
    for (int i = 0; i < 100; ++i) {
      model.observe(30, FrameType::kDelta, DataSize{4000});
    }
    return model;
  };
  for (const int64_t odd : {60, 60'000}) {
    QuantizerModel model = trained();
    model.observe(30, FrameType::kDelta, DataSize{odd});
    const double after_one =
        std::log2(static_cast<double>(model.predict(30, FrameType::kDelta).bytes()) / 4000);
    EXPECT_LT(std::abs(after_one), 0.6) << odd;
    for (int i = 0; i < 4; ++i) {
      model.observe(30, FrameType::kDelta, DataSize{odd});
    }
    const double left =
        std::log2(static_cast<double>(model.predict(30, FrameType::kDelta).bytes()) /
                  static_cast<double>(odd));
    EXPECT_LT(std::abs(left), 0.5) << odd << ": a new scene is learned within five frames";
  }
}

struct Fit {
  double over = 0;          // share of frames beyond their budget
  double over_fixable = 0;  // the same without those at the coarsest quantizer
  double use_p50 = 0;       // size / budget, where a finer quantizer was left
  double use_p95 = 0;
  double use_max = 0;
};

// One attempt per frame, budgets from a rate that varies over 150..2500 kbit/s (a random walk of
// its logarithm, reflected at the ends, about a factor of two in a second).
Fit measure_fit(VideoSource& source, int frames, uint64_t seed, bool with_activity = true) {
  Rng rng{seed};
  Vp8Encoder encoder{
      {.width = source.width(), .height = source.height(), .frame_rate = source.frame_rate()}};
  QuantizerModel model{{.pixels = static_cast<double>(source.width()) * source.height()}};
  const double low = std::log(150e3);
  const double high = std::log(2500e3);
  double log_rate = rng.uniform(low, high);
  std::vector<double> use;
  std::vector<double> free_use;
  PicturePtr before;
  int over = 0;
  int at_coarsest = 0;
  for (int i = 0; i < frames; ++i) {
    log_rate += 0.12 * rng.normal();
    log_rate =
        log_rate < low ? 2 * low - log_rate : (log_rate > high ? 2 * high - log_rate : log_rate);
    const auto rate = DataRate::bits_per_second(static_cast<int64_t>(std::exp(log_rate)));
    // A key frame gets what the whole window of 100 ms holds.
    const FrameType type = i == 0 ? FrameType::kKey : FrameType::kDelta;
    const DataSize budget = rate * (i == 0 ? Duration{100ms} : source.frame_rate().time_of(1));
    const PicturePtr picture = source.picture(static_cast<uint64_t>(i));
    std::optional<double> activity;
    if (with_activity && before != nullptr) {
      activity = picture_activity(*picture, *before);
    }
    before = picture;
    const int quantizer = model.quantizer_for(budget, type, activity);
    const DataSize size = encoder.encode(*picture, {.quantizer = quantizer}).size();
    model.observe(quantizer, type, size, budget, activity);
    use.push_back(static_cast<double>(size.bytes()) / static_cast<double>(budget.bytes()));
    over += use.back() > 1 ? 1 : 0;
    at_coarsest += use.back() > 1 && quantizer == kQuantizerMax ? 1 : 0;
    if (quantizer > QuantizerModelOptions{}.quantizer_min) {
      free_use.push_back(use.back());
    }
  }
  std::ranges::sort(use);
  std::ranges::sort(free_use);
  const auto at = [](const std::vector<double>& sorted, double share) {
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  return {.over = static_cast<double>(over) / frames,
          .over_fixable = static_cast<double>(over - at_coarsest) / frames,
          .use_p50 = at(free_use, 0.5),
          .use_p95 = at(use, 0.95),
          .use_max = use.back()};
}

void print(const std::string& name, const Fit& fit) {
  std::printf(
      "  fit %-30s over budget %4.1f %% (%4.1f %% not at the coarsest)  use p50 %.2f  p95 %.2f  "
      "max %.2f\n",
      name.c_str(), 100 * fit.over, 100 * fit.over_fixable, fit.use_p50, fit.use_p95, fit.use_max);
}

void expect_synthetic_camera_fits_model(int frames) {
  SyntheticCamera camera;
  const Fit fit = measure_fit(camera, frames, 1);
  print("synthetic camera", fit);
  EXPECT_LE(fit.over, 0.25);
  EXPECT_GE(fit.use_p50, 0.80);
  EXPECT_LE(fit.use_p95, 1.35);
}

TEST(QuantizerModel, FitsTheSyntheticCameraIntoAWanderingBudget) {
  expect_synthetic_camera_fits_model(200);
}
TEST(QuantizerModelMeasured, FitsTheSyntheticCameraIntoAWanderingBudget) {
  expect_synthetic_camera_fits_model(600);
}

const std::filesystem::path kModelClips = std::filesystem::path(CRESS_DATA) / "video";

void expect_clips_fit(const std::vector<const char*>& clips, int frames, bool compare) {
  const GstRuntime runtime;
  double use_p50_sum = 0;
  for (const char* name : clips) {
    const auto source = open_video(kModelClips / name);
    const Fit fit = measure_fit(*source, frames, 1);
    print(name, fit);
    if (compare) {
      print("  blind to activity", measure_fit(*source, frames, 1, false));
    }
    EXPECT_LE(fit.over_fixable, 0.25) << name;
    EXPECT_GE(fit.use_p50, 0.75) << name;
    use_p50_sum += fit.use_p50;
  }
  EXPECT_GE(use_p50_sum / static_cast<double>(clips.size()), 0.80);
}

TEST(QuantizerModel, FitsRecordedClipsIntoAWanderingBudget) {
  if (!std::filesystem::exists(kModelClips)) {
    GTEST_SKIP() << "no data: recorded clips in " << kModelClips;
  }
  expect_clips_fit({"gesture_man_640x480_30.mp4", "foremanI_cif_30.mp4"}, 80, false);
}

TEST(QuantizerModelMeasured, FitsRecordedClipsIntoAWanderingBudget) {
  if (!std::filesystem::exists(kModelClips)) {
    GTEST_SKIP() << "no data: recorded clips in " << kModelClips;
  }
  expect_clips_fit(
      {"gesture_man_640x480_30.mp4", "kitchen_man_640x360_25.mp4", "asl_signers_640x480_30.mp4",
       "foremanI_cif_30.mp4", "cockatoo_640x360_20.mp4", "screenmix_480x270_25.mp4"},
      280, true);
}

}  // namespace
}  // namespace cress::media
