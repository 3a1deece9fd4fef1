#include "media/rate/adaptive_encoder.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "media/codec/vp8_decoder.hh"
#include "media/frame/scale_picture.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

double psnr(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.luma_size(); ++i) {
    const double difference = static_cast<double>(a.y()[i]) - b.y()[i];
    sum += difference * difference;
  }
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.luma_size()) / std::max(sum, 1.0));
}

// ---- In step: the receiver decodes the frames that the encoder refers to ----

// A receiver that follows the rule: decodes a frame exactly when it has decoded the frame's
// reference.
struct Receiver {
  Vp8Decoder decoder{};
  std::set<uint32_t> decoded{};
  PicturePtr shown{};

  bool handle_frame(const EncodedFrame& frame) {
    if (!frame.key_frame && !decoded.contains(frame.reference_id)) {
      return false;
    }
    const auto picture = decoder.decode(frame.data);
    EXPECT_TRUE(picture) << "frame " << frame.id;
    if (picture) {
      shown = *picture;
      decoded.insert(frame.id);
    }
    return picture.has_value();
  }
};

struct News {
  uint32_t due = 0;
  uint32_t id = 0;
  bool decoded = false;
};

void deliver(std::vector<News>& news, uint32_t now, AdaptiveEncoder& encoder) {
  std::erase_if(news, [&](const News& item) {
    if (item.due <= now && item.decoded) {
      encoder.handle_decoded(item.id);
    } else if (item.due <= now) {
      encoder.handle_lost(item.id);
    }
    return item.due <= now;
  });
}

// Budgets from "nothing fits" to "everything does", moving by a few per cent or jumping.
class Budgets {
 public:
  Budgets(uint64_t seed, double low, double high)
      : rng_(seed), low_(std::log(low)), high_(std::log(high)), log_((low_ + high_) / 2) {}
  DataSize next() {
    log_ = rng_.chance(0.05) ? rng_.uniform(low_, high_) : log_ + 0.15 * rng_.normal();
    log_ = std::clamp(log_, low_, high_);
    return DataSize{static_cast<int64_t>(std::exp(log_))};
  }

 private:
  Rng rng_;
  double low_;
  double high_;
  double log_;
};

void expect_in_step(uint32_t frames) {
  constexpr int kWidth = 104;  // no whole number of macroblocks, either way
  constexpr int kHeight = 72;
  SyntheticCamera camera{{.width = kWidth, .height = kHeight}};
  AdaptiveEncoder encoder{{.width = kWidth, .height = kHeight, .resolution_steps = false}};
  Receiver receiver;
  Budgets budgets{5, 40, 3000};
  Rng rng{6};
  std::vector<News> news;
  int compared = 0;
  int lost = 0;
  int multiple = 0;
  for (uint32_t id = 0; id < frames; ++id) {
    deliver(news, id, encoder);
    const TimePoint now = kTimeZero + FrameRate{}.time_of(id);
    const DataSize budget = id == 0 ? DataSize{20'000} : budgets.next();
    const AdaptedFrame coded = encoder.encode(now, id, camera.picture(id), budget);
    multiple += coded.attempts > 1 ? 1 : 0;
    if (coded.skipped()) {
      continue;
    }
    ASSERT_LE(coded.frame.size(), budget);
    ASSERT_EQ(coded.frame.key_frame, id == 0);
    const bool is_lost = id > 0 && rng.chance(id / 500 % 2 == 0 ? 0.05 : 0.3);
    const bool decoded = !is_lost && receiver.handle_frame(coded.frame);
    lost += is_lost ? 1 : 0;
    if (decoded) {
      ASSERT_EQ(*receiver.shown, encoder.reference(ReferenceBuffer::kLast)) << "frame " << id;
      ++compared;
    }
    if (is_lost || decoded) {
      news.push_back({id + 1 + static_cast<uint32_t>(rng.below(25)), id, decoded});
    }
  }
  EXPECT_EQ(encoder.stats().key_frames, 1U);
  const int many = static_cast<int>(frames / 100);
  EXPECT_GT(compared, 30 * many);
  EXPECT_GT(lost, 8 * many);
  EXPECT_GT(multiple, 20 * many);
  EXPECT_GT(encoder.stats().skipped, frames / 200);
}

TEST(AdaptiveEncoder, FramesWithLossesAndRejectionsStayInStepBitForBit) { expect_in_step(3'000); }
TEST(AdaptiveEncoderMeasured, TenThousandFramesStayInStepBitForBit) { expect_in_step(10'000); }

void expect_layers_droppable(uint32_t frames) {
  constexpr int kWidth = 96;
  constexpr int kHeight = 80;
  for (const int layers : {2, 3}) {
    SCOPED_TRACE("layers " + std::to_string(layers));
    SyntheticCamera camera{{.width = kWidth, .height = kHeight}};
    AdaptiveEncoder encoder{
        {.width = kWidth, .height = kHeight, .temporal_layers = layers, .resolution_steps = false}};
    Receiver whole;   // gets every layer, and knows the correct result of each frame
    Receiver narrow;  // behind a relay that drops layers at random
    Budgets budgets{7, 60, 2500};
    Rng rng{8};
    std::vector<News> news;
    int highest = layers - 1;
    int dropped = 0;
    int compared = 0;
    for (uint32_t id = 0; id < frames; ++id) {
      deliver(news, id, encoder);
      const AdaptedFrame coded =
          encoder.encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id),
                         id == 0 ? DataSize{20'000} : budgets.next());
      if (rng.chance(0.05)) {
        highest = static_cast<int>(rng.below(static_cast<uint64_t>(layers)));
      }
      if (coded.skipped()) {
        continue;
      }
      ASSERT_LT(coded.frame.temporal_layer, layers);
      ASSERT_TRUE(whole.handle_frame(coded.frame));
      if (coded.frame.temporal_layer == 0) {
        ASSERT_EQ(*whole.shown, encoder.reference(ReferenceBuffer::kLast)) << "frame " << id;
      }
      if (coded.frame.temporal_layer > highest) {
        ++dropped;
        continue;
      }
      ASSERT_TRUE(narrow.handle_frame(coded.frame)) << "frame " << id;
      ASSERT_EQ(*narrow.shown, *whole.shown) << "frame " << id;
      ++compared;
      news.push_back({id + 1 + static_cast<uint32_t>(rng.below(9)), id, true});
    }
    EXPECT_EQ(encoder.stats().key_frames, 1U);
    EXPECT_GT(dropped, static_cast<int>(frames / 6));
    EXPECT_GT(compared, static_cast<int>(2 * frames / 5));
  }
}

TEST(AdaptiveEncoder, UpperLayersMayBeDroppedAndTheRestDecodesBitForBit) {
  expect_layers_droppable(1'000);
}
TEST(AdaptiveEncoderMeasured, UpperLayersMayBeDroppedForLong) { expect_layers_droppable(3'000); }

TEST(AdaptiveEncoder, AnchorsAloneAndAnchorsWithTheBaseDecodeBitForBit) {
  constexpr int kWidth = 96;
  constexpr int kHeight = 80;
  SyntheticCamera camera{{.width = kWidth, .height = kHeight}};
  AdaptiveEncoder encoder{{.width = kWidth,
                           .height = kHeight,
                           .temporal_layers = 3,
                           .anchor_interval = 4,
                           .resolution_steps = false}};
  Receiver relay;  // reports what it has; the others get what it forwards
  Receiver base;
  Receiver anchors;
  Budgets budgets{9, 60, 2500};
  Rng rng{10};
  std::vector<News> news;
  int lost = 0;
  int seen_by_base = 0;
  int seen_by_anchors = 0;
  for (uint32_t id = 0; id < 4000; ++id) {
    deliver(news, id, encoder);
    const AdaptedFrame coded =
        encoder.encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id),
                       id == 0 ? DataSize{20'000} : budgets.next());
    if (coded.skipped()) {
      continue;
    }
    ASSERT_TRUE(coded.frame.anchor || !coded.frame.key_frame);
    ASSERT_TRUE(!coded.frame.anchor || coded.frame.temporal_layer == 0);
    const bool is_lost = id > 0 && rng.chance(id / 500 % 2 == 0 ? 0.02 : 0.2);
    const bool decoded = !is_lost && relay.handle_frame(coded.frame);
    lost += is_lost ? 1 : 0;
    if (is_lost || decoded) {
      news.push_back({id + 1 + static_cast<uint32_t>(rng.below(12)), id, decoded});
    }
    if (!decoded || coded.frame.temporal_layer > 0) {
      continue;
    }
    ASSERT_EQ(*relay.shown, encoder.reference(ReferenceBuffer::kLast)) << "frame " << id;
    ASSERT_TRUE(base.handle_frame(coded.frame)) << "frame " << id;
    ASSERT_EQ(*base.shown, *relay.shown) << "frame " << id;
    ++seen_by_base;
    if (coded.frame.anchor) {
      ASSERT_TRUE(anchors.handle_frame(coded.frame)) << "frame " << id;
      ASSERT_EQ(*anchors.shown, *relay.shown) << "frame " << id;
      ++seen_by_anchors;
    }
  }
  EXPECT_EQ(encoder.stats().key_frames, 1U);
  EXPECT_GT(lost, 200);
  EXPECT_GT(seen_by_base, 600);
  EXPECT_GT(seen_by_anchors, 150);
  EXPECT_LT(2 * seen_by_anchors, seen_by_base);
}

TEST(AdaptiveEncoder, SizeStepsKeepTheReceiverInStepAndCostOneKeyFrameEach) {
  constexpr int kWidth = 322;
  constexpr int kHeight = 182;
  SyntheticCamera camera{{.width = kWidth, .height = kHeight}};
  AdaptiveEncoder encoder{{.width = kWidth, .height = kHeight}};
  Receiver receiver;
  std::set<int> widths;
  for (uint32_t id = 0; id < 1200; ++id) {
    const DataSize budget{id < 60 || id >= 560 ? 9000 : (id < 310 ? 75 : 40)};
    const AdaptedFrame coded =
        encoder.encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id % 300), budget);
    if (coded.skipped()) {
      continue;
    }
    ASSERT_TRUE(receiver.handle_frame(coded.frame));
    ASSERT_EQ(*receiver.shown, encoder.reference(ReferenceBuffer::kLast)) << "frame " << id;
    ASSERT_EQ(receiver.shown->width, coded.width);
    ASSERT_EQ(receiver.shown->height, coded.height);
    encoder.handle_decoded(id);
    widths.insert(coded.width);
  }
  EXPECT_EQ(widths, (std::set<int>{160, 240, 322}));
  EXPECT_EQ(encoder.stats().resolution_steps, 4U);
  EXPECT_EQ(encoder.stats().key_frames, 5U);
}

TEST(AdaptiveEncoder, AfterALossTheNextFrameRefersToOneThatIsKnownToBeDecoded) {
  SyntheticCamera camera{{.width = 160, .height = 96}};
  AdaptiveEncoder encoder{{.width = 160, .height = 96}};
  const auto encode = [&](uint32_t id) {
    return encoder.encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id),
                          DataSize{4000});
  };
  for (uint32_t id = 0; id < 10; ++id) {
    encode(id);
    if (id >= 3) {
      encoder.handle_decoded(id - 3);
    }
  }
  encoder.handle_lost(8);
  const AdaptedFrame repaired = encode(10);
  EXPECT_FALSE(repaired.frame.key_frame);
  EXPECT_LE(repaired.frame.reference_id, 6U);
  EXPECT_EQ(encode(11).frame.reference_id, 10U) << "and then it goes on as before";
}

TEST(AdaptiveEncoder, AKeyFrameThatNeverFitsGoesAfterABoundedWait) {
  SyntheticCamera camera{{.width = 320, .height = 180}};
  AdaptiveEncoder encoder{{.width = 320, .height = 180}};
  for (uint32_t id = 0;; ++id) {
    const TimePoint now = kTimeZero + FrameRate{}.time_of(id);
    const AdaptedFrame coded = encoder.encode(now, id, camera.picture(id), DataSize{100});
    if (coded.skipped()) {
      ASSERT_LT(now - kTimeZero, AdaptiveEncoder::kKeyFrameWaitMax);
      continue;
    }
    EXPECT_TRUE(coded.frame.key_frame);
    EXPECT_GE(now - kTimeZero, AdaptiveEncoder::kKeyFrameWaitMax);
    EXPECT_EQ(coded.quantizer, kQuantizerMax);
    EXPECT_EQ(encoder.stats().over_budget, 1U);
    break;
  }
}

// A first key frame into any budget: one that the size model thinks wide enough and is not, one for
// which an earlier attempt was better than the last, one into which nothing fits.
void expect_key_frames_within_attempts(double step) {
  constexpr std::pair<int, int> kSize{322, 182};
  for (int attempts_max = 1; attempts_max <= 3; ++attempts_max) {
    int went_too_large = 0;
    for (double bytes = 60; bytes < 40'000; bytes *= step) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, attempts " + std::to_string(attempts_max));
      SyntheticCamera camera{{.width = kSize.first, .height = kSize.second}};
      AdaptiveEncoder encoder{
          {.width = kSize.first, .height = kSize.second, .attempts_max = attempts_max}};
      Receiver receiver;
      for (uint32_t id = 0; receiver.shown == nullptr; ++id) {
        const TimePoint now = kTimeZero + FrameRate{}.time_of(id);
        const AdaptedFrame coded =
            encoder.encode(now, id, camera.picture(id), DataSize{static_cast<int64_t>(bytes)});
        ASSERT_LE(coded.attempts, attempts_max) << "picture " << id;
        if (!coded.skipped()) {
          ASSERT_TRUE(receiver.handle_frame(coded.frame));
          ASSERT_EQ(*receiver.shown, encoder.reference(ReferenceBuffer::kLast));
          went_too_large += coded.frame.size() > coded.budget ? 1 : 0;
        }
      }
    }
    EXPECT_GT(went_too_large, 3) << "none had to go";
  }
}

TEST(AdaptiveEncoder, NoKeyFrameTakesMoreThanItsAttempts) {
  expect_key_frames_within_attempts(1.45);
}
TEST(AdaptiveEncoderMeasured, NoKeyFrameTakesMoreThanItsAttempts) {
  expect_key_frames_within_attempts(1.15);
}

// Lost references, steps of the size, budgets from nothing to plenty.
void expect_pictures_within_attempts(uint32_t frames) {
  for (int attempts_max = 1; attempts_max <= 3; ++attempts_max) {
    SCOPED_TRACE("at most " + std::to_string(attempts_max));
    SyntheticCamera camera{{.width = 322, .height = 182}};
    AdaptiveEncoder encoder{{.width = 322, .height = 182, .attempts_max = attempts_max}};
    Receiver receiver;
    Budgets budgets{11, 60, 9000};
    Rng rng{12};
    for (uint32_t id = 0; id < frames; ++id) {
      const TimePoint now = kTimeZero + FrameRate{}.time_of(id);
      if (rng.chance(0.02)) {
        encoder.handle_references_lost(now);
      }
      const bool narrow = id >= 100 && id < 300;
      const DataSize budget = narrow ? DataSize{90} : budgets.next();
      const AdaptedFrame coded = encoder.encode(now, id, camera.picture(id % 300), budget);
      ASSERT_LE(coded.attempts, attempts_max) << "picture " << id;
      if (coded.skipped()) {
        continue;
      }
      ASSERT_TRUE(receiver.handle_frame(coded.frame));
      ASSERT_EQ(*receiver.shown, encoder.reference(ReferenceBuffer::kLast)) << "picture " << id;
      encoder.handle_decoded(id);
    }
    EXPECT_GT(encoder.stats().key_frames, 5U);
    EXPECT_GT(encoder.stats().resolution_steps, 0U);
  }
}

TEST(AdaptiveEncoder, NoPictureTakesMoreThanItsAttempts) { expect_pictures_within_attempts(400); }
TEST(AdaptiveEncoderMeasured, NoPictureTakesMoreThanItsAttempts) {
  expect_pictures_within_attempts(700);
}

// The first attempt must already be good: without a second one, pictures are rarely lost, and the
// price is unused window.
TEST(AdaptiveEncoder, WithOneAttemptFewPicturesAreLost) {
  SyntheticCamera camera{{.width = 320, .height = 180}};
  AdaptiveEncoder encoder{{.width = 320, .height = 180, .attempts_max = 1}};
  Budgets budgets{21, 1500, 12'000};
  int skipped = 0;
  std::vector<double> use;
  for (uint32_t id = 0; id < 500; ++id) {
    const DataSize budget = budgets.next();
    const AdaptedFrame coded =
        encoder.encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id % 300), budget);
    skipped += coded.skipped() && id >= 30 ? 1 : 0;
    if (!coded.skipped() && coded.quantizer > AdaptiveEncoderOptions{}.quantizer_min) {
      use.push_back(static_cast<double>(coded.frame.size().bytes()) /
                    static_cast<double>(budget.bytes()));
    }
  }
  EXPECT_LE(skipped, 24) << "5 %";
  std::ranges::sort(use);
  EXPECT_GE(use.at(use.size() / 2), 0.5);
}

TEST(AdaptiveEncoder, FinerThanUsualOnlyWhereAShareOfTheBudgetIsEnough) {
  constexpr int kUsual = 24;
  for (const int finest : {6, kUsual}) {
    SyntheticCamera camera{{.width = 320, .height = 180}};
    AdaptiveEncoder encoder{
        {.width = 320, .height = 180, .quantizer_min = kUsual, .quantizer_min_of_plenty = finest}};
    int finer = 0;
    for (uint32_t id = 0; id < 240; ++id) {
      const DataSize budget{id / 60 % 2 == 0 ? 60'000 : 4000};
      const AdaptedFrame coded =
          encoder.encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id), budget);
      if (!coded.skipped() && coded.quantizer < kUsual) {
        ++finer;
        EXPECT_GE(coded.quantizer, finest);
        EXPECT_LE(static_cast<double>(coded.frame.size().bytes()),
                  0.4 * static_cast<double>(budget.bytes()))
            << "a quarter, as far as a model can tell; frame " << id;
      }
    }
    EXPECT_GE(finer, finest < kUsual ? 100 : 0);
    EXPECT_LE(finer, finest < kUsual ? 240 : 0);
  }
}

TEST(AdaptiveEncoder, SmallFramesAndScarceBudgetsHaveEffortsOfTheirOwn) {
  const auto coded = [](int height, int effort, int effort_small, int budget = 40'000,
                        int effort_scarce = -1) {
    SyntheticCamera camera{{.width = 640, .height = height}};
    AdaptiveEncoder encoder{{.width = 640,
                             .height = height,
                             .cpu_used = effort,
                             .cpu_used_small = effort_small,
                             .cpu_used_scarce = effort_scarce,
                             .resolution_steps = false}};
    std::vector<std::byte> all;
    for (uint32_t id = 0; id < 5; ++id) {
      const AdaptedFrame frame =
          encoder.encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id),
                         DataSize{id == 0 ? 40'000 : budget});
      all.insert(all.end(), frame.frame.data.begin(), frame.frame.data.end());
    }
    return all;
  };
  EXPECT_NE(coded(480, -8, -8), coded(480, -4, -4));
  EXPECT_EQ(coded(480, -8, -4), coded(480, -4, -4));
  EXPECT_EQ(coded(496, -8, -4), coded(496, -8, -8));
  EXPECT_EQ(coded(480, -8, -4, 2001, -3), coded(480, -8, -4, 2001, -4));
  EXPECT_NE(coded(480, -8, -4, 2000, -3), coded(480, -8, -4, 2000, -4));
  EXPECT_EQ(coded(496, -8, -4, 2000, -3), coded(496, -8, -4, 2000, -4));
}

TEST(AdaptiveEncoder, OnlyLostReferencesCauseAKeyFrame) {
  SyntheticCamera camera{{.width = 160, .height = 96}};
  AdaptiveEncoder encoder{{.width = 160, .height = 96}};
  for (uint32_t id = 0; id < 60; ++id) {
    const TimePoint now = kTimeZero + FrameRate{}.time_of(id);
    if (id == 5 || id == 30) {  // 167 ms and 1 s after the first key frame
      encoder.handle_references_lost(now);
    }
    const AdaptedFrame coded = encoder.encode(now, id, camera.picture(id), DataSize{8000});
    ASSERT_FALSE(coded.skipped());
    EXPECT_EQ(coded.frame.key_frame, id == 0 || id == 30) << id;
    EXPECT_EQ(coded.frame.key_frame, coded.frame.reference_id == id);
  }
}

TEST(AdaptiveEncoder, NoBudgetIsASkipAndNothingChanges) {
  SyntheticCamera camera{{.width = 160, .height = 96}};
  AdaptiveEncoder encoder{{.width = 160, .height = 96}};
  const auto encode = [&](uint32_t id, int64_t budget) {
    return encoder.encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id),
                          DataSize{budget});
  };
  EXPECT_TRUE(encode(0, 0).skipped());
  EXPECT_FALSE(encode(1, 9000).skipped());
  const Picture before = encoder.reference(ReferenceBuffer::kLast);
  uint32_t id = 2;
  for (const int64_t budget : {-5, 0, 1, 20}) {
    EXPECT_TRUE(encode(id++, budget).skipped());
    EXPECT_EQ(encoder.reference(ReferenceBuffer::kLast), before) << budget;
  }
  const AdaptedFrame next = encode(20, 9000);
  EXPECT_FALSE(next.skipped());
  EXPECT_EQ(next.frame.reference_id, 1U);
}

TEST(AdaptiveEncoder, SamePicturesAndNewsGiveTheSameBytes) {
  const auto run = [] {
    SyntheticCamera camera{{.width = 320, .height = 180}};
    AdaptiveEncoder encoder{{.width = 320, .height = 180}};
    Budgets budgets{3, 200, 9000};
    std::vector<EncodedFrame> frames;
    for (uint32_t id = 0; id < 150; ++id) {
      frames.push_back(
          encoder
              .encode(kTimeZero + FrameRate{}.time_of(id), id, camera.picture(id), budgets.next())
              .frame);
      if (id % 40 == 39) {
        encoder.handle_lost(id);
      } else if (id % 3 == 0 && id > 5) {
        encoder.handle_decoded(id - 5);
      }
    }
    return frames;
  };
  EXPECT_EQ(run(), run());
}

// ---- Fit: varying budgets, compared with libvpx's own rate control ----

struct Rates {
  double low = 150e3;
  double high = 2500e3;
};

// A random walk of the rate's logarithm, a factor of two in a second or so, reflected at the ends,
// with a jump to anywhere every 2.5 s on average.
std::vector<DataRate> wander(const Rates& limits, int frames, FrameRate frame_rate, uint64_t seed) {
  Rng rng{seed};
  const double fps =
      static_cast<double>(frame_rate.numerator) / static_cast<double>(frame_rate.denominator);
  const double low = std::log(limits.low);
  const double high = std::log(limits.high);
  double log_rate = rng.uniform(low, high);
  std::vector<DataRate> rates;
  for (int i = 0; i < frames; ++i) {
    log_rate = rng.chance(0.4 / fps) ? rng.uniform(low, high) : log_rate;
    log_rate += 0.7 / std::sqrt(fps) * rng.normal();
    log_rate = log_rate < low ? 2 * low - log_rate : log_rate;
    log_rate = log_rate > high ? 2 * high - log_rate : log_rate;
    rates.push_back(DataRate::bits_per_second(static_cast<int64_t>(std::exp(log_rate))));
  }
  return rates;
}

struct Fit {
  double over = 0;  // share of frames beyond their budget
  double use_max = 0;
  double use_p50 = 0;  // where a finer quantizer was left
  double skipped = 0;
  double attempts = 0;  // a frame
  double psnr_mean = 0;
  double bytes = 0;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Fit measure_adaptive(VideoSource& source, const std::vector<DataRate>& rates) {
  AdaptiveEncoder encoder{
      {.width = source.width(), .height = source.height(), .frame_rate = source.frame_rate()}};
  Receiver receiver;
  Fit fit;
  std::vector<double> use;
  std::deque<uint32_t> under_way;
  for (uint32_t id = 0; id < rates.size(); ++id) {
    const TimePoint now = kTimeZero + source.frame_rate().time_of(id);
    // The first key frame gets what a window of 100 ms holds.
    const DataSize budget =
        rates[id] * (id == 0 ? Duration{100ms} : source.frame_rate().time_of(1));
    const PicturePtr picture = source.picture(id);
    const AdaptedFrame coded = encoder.encode(now, id, picture, budget);
    if (!coded.skipped()) {
      EXPECT_TRUE(receiver.handle_frame(coded.frame));
      const double share =
          static_cast<double>(coded.frame.size().bytes()) / static_cast<double>(budget.bytes());
      fit.over += share > 1 ? 1 : 0;
      fit.use_max = id > 0 ? std::max(fit.use_max, share) : 0;
      fit.bytes += static_cast<double>(coded.frame.size().bytes());
      if (coded.quantizer > AdaptiveEncoderOptions{}.quantizer_min) {
        use.push_back(share);
      }
      under_way.push_back(id);
    }
    if (under_way.size() > 5) {
      encoder.handle_decoded(under_way.front());
      under_way.pop_front();
    }
    if (receiver.shown != nullptr) {  // the picture left on the screen by a skip counts, too
      fit.psnr_mean +=
          psnr(*picture, scale_picture(*receiver.shown, picture->width, picture->height));
    }
  }
  const auto frames = static_cast<double>(rates.size());
  fit.over /= frames;
  fit.psnr_mean /= frames;
  fit.use_p50 = median(use);
  fit.skipped = static_cast<double>(encoder.stats().skipped) / frames;
  fit.attempts = static_cast<double>(encoder.stats().attempts) / frames;
  return fit;
}

// libvpx's constant bitrate, with its target set frame by frame and scaled so that it spends
// `bytes`.
Fit measure_constant_bitrate(VideoSource& source, const std::vector<DataRate>& rates,
                             double bytes) {
  Fit fit;
  double scale = 1;
  for (int round = 0; round < 3; ++round) {
    fit = {};
    Vp8Encoder encoder{{.width = source.width(),
                        .height = source.height(),
                        .frame_rate = source.frame_rate(),
                        .rate_mode = RateMode::kConstantBitrate,
                        .target = rates[0] * scale}};
    for (size_t i = 0; i < rates.size(); ++i) {
      encoder.set_target(rates[i] * scale);
      const PicturePtr picture = source.picture(i);
      const CodedPicture coded =
          encoder.encode(*picture, {.capture_time = kTimeZero + source.frame_rate().time_of(i)});
      const double share = static_cast<double>(coded.size().bytes()) /
                           static_cast<double>((rates[i] * source.frame_rate().time_of(1)).bytes());
      fit.over += share > 1 ? 1 : 0;
      fit.use_max = i > 0 ? std::max(fit.use_max, share) : 0;
      fit.bytes += static_cast<double>(coded.size().bytes());
      fit.psnr_mean += psnr(*picture, encoder.reference(ReferenceBuffer::kLast));
    }
    scale *= bytes / fit.bytes;
  }
  fit.over /= static_cast<double>(rates.size());
  fit.psnr_mean /= static_cast<double>(rates.size());
  return fit;
}

struct Bars {
  std::vector<double> use_p50;
  std::vector<double> attempts;
  std::vector<double> gain_db;

  void measure(const std::string& name, VideoSource& source, const Rates& limits, uint64_t seed,
               int frames = 200) {
    const auto rates = wander(limits, frames, source.frame_rate(), seed);
    const Fit fit = measure_adaptive(source, rates);
    const Fit constant = measure_constant_bitrate(source, rates, fit.bytes);
    std::printf(
        "  %-28s seed %d: over %.1f %% max %.2f  use p50 %.2f  skipped %.1f %%  attempts %.2f  "
        "PSNR %.2f | libvpx CBR: over %.0f %% max %.1f  PSNR %.2f\n",
        name.c_str(), static_cast<int>(seed), 100 * fit.over, fit.use_max, fit.use_p50,
        100 * fit.skipped, fit.attempts, fit.psnr_mean, 100 * constant.over, constant.use_max,
        constant.psnr_mean);
    EXPECT_LE(fit.over, 0.01) << name;
    EXPECT_LE(fit.use_max, 1.25) << name;
    EXPECT_LE(fit.skipped, 0.05) << name;
    EXPECT_NEAR(constant.bytes / fit.bytes, 1.0, 0.02) << "no fair comparison";
    use_p50.push_back(fit.use_p50);
    attempts.push_back(fit.attempts);
    gain_db.push_back(fit.psnr_mean - constant.psnr_mean);
  }
  // `use_min`: lower if there are so few frames that the model still learns during most of them.
  void expect(double use_min) const {
    EXPECT_GE(median(use_p50), use_min);
    EXPECT_LE(median(attempts), 1.6);
    EXPECT_GE(median(gain_db), -0.3) << "dB against libvpx's CBR at the same bytes";
    std::printf("  medians: use p50 %.2f  attempts %.2f  PSNR %+.2f dB\n", median(use_p50),
                median(attempts), median(gain_db));
  }
};

void expect_synthetic_camera_fits(int frames) {
  SyntheticCamera camera{{.width = 640, .height = 480}};
  Bars bars;
  bars.measure("synthetic camera", camera, {}, 1, frames);
  // A pan over a wall with a fine pattern: one quantizer index is a quarter of the frame.
  EXPECT_GE(bars.use_p50[0], 0.85);
  EXPECT_LE(bars.attempts[0], 1.7);
  EXPECT_GE(bars.gain_db[0], -0.3);
}

TEST(AdaptiveEncoder, FitsTheSyntheticCameraIntoAWanderingBudget) {
  expect_synthetic_camera_fits(60);
}
TEST(AdaptiveEncoderMeasured, FitsTheSyntheticCameraIntoAWanderingBudget) {
  expect_synthetic_camera_fits(200);
}

constexpr std::array<const char*, 6> kClips{
    "gesture_man_640x480_30.mp4", "kitchen_man_640x360_25.mp4", "asl_signers_640x480_30.mp4",
    "foremanI_cif_30.mp4",        "cockatoo_640x360_20.mp4",    "screenmix_480x270_25.mp4"};

const std::filesystem::path kClipFolder = std::filesystem::path(CRESS_DATA) / "video";

void expect_recorded_clips_fit(const std::vector<const char*>& clips,
                               const std::vector<uint64_t>& seeds, int frames, double use_min) {
  const GstRuntime runtime;
  Bars bars;
  for (const char* name : clips) {
    const auto source = open_video(kClipFolder / name);
    for (const uint64_t seed : seeds) {
      bars.measure(name, *source, {}, seed, frames);
    }
  }
  bars.expect(use_min);
}

TEST(AdaptiveEncoder, FitsRecordedClipsIntoAWanderingBudget) {
  if (!std::filesystem::exists(kClipFolder)) {
    GTEST_SKIP() << "no data: recorded clips in " << kClipFolder;
  }
  expect_recorded_clips_fit({kClips[0], kClips[3], kClips[5]}, {1}, 50, 0.87);
}

TEST(AdaptiveEncoderMeasured, FitsRecordedClipsIntoAWanderingBudget) {
  if (!std::filesystem::exists(kClipFolder)) {
    GTEST_SKIP() << "no data: recorded clips in " << kClipFolder;
  }
  expect_recorded_clips_fit({kClips.begin(), kClips.end()}, {1, 2}, 200, 0.90);
}

// Another source at another size.
class Resized final : public VideoSource {
 public:
  Resized(std::unique_ptr<VideoSource> source, int width, int height)
      : source_(std::move(source)), width_(width), height_(height) {}
  int width() const override { return width_; }
  int height() const override { return height_; }
  FrameRate frame_rate() const override { return source_->frame_rate(); }
  PicturePtr picture(uint64_t index) override {
    return std::make_shared<const Picture>(
        scale_picture(*source_->picture(index), width_, height_));
  }
  std::string description() const override { return source_->description(); }

 private:
  std::unique_ptr<VideoSource> source_;
  int width_;
  int height_;
};

void expect_large_clips_fit(const std::vector<const char*>& clips, int frames, double use_min) {
  const GstRuntime runtime;
  Bars bars;
  for (const char* name : clips) {
    Resized source{open_video(kClipFolder / name), 1280, 720};
    bars.measure(std::string(name) + " at 720", source, {.low = 300e3, .high = 4000e3}, 1, frames);
  }
  bars.expect(use_min);
}

TEST(AdaptiveEncoder, FitsLargeClipsIntoAWanderingBudget) {
  if (!std::filesystem::exists(kClipFolder)) {
    GTEST_SKIP() << "no data: recorded clips in " << kClipFolder;
  }
  expect_large_clips_fit({kClips[4]}, 30, 0.87);
}

TEST(AdaptiveEncoderMeasured, FitsLargeClipsIntoAWanderingBudget) {
  if (!std::filesystem::exists(kClipFolder)) {
    GTEST_SKIP() << "no data: recorded clips in " << kClipFolder;
  }
  expect_large_clips_fit({kClips[1], kClips[2], kClips[4]}, 120, 0.90);
}

}  // namespace
}  // namespace cress::media
