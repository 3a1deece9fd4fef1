#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <vector>

#include "media/codec/vp8_decoder.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "media/rate/adaptive_encoder.hh"

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

struct Shape {
  int layers = 1;
  int anchor_interval = 0;
};

/// Mean PSNR of the displayed video at a constant rate, with every frame on its own budget, unused
/// bytes carried over to the next ones, and each frame reported four frames later.
double measure(VideoSource& source, const Shape& shape, DataRate rate, uint32_t frames = 300) {
  AdaptiveEncoder encoder{{.width = source.width(),
                           .height = source.height(),
                           .frame_rate = source.frame_rate(),
                           .temporal_layers = shape.layers,
                           .anchor_interval = shape.anchor_interval,
                           .resolution_steps = false}};
  Vp8Decoder decoder;
  PicturePtr shown = std::make_shared<const Picture>(make_picture(source.width(), source.height()));
  std::deque<uint32_t> under_way;
  const DataSize share = rate * source.frame_rate().time_of(1);
  DataSize credit;
  double sum = 0;
  for (uint32_t id = 0; id < frames; ++id) {
    const PicturePtr picture = source.picture(id);
    credit = id == 0 ? 6 * share : std::min(credit + share, 4 * share);
    const AdaptedFrame coded =
        encoder.encode(kTimeZero + source.frame_rate().time_of(id), id, picture, credit);
    if (!coded.skipped()) {
      credit = id == 0 ? DataSize{} : credit - coded.frame.size();
      shown = *decoder.decode(coded.frame.data);
      under_way.push_back(id);
    }
    if (under_way.size() > 3) {
      encoder.handle_decoded(under_way.front());
      under_way.pop_front();
    }
    sum += psnr(*picture, *shown);
  }
  return sum / frames;
}

TEST(Layers, CostStaysWithinItsBoundAtEqualBytes) {
  const std::filesystem::path folder = std::filesystem::path(CRESS_DATA) / "video";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no data: recorded clips in " << folder;
  }
  const GstRuntime runtime;
  const auto source = open_video(folder / "gesture_man_640x480_30.mp4");
  const DataRate rate = DataRate::kilobits_per_second(400);
  const double one = measure(*source, {}, rate, 90);
  const double three = measure(*source, {.layers = 3}, rate, 90);
  const double often = measure(*source, {.layers = 3, .anchor_interval = 4}, rate, 90);
  EXPECT_GE(three - one, -4.0) << "dB";
  EXPECT_GE(often - three, -2.0) << "dB";
}

TEST(LayersMeasured, WhatLayersAndAnchorsCostAtEqualBytes) {
  const std::filesystem::path folder = std::filesystem::path(CRESS_DATA) / "video";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no data: recorded clips in " << folder;
  }
  const GstRuntime runtime;
  double cost = 0;
  int rows = 0;
  for (const char* clip : {"gesture_man_640x480_30.mp4", "kitchen_man_640x360_25.mp4"}) {
    const auto source = open_video(folder / clip);
    for (const int64_t kbps : {200, 400, 800, 1600}) {
      const DataRate rate = DataRate::kilobits_per_second(kbps);
      const double one = measure(*source, {}, rate);
      const double three = measure(*source, {.layers = 3}, rate);
      const double often = measure(*source, {.layers = 3, .anchor_interval = 4}, rate);
      const double seldom = measure(*source, {.layers = 3, .anchor_interval = 8}, rate);
      std::printf(
          "  %-28s %4d kbit/s: one layer %.2f dB, three %+.2f, and anchors every 4th of layer 0 "
          "%+.2f, every 8th %+.2f\n",
          clip, static_cast<int>(kbps), one, three - one, often - three, seldom - three);
      EXPECT_GE(often - three, -2.0);
      EXPECT_GE(three - one, -4.0);
      cost += three - often;
      ++rows;
    }
  }
  EXPECT_LE(cost / rows, 1.2) << "dB, in the mean, for anchors";
}

}  // namespace
}  // namespace cress::media
