#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "media/codec/vp8_decoder.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

constexpr int kWidth = 320;
constexpr int kHeight = 180;

SyntheticCamera make_camera() { return SyntheticCamera{{.width = kWidth, .height = kHeight}}; }

Vp8EncoderOptions quantizer_options() { return {.width = kWidth, .height = kHeight}; }

double psnr(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.luma_size(); ++i) {
    const double difference = static_cast<double>(a.y()[i]) - b.y()[i];
    sum += difference * difference;
  }
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.luma_size()) / sum);
}

// libvpx's mapping of its scale of 0..63: the index into the tables of RFC 6386 §14.1.
constexpr std::array<int, 64> kIndexOf{
    0,  1,  2,  3,  4,  5,  7,  8,  9,  10, 12,  13,  15,  17,  18,  19,  20,  21,  23,  24, 25, 26,
    27, 28, 29, 30, 31, 33, 35, 37, 39, 41, 43,  45,  47,  49,  51,  53,  55,  57,  59,  61, 64, 67,
    70, 73, 76, 79, 82, 85, 88, 91, 94, 97, 100, 103, 106, 109, 112, 115, 118, 121, 124, 127};

TEST(Vp8Encoder, EachFrameHasExactlyTheQuantizerAskedFor) {
  SyntheticCamera camera = make_camera();
  Vp8Encoder encoder{quantizer_options()};
  Vp8Decoder decoder;
  Rng rng{2};
  for (uint64_t i = 0; i < 130; ++i) {
    const int quantizer = i <= 63 ? static_cast<int>(i) : static_cast<int>(rng.below(64));
    const CodedPicture coded =
        encoder.encode(*camera.picture(i), {.quantizer = quantizer, .key_frame = i % 50 == 49});
    EXPECT_EQ(coded.quantizer, quantizer) << "frame " << i;
    EXPECT_EQ(coded.key_frame, i == 0 || i % 50 == 49) << "frame " << i;
    ASSERT_TRUE(decoder.decode(coded.data));
    EXPECT_EQ(decoder.quantizer_index(), kIndexOf.at(static_cast<size_t>(quantizer)))
        << "what counts is what a decoder reads in the frame";
  }
}

// A static camera in bad light.
Picture add_noise(Picture picture, Rng& rng) {
  uint8_t* luma = picture.y();
  for (size_t i = 0; i < picture.luma_size(); ++i) {
    luma[i] = static_cast<uint8_t>(std::clamp(luma[i] + 5 * rng.normal(), 0.0, 255.0));
  }
  return picture;
}

TEST(Vp8Encoder, DenoisingEncodesTheSceneNotTheNoise) {
  const Picture scene = *make_camera().picture(0);
  std::array<double, 2> quality{};
  std::array<double, 2> bytes{};
  for (const bool denoise : {false, true}) {
    Vp8Encoder encoder{{.width = kWidth, .height = kHeight, .denoise = denoise}};
    Rng rng{8};
    for (int i = 0; i < 40; ++i) {
      const CodedPicture coded = encoder.encode(add_noise(scene, rng), {.quantizer = 14});
      bytes.at(denoise) += static_cast<double>(coded.data.size());
    }
    quality.at(denoise) = psnr(encoder.reference(ReferenceBuffer::kLast), scene);
  }
  EXPECT_LT(bytes[1], 0.95 * bytes[0]);
  EXPECT_GT(quality[1], quality[0]) << "dB, against the scene without noise";
}

TEST(Vp8Encoder, LibvpxsOwnRateControlNeverMovesTheQuantizer) {
  // With an everyday target instead of plenty, libvpx encodes most frames of both runs one index
  // too coarse once its buffer has filled or drained.
  const auto steps = [](uint64_t i) { return i / 30 % 2 == 1 ? 8 : 30; };
  const auto ramp = [](uint64_t i) { return std::max(2, 60 - static_cast<int>(i) / 5); };
  for (const bool ramping : {false, true}) {
    SyntheticCamera camera = make_camera();
    Vp8Encoder encoder{quantizer_options()};
    for (uint64_t i = 0; i < 400; ++i) {
      const int wanted = ramping ? ramp(i) : steps(i);
      ASSERT_EQ(encoder.encode(*camera.picture(i), {.quantizer = wanted}).quantizer, wanted) << i;
    }
  }
}

TEST(Vp8Encoder, FinerQuantizerCostsMoreAndLooksBetter) {
  SyntheticCamera camera = make_camera();
  DataSize last_size{INT64_MAX};
  double last_psnr = INFINITY;
  for (const int quantizer : {4, 12, 20, 32, 44, 56, 63}) {
    Vp8Encoder encoder{quantizer_options()};
    Vp8Decoder decoder;
    DataSize size;
    double quality = 0;
    for (uint64_t i = 0; i < 10; ++i) {
      const PicturePtr picture = camera.picture(i);
      const CodedPicture coded = encoder.encode(*picture, {.quantizer = quantizer});
      size += coded.size();
      quality += psnr(*picture, *decoder.decode(coded.data).value()) / 10;
    }
    EXPECT_LT(size, last_size) << quantizer;
    EXPECT_LT(quality, last_psnr) << quantizer;
    last_size = size;
    last_psnr = quality;
  }
}

TEST(Vp8Encoder, SamePicturesAndCallsGiveTheSameBytes) {
  for (const RateMode mode : {RateMode::kQuantizer, RateMode::kConstantBitrate}) {
    SyntheticCamera camera = make_camera();
    Vp8EncoderOptions options = quantizer_options();
    options.rate_mode = mode;
    Vp8Encoder one{options};
    Vp8Encoder two{options};
    for (uint64_t i = 0; i < 40; ++i) {
      const EncodeOptions frame{.quantizer = static_cast<int>(10 + i), .key_frame = i == 20};
      ASSERT_EQ(one.encode(*camera.picture(i), frame), two.encode(*camera.picture(i), frame)) << i;
    }
  }
}

TEST(Vp8, DecodedPictureEqualsTheEncodersReconstruction) {
  // 333 × 187: neither side is a whole number of macroblocks, nor even.
  for (const auto& [width, height] : {std::pair{kWidth, kHeight}, {333, 187}}) {
    SyntheticCamera camera{{.width = width, .height = height}};
    Vp8Encoder encoder{{.width = width, .height = height}};
    Vp8Decoder decoder;
    for (uint64_t i = 0; i < 30; ++i) {
      const CodedPicture coded =
          encoder.encode(*camera.picture(i), {.quantizer = static_cast<int>(i * 2)});
      const auto decoded = decoder.decode(coded.data);
      ASSERT_TRUE(decoded);
      ASSERT_EQ(**decoded, encoder.reference(ReferenceBuffer::kLast)) << "frame " << i;
    }
  }
}

TEST(Vp8, AnAttemptThrownAwayLeavesTheDecoderInStep) {
  // One encoder makes a discarded attempt before each frame, the other does not; decoders of both
  // must give the same pictures. Both follow explicit plans, as a caller with attempts does.
  SyntheticCamera camera = make_camera();
  Vp8Encoder with_attempts{quantizer_options()};
  Vp8Encoder without{quantizer_options()};
  Vp8Decoder decoder;
  DataSize tried;
  DataSize plain;
  const ReferencePlan keep{.update_entropy = false};
  const ReferencePlan attempt{.replace_last = false, .update_entropy = false};
  for (uint64_t i = 0; i < 30; ++i) {
    const PicturePtr picture = camera.picture(i);
    if (i > 0) {
      with_attempts.encode(*picture, {.quantizer = 5, .references = attempt});
    }
    const EncodeOptions frame{.quantizer = 30, .references = keep};
    const CodedPicture coded = with_attempts.encode(*picture, frame);
    const auto decoded = decoder.decode(coded.data);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(**decoded, with_attempts.reference(ReferenceBuffer::kLast)) << i;
    tried += coded.size();
    plain += without.encode(*picture, frame).size();
  }
  EXPECT_NEAR(static_cast<double>(tried.bytes()) / static_cast<double>(plain.bytes()), 1.0, 0.1)
      << "the attempts cost the frames that follow next to nothing";
}

TEST(Vp8, ARestoredReferenceUndoesAnAttemptThatReplacedIt) {
  // Frames read and write "last"; every other one writes golden too, as a rejected attempt may.
  for (const auto& [width, height] : {std::pair{kWidth, kHeight}, {333, 187}}) {
    SyntheticCamera camera{{.width = width, .height = height}};
    Vp8Encoder with_attempts{{.width = width, .height = height}};
    Vp8Encoder without{{.width = width, .height = height}};
    Vp8Decoder decoder;
    ReferenceCopy before;
    ReferenceCopy kept;
    DataSize tried;
    DataSize plain;
    for (uint64_t i = 0; i < 60; ++i) {
      const PicturePtr picture = camera.picture(i);
      const ReferencePlan plan{.read_golden = false,
                               .read_alternate = false,
                               .replace_golden = i % 2 == 1,
                               .update_entropy = false};
      const EncodeOptions frame{.quantizer = 30, .references = plan};
      CodedPicture coded;
      if (i == 0) {
        coded = with_attempts.encode(*picture, {.quantizer = 30});
        without.encode(*picture, {.quantizer = 30});
      } else {
        with_attempts.save_reference(ReferenceBuffer::kLast, before);
        const Picture alternate = with_attempts.reference(ReferenceBuffer::kAlternate);
        const auto attempt = [&](int quantizer) {
          return with_attempts.encode(*picture, {.quantizer = quantizer, .references = plan});
        };
        const auto undo = [&] { with_attempts.restore_reference(ReferenceBuffer::kLast, before); };
        attempt(5);
        undo();
        coded = attempt(30);
        // A later attempt is worse, and the one before is sent instead.
        with_attempts.save_reference(ReferenceBuffer::kLast, kept);
        undo();
        attempt(60);
        with_attempts.restore_reference(ReferenceBuffer::kLast, kept);
        EXPECT_EQ(with_attempts.reference(ReferenceBuffer::kAlternate), alternate);
        tried += coded.size();
        plain += without.encode(*picture, frame).size();
      }
      const auto decoded = decoder.decode(coded.data);
      ASSERT_TRUE(decoded);
      ASSERT_EQ(**decoded, with_attempts.reference(ReferenceBuffer::kLast)) << i;
      if (plan.replace_golden) {
        ASSERT_EQ(**decoded, with_attempts.reference(ReferenceBuffer::kGolden)) << i;
      }
    }
    // What libvpx remembers of attempts (which modes were worth trying, the loop filter) makes 1 %
    // and 0.03 dB when attempts are near the frame that is sent; these are far from it.
    EXPECT_NEAR(static_cast<double>(tried.bytes()) / static_cast<double>(plain.bytes()), 1.0, 0.05);
  }
}

TEST(Vp8, ErrorResilientKeepsGoldenAndAlternateAsLongAsThePlanSays) {
  SyntheticCamera camera = make_camera();
  Vp8EncoderOptions options = quantizer_options();
  options.error_resilient = true;
  Vp8Encoder encoder{options};
  Rng rng{1};
  encoder.encode(*camera.picture(0), {.quantizer = 20});
  const Picture kept = encoder.reference(ReferenceBuffer::kGolden);
  const ReferencePlan plan{.read_golden = false, .read_alternate = false, .update_entropy = false};
  for (uint64_t i = 1; i < 500; ++i) {
    const int quantizer = 4 + static_cast<int>(rng.below(40));
    EXPECT_EQ(
        encoder.encode(*camera.picture(i), {.quantizer = quantizer, .references = plan}).quantizer,
        quantizer);
    ASSERT_EQ(encoder.reference(ReferenceBuffer::kGolden), kept) << i;
    ASSERT_EQ(encoder.reference(ReferenceBuffer::kAlternate), kept) << i;
  }
}

TEST(Vp8, AFrameMayReferToAnOlderBufferAfterALoss) {
  SyntheticCamera camera = make_camera();
  Vp8Encoder encoder{quantizer_options()};
  Vp8Decoder decoder;
  const auto decode = [&](const CodedPicture& coded) {
    return *decoder.decode(coded.data).value();
  };
  decode(encoder.encode(*camera.picture(0), {.quantizer = 20}));
  decode(encoder.encode(*camera.picture(1),
                        {.quantizer = 20, .references = ReferencePlan{.replace_golden = true}}));
  // Pictures 2 to 4 are lost in transit.
  for (uint64_t i = 2; i < 5; ++i) {
    encoder.encode(*camera.picture(i),
                   {.quantizer = 20, .references = ReferencePlan{.update_entropy = false}});
  }
  const CodedPicture repaired = encoder.encode(
      *camera.picture(5),
      {.quantizer = 20, .references = ReferencePlan{.read_last = false, .read_alternate = false}});
  EXPECT_FALSE(repaired.key_frame);
  EXPECT_EQ(decode(repaired), encoder.reference(ReferenceBuffer::kLast));
}

TEST(Vp8, SizeChangesWithAKeyFrame) {
  Vp8Encoder encoder{quantizer_options()};
  Vp8Decoder decoder;
  for (const auto& [width, height] : {std::pair{320, 180}, {640, 360}, {161, 91}, {320, 180}}) {
    SyntheticCamera camera{{.width = width, .height = height}};
    encoder.set_size(width, height);
    for (uint64_t i = 0; i < 3; ++i) {
      const CodedPicture coded = encoder.encode(*camera.picture(i), {.quantizer = 20});
      EXPECT_EQ(coded.key_frame, i == 0);
      const auto decoded = decoder.decode(coded.data);
      ASSERT_TRUE(decoded);
      EXPECT_EQ((*decoded)->width, width);
      EXPECT_EQ((*decoded)->height, height);
      EXPECT_GT(psnr(**decoded, *camera.picture(i)), 30);
    }
  }
}

TEST(Vp8Encoder, ConstantBitrateFollowsItsTarget) {
  SyntheticCamera camera = make_camera();
  Vp8EncoderOptions options = quantizer_options();
  options.rate_mode = RateMode::kConstantBitrate;
  options.target = DataRate::kilobits_per_second(200);
  Vp8Encoder encoder{options};
  uint64_t index = 0;
  for (const int kilobits : {200, 500, 100}) {
    encoder.set_target(DataRate::kilobits_per_second(kilobits));
    DataSize size;
    for (int i = 0; i < 180; ++i, ++index) {
      const CodedPicture coded = encoder.encode(
          *camera.picture(index), {.capture_time = kTimeZero + camera.frame_rate().time_of(index)});
      if (i >= 60) {  // two seconds to settle
        size += coded.size();
      }
    }
    const double reached = DataRate::from(size, 4s).kilobits_per_second();
    EXPECT_NEAR(reached, kilobits, 0.15 * kilobits);
  }
}

TEST(Vp8Encoder, DropsPicturesOnlyWhenAllowedTo) {
  SyntheticCamera camera{{.width = 640, .height = 360}};
  for (const bool drop : {false, true}) {
    Vp8EncoderOptions options{.rate_mode = RateMode::kConstantBitrate,
                              .target = DataRate::kilobits_per_second(30),
                              .drop_frames = drop};
    Vp8Encoder encoder{options};
    int dropped = 0;
    for (uint64_t i = 0; i < 90; ++i) {
      const CodedPicture coded = encoder.encode(*camera.picture(i));
      dropped += coded.dropped() ? 1 : 0;
      EXPECT_FALSE(coded.dropped() && coded.key_frame) << i;
    }
    EXPECT_EQ(dropped > 0, drop);
  }
}

TEST(Vp8Encoder, ItsEffortChangesFromTheNextFrameOn) {
  SyntheticCamera camera = make_camera();
  const auto coded = [&](int effort_first, int effort_then) {
    Vp8Encoder encoder{{.width = kWidth, .height = kHeight, .cpu_used = -8}};
    encoder.set_cpu_used(effort_first);
    std::vector<std::vector<std::byte>> frames;
    for (uint64_t i = 0; i < 4; ++i) {
      encoder.set_cpu_used(i < 2 ? effort_first : effort_then);
      frames.push_back(encoder.encode(*camera.picture(i)).data);
    }
    return frames;
  };
  const auto high = coded(-3, -3);
  const auto low = coded(-8, -8);
  const auto rising = coded(-8, -3);
  EXPECT_NE(high[1], low[1]);
  EXPECT_EQ(rising[1], low[1]);
  EXPECT_NE(rising[2], low[2]);
  Vp8Encoder slow{{.width = kWidth, .height = kHeight, .cpu_used = -3}};
  EXPECT_EQ(slow.encode(*camera.picture(0)).data, high[0]);
}

TEST(Vp8Encoder, MisuseIsOurBug) {
  EXPECT_DEATH(Vp8Encoder{{.cpu_used = 4}}, "cpu_used");
  Vp8Encoder encoder{quantizer_options()};
  EXPECT_DEATH(encoder.encode(make_picture(64, 64)), "another size");
  EXPECT_DEATH(encoder.encode(make_picture(kWidth, kHeight), {.quantizer = 64}), "quantizer");
  EXPECT_DEATH(encoder.set_target(DataRate::kilobits_per_second(1)), "constant bitrate");
  EXPECT_DEATH(encoder.set_cpu_used(0), "cpu_used");
}

TEST(Vp8Decoder, InvalidFramesAreNamed) {
  SyntheticCamera camera = make_camera();
  Vp8Encoder encoder{quantizer_options()};
  const CodedPicture key = encoder.encode(*camera.picture(0));
  const CodedPicture delta = encoder.encode(*camera.picture(1));
  Vp8Decoder decoder;
  EXPECT_EQ(decoder.decode({}).error(), DecodeError::kEmpty);
  EXPECT_EQ(decoder.decode(delta.data).error(), DecodeError::kNoKeyFrame);
  EXPECT_EQ(decoder.decode(std::vector<std::byte>(100)).error(), DecodeError::kUnsupported);
  EXPECT_EQ(decoder.decode(std::span{key.data}.first(5)).error(), DecodeError::kUnsupported);
  std::vector<std::byte> huge = key.data;
  huge[6] = huge[8] = std::byte{0xFF};
  huge[7] = huge[9] = std::byte{0x3F};
  EXPECT_EQ(decoder.decode(huge).error(), DecodeError::kTooLarge);
  EXPECT_TRUE(decoder.decode(key.data)) << "and still works afterwards";
  EXPECT_TRUE(decoder.decode(delta.data));
}

TEST(Vp8Decoder, ThePixelLimitHoldsForEveryKeyFrame) {
  const auto key_frame = [](int width, int height) {
    Vp8Encoder encoder{{.width = width, .height = height}};
    return encoder.encode(make_picture(width, height), {.key_frame = true}).data;
  };
  Vp8Decoder decoder{{.pixels_max = 64 * 48}};
  for (const auto& [width, height, fits] : {std::tuple{64, 49, false},
                                            {64, 48, true},
                                            {64, 49, false},
                                            {1'024, 768, false},
                                            {64, 48, true}}) {
    const auto decoded = decoder.decode(key_frame(width, height));
    ASSERT_EQ(decoded.has_value(), fits) << width << " x " << height;
    EXPECT_TRUE(fits || decoded.error() == DecodeError::kTooLarge);
  }
}

TEST(Vp8Decoder, DamagedFramesNeverStopItFromDecodingTheNextKeyFrame) {
  SyntheticCamera camera = make_camera();
  Vp8Encoder encoder{quantizer_options()};
  std::vector<CodedPicture> clip;
  for (uint64_t i = 0; i < 12; ++i) {
    clip.push_back(encoder.encode(*camera.picture(i), {.quantizer = 30, .key_frame = i == 11}));
  }
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng{seed};
    Vp8Decoder decoder;
    for (size_t i = 0; i < 11; ++i) {
      std::vector<std::byte> frame = clip[i].data;
      if (rng.chance(0.5)) {
        frame.resize(1 + rng.below(frame.size()));
      }
      for (uint64_t flips = rng.below(8); flips > 0; --flips) {
        frame[rng.below(frame.size())] ^= static_cast<std::byte>(1U << rng.below(8));
      }
      const auto decoded = decoder.decode(frame);
      if (decoded && *decoded != nullptr) {
        EXPECT_EQ((*decoded)->data.size(), (*decoded)->luma_size() + 2 * (*decoded)->chroma_size());
      }
    }
    const auto last = decoder.decode(clip[11].data);
    ASSERT_TRUE(last) << "seed " << seed << ": " << describe(last.error());
    EXPECT_EQ(**last, encoder.reference(ReferenceBuffer::kLast)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cress::media
