#include "eval/encoder/bench.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "eval/encoder/ivf_video.hh"
#include "eval/encoder/outputs.hh"
#include "eval/metrics/picture_quality.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/frame/ivf.hh"
#include "media/source/synthetic_camera.hh"
#include "media/source/y4m.hh"
#include "transport/base/text_file.hh"

namespace cress::encoder_bench {
namespace {

namespace fs = std::filesystem;

media::SyntheticCamera camera() { return media::SyntheticCamera{{.width = 160, .height = 96}}; }

CellSpec spec_of(const std::string& encoder, const std::string& budget, uint64_t frames = 40) {
  CellSpec spec;
  spec.video = "camera";
  spec.encoder = encoder;
  spec.budget = budget;
  spec.width = 160;
  spec.height = 96;
  spec.frames = frames;
  return spec;
}

CellOutput run(const CellSpec& spec, CellContext context = {}) {
  media::SyntheticCamera source = camera();
  BudgetContext budget;
  budget.frames = spec.frames;
  if (context.budgets.empty()) {
    context.budgets = make_budgets(spec.budget, budget);
  }
  return run_cell(spec, source, context);
}

TEST(EncoderBench, EveryEncoderGivesTheSameBytesTwice) {
  for (const EncoderInfo& info : encoders()) {
    const CellSpec spec = spec_of(std::string{info.name}, "walk:60,900");
    const CellOutput one = run(spec);
    EXPECT_EQ(one.frames, run(spec).frames) << info.name;
    EXPECT_GT(one.result.psnr_db.value(), 25) << info.name;
    EXPECT_EQ(one.frames.size(), 40U) << info.name;
    const auto first = std::ranges::find_if(one.frames, &FrameRow::coded);
    ASSERT_NE(first, one.frames.end()) << info.name;
    EXPECT_TRUE(first->key_frame) << info.name;
  }
}

TEST(EncoderBench, CressFitsEveryFrameThatNeedsAnother) {
  for (const char* name : {"cress", "cress-full"}) {
    const CellOutput output = run(spec_of(name, "walk:60,900", 300));
    int deltas = 0;
    for (const FrameRow& row : output.frames) {
      if (row.coded() && !row.key_frame) {
        EXPECT_LE(row.size_bytes, row.budget_bytes.value()) << name << ", frame " << row.frame;
        ++deltas;
      }
    }
    EXPECT_GT(deltas, 200) << name;
    EXPECT_GT(output.result.attempts_mean.value(), 1.01) << name;
  }
}

TEST(EncoderBench, FewerAttemptsUseLessOfTheBudget) {
  const CellResult one = run(spec_of("cress-1", "walk:60,900", 200)).result;
  const CellResult three = run(spec_of("cress", "walk:60,900", 200)).result;
  EXPECT_LT(one.attempts_mean.value(), three.attempts_mean.value());
  EXPECT_LT(one.use_total.value(), three.use_total.value());
}

TEST(EncoderBench, ConstantBitrateFollowsItsBudget) {
  const CellResult low = run(spec_of("cbr", "constant:60", 120)).result;
  const CellResult high = run(spec_of("cbr", "constant:240", 120)).result;
  EXPECT_NEAR(low.bitrate_kbps, 60, 15);
  EXPECT_NEAR(high.bitrate_kbps, 240, 60);
  EXPECT_GT(high.psnr_db.value(), low.psnr_db.value() + 1);
}

TEST(EncoderBench, ACoarserQuantizerIsSmallerAndWorse) {
  CellSpec spec = spec_of("quantizer", "none");
  spec.quantizer = 10;
  const CellResult fine = run(spec).result;
  spec.quantizer = 50;
  const CellResult coarse = run(spec).result;
  EXPECT_GT(fine.bytes, 2 * coarse.bytes);
  EXPECT_GT(fine.psnr_db.value(), coarse.psnr_db.value() + 3);
  EXPECT_EQ(coarse.quantizer_mean, 50);
  EXPECT_FALSE(coarse.fit);
  EXPECT_FALSE(coarse.budget_kbps);
}

TEST(EncoderBench, WithoutAWindowThePictureIsHeldAndAges) {
  CellContext context;
  context.budgets.assign(40, DataSize{4000});
  for (size_t i = 10; i < 30; ++i) {
    context.budgets[i] = DataSize{};
  }
  const CellOutput output = run(spec_of("cbr", "holes"), context);
  EXPECT_EQ(output.result.skipped, 20U);
  EXPECT_EQ(output.frames[15].attempts, 0);
  EXPECT_FALSE(output.frames[15].psnr_db);
  // The picture of frame 9 stays displayed: it gets worse and worse, and worse than the encoded
  // one.
  EXPECT_LT(output.frames[29].psnr_held_db, output.frames[10].psnr_held_db);
  EXPECT_LT(output.result.psnr_held_db, output.result.psnr_db.value() - 1);
  EXPECT_LT(output.result.ssim_held_db, output.result.ssim_db.value());
  EXPECT_EQ(output.frames[35].psnr_db, output.frames[35].psnr_held_db);
}

TEST(EncoderBench, WindowCarriesUnusedBytesOverUpTo100Milliseconds) {
  for (const char* encoder : {"quantizer", "cress"}) {
    const CellOutput output = run(spec_of(encoder, "window:constant:96", 60));
    const int64_t share = 96'000 / 8 / 30;
    int64_t saved = 0;
    int64_t budget_most = 0;
    for (const FrameRow& row : output.frames) {
      const int64_t budget = row.budget_bytes.value();
      EXPECT_LE(std::abs(budget - std::min(share + saved, 3 * share)), 4) << row.frame;
      saved = std::max<int64_t>(0, budget - row.size_bytes);
      budget_most = std::max(budget_most, budget);
    }
    EXPECT_GT(budget_most, share + 20) << encoder << " left nothing";
  }
  EXPECT_THROW(run(spec_of("cress", "window:window:constant:96")), std::invalid_argument);
  EXPECT_THROW(run(spec_of("cress", "window:")), std::invalid_argument);
}

TEST(EncoderBench, BeforeTheFirstFrameTheScreenIsGrey) {
  CellContext context;
  context.budgets.assign(5, DataSize{});
  const CellOutput output = run(spec_of("cbr", "nothing", 5), context);
  media::SyntheticCamera source = camera();
  EXPECT_EQ(output.frames[0].psnr_held_db,
            metrics::psnr_db(media::make_picture(160, 96), *source.picture(0)));
  EXPECT_EQ(output.result.bytes, 0);
  EXPECT_FALSE(output.result.fit);
  EXPECT_FALSE(output.result.psnr_db);
  EXPECT_EQ(output.result.use_total, std::nullopt);
}

TEST(EncoderBench, SummaryMatchesHandmadeRows) {
  const auto row = [](int64_t budget, int64_t size, double psnr, double held) {
    FrameRow made;
    made.budget_bytes = budget;
    made.size_bytes = size;
    made.attempts = budget == 0 ? 0 : (size == 0 ? 3 : 1);
    made.width = size > 1500 ? 160 : 80;
    made.quantizer = 10;
    if (size > 0) {
      made.psnr_db = psnr;
      made.ssim = 0.9;
    }
    made.psnr_held_db = held;
    made.ssim_held = 0.99;
    return made;
  };
  const std::vector<FrameRow> rows{row(1, 99'999, 1, 1),  // not scored
                                   row(1000, 1500, 40, 40), row(2000, 1000, 30, 30),
                                   row(0, 0, 0, 20),        row(4000, 4000, 50, 50),
                                   row(1000, 0, 0, 20)};
  CellSpec spec = spec_of("cbr", "hand", rows.size());
  spec.skip = 1;
  const CellResult result = summarize(rows, spec, {.numerator = 10, .denominator = 1});
  EXPECT_EQ(result.frames, 5U);
  EXPECT_EQ(result.skipped, 2U);
  EXPECT_EQ(result.fit,
            (FrameFit{.over_share = 1.0 / 3, .p50 = 1, .p95 = 1.5, .p99 = 1.5, .max = 1.5}));
  EXPECT_EQ(result.use_median, 0.5);  // of 0, .5, 1, 1.5
  EXPECT_EQ(result.use_total, 6500.0 / 8000);
  EXPECT_EQ(result.psnr_db, 40);
  EXPECT_EQ(result.psnr_held_db, 32);
  EXPECT_NEAR(result.ssim_db.value(), 10, 1e-9);
  EXPECT_NEAR(result.ssim_held_db, 20, 1e-9);
  EXPECT_NEAR(result.bitrate_kbps, 6500 * 8 / 1000.0 / 0.5, 1e-9);
  EXPECT_NEAR(result.budget_kbps.value(), 8000 * 8 / 1000.0 / 0.5, 1e-9);
  EXPECT_EQ(result.attempts_mean, 1.5);
  EXPECT_NEAR(result.scaled_share, 2.0 / 3, 1e-12);
  EXPECT_EQ(result.bytes, 6500);
}

TEST(EncoderBench, AtASmallerSizeItIsScoredAgainstTheWholePicture) {
  CellSpec spec = spec_of("quantizer", "none", 10);
  spec.quantizer = 4;
  const CellResult whole = run(spec).result;
  spec.width = 80;
  spec.height = 48;
  const CellOutput half = run(spec);
  EXPECT_EQ(half.frames[3].width, 80);
  EXPECT_LT(half.result.psnr_db.value(), whole.psnr_db.value() - 3);
  EXPECT_GT(half.result.psnr_db.value(), 20);
  EXPECT_EQ(half.result.scaled_share, 0);  // that was the requested size
}

TEST(EncoderBench, SavedFilesHoldEncodedAndDisplayedVideo) {
  const fs::path folder = fs::path{testing::TempDir()} / "cress_encoder_bench";
  fs::create_directories(folder);
  CellContext context;
  context.ivf = folder / "cell.ivf";
  context.y4m = folder / "cell.y4m";
  context.budgets.assign(30, DataSize{2000});
  for (size_t i = 12; i < 20; ++i) {
    context.budgets[i] = DataSize{};
  }
  const CellOutput output = run(spec_of("cbr", "holes", 30), context);
  ASSERT_TRUE(is_vp8_ivf(*context.ivf));
  IvfVideo coded{*context.ivf};
  media::Y4mSource seen{*context.y4m};
  EXPECT_EQ(coded.clip_length(), 30U);
  EXPECT_EQ(seen.clip_length(), 30U);
  EXPECT_EQ(coded.frame_rate(), (media::FrameRate{30, 1}));
  media::SyntheticCamera source = camera();
  for (uint64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(*coded.picture(i), *seen.picture(i)) << i;
    EXPECT_EQ(metrics::psnr_db(*coded.picture(i), *source.picture(i)),
              output.frames[i].psnr_held_db)
        << i;
  }
  fs::remove_all(folder);
}

TEST(EncoderBench, UnknownEncoderIsRejectedWithAllNames) {
  try {
    static_cast<void>(make_encoder("crb", {}));
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string{error.what()}.find("cbr-drop"), std::string::npos);
  }
}

TEST(IvfVideo, BrokenFilesAreNamed) {
  const fs::path path = fs::path{testing::TempDir()} / "cress_broken.ivf";
  const auto expect_refused = [&](const std::string& says) {
    try {
      const IvfVideo video{path};
      ADD_FAILURE() << says;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string{error.what()}.find(says), std::string::npos) << error.what();
    }
  };
  const std::vector<std::byte> junk(20, std::byte{0xFE});
  const auto write = [&](const std::vector<uint64_t>& times, bool real) {
    media::Vp8EncoderOptions options;
    options.width = 32;
    options.height = 32;
    media::Vp8Encoder encoder{options};
    media::IvfWriter writer{path, {.width = 32, .height = 32}};
    for (const uint64_t time : times) {
      const auto coded = encoder.encode(media::make_picture(32, 32));
      writer.write(time, real ? std::span<const std::byte>{coded.data} : junk);
    }
    writer.finish();
  };
  write({}, true);
  expect_refused("no picture");
  write({0, 1}, false);
  expect_refused("frame 0");
  write({0, 2, 2}, true);
  expect_refused("frame 2");
  write({0, 1, uint64_t{1} << 60U}, true);
  expect_refused("leap");
  write({5, 7, 11}, true);
  EXPECT_EQ(IvfVideo{path}.clip_length(), 4U);
  EXPECT_EQ(IvfVideo{path}.frame_rate(), (media::FrameRate{15, 1}));
  write({0, 4, 5, 6}, true);  // the frame interval is the shortest time, wherever it is
  EXPECT_EQ(IvfVideo{path}.clip_length(), 7U);
  EXPECT_EQ(IvfVideo{path}.frame_rate(), (media::FrameRate{30, 1}));
  write({0, 30'000}, true);  // in thirtieths of a second
  EXPECT_EQ(IvfVideo{path}.frame_rate(), (media::FrameRate{1, 1000}));
  write({0, 30'030}, true);
  expect_refused("a rate of 1/1001");
  write({0, 1}, true);
  save_text(load_text(path, DataSize{1 << 20}).substr(0, 60), path);
  expect_refused("ends inside");
  EXPECT_THROW(IvfVideo(path, DataSize{100}), std::runtime_error);
  fs::remove(path);
}

}  // namespace
}  // namespace cress::encoder_bench
