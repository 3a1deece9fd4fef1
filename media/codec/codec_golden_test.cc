#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "media/codec/opus_decoder.hh"
#include "media/codec/opus_encoder.hh"
#include "media/codec/opus_packet.hh"
#include "media/codec/versions.hh"
#include "media/codec/vp8_decoder.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/frame/encoded_frame.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a digest is of char
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One way to use the encoder: the options for frame `i`, after `prepare` on the encoder.
struct GoldenCoding {
  const char* what;
  Vp8EncoderOptions options;
  int frames = 30;
  EncodeOptions (*ask)(uint64_t i);
};

constexpr FrameRate kGoldenRate{24'000, 1001};

EncodeOptions ask_quantizer(uint64_t i) {
  return {.quantizer = static_cast<int>(i * 7 % 64), .key_frame = i == 13};
}
EncodeOptions ask_plan(uint64_t i) {
  return {.quantizer = 30,
          .references = ReferencePlan{.read_last = i % 5 != 0,
                                      .read_golden = i % 3 != 0,
                                      .read_alternate = i % 4 != 0 || i % 5 == 0,
                                      .replace_last = i % 7 != 0,
                                      .replace_golden = i % 6 == 0,
                                      .replace_alternate = i % 8 == 1,
                                      .update_entropy = i % 2 == 0}};
}
EncodeOptions ask_nothing(uint64_t i) { return {.key_frame = i == 40}; }
EncodeOptions ask_time(uint64_t i) {
  return {.capture_time = kTimeZero + 5s + kGoldenRate.time_of(i) + (i % 3) * 7ms};
}

TEST(Vp8Encoder, CodesAsRecorded) {
  using enum RateMode;
  const auto target = [](int64_t kbps) { return DataRate::kilobits_per_second(kbps); };
  std::ostringstream text;
  text << codec_versions() << "\n";
  for (const GoldenCoding& coding : {
           GoldenCoding{"quantizers", {.width = 160, .height = 90}, 30, ask_quantizer},
           {"odd size, slow", {.width = 97, .height = 61, .cpu_used = -3}, 20, ask_quantizer},
           {"plans", {.width = 160, .height = 90, .error_resilient = true}, 60, ask_plan},
           {"noise reduction", {.width = 160, .height = 90, .denoise = true}, 20, ask_quantizer},
           {"constant bitrate",
            {.width = 160, .height = 90, .rate_mode = kConstantBitrate, .target = target(120)},
            90,
            ask_nothing},
           {"capture times, two rates",
            {.width = 160,
            .height = 90,
            .frame_rate = kGoldenRate,
            .rate_mode = kConstantBitrate,
            .target = target(60),
            .quantizer_min = 10,
            .quantizer_max = 40},
            90,
            ask_time},
           {"dropping",
            {.width = 320,
            .height = 180,
            .rate_mode = kConstantBitrate,
            .target = target(12),
            .drop_frames = true,
            .quantizer_max = 30},
            60,
            ask_nothing},
       }) {
    text << coding.what;
    SyntheticCamera camera{{.width = coding.options.width, .height = coding.options.height}};
    Vp8Encoder encoder{coding.options};
    std::string all;
    for (uint64_t i = 0; i < static_cast<uint64_t>(coding.frames); ++i) {
      if (i == 45 && coding.options.rate_mode == kConstantBitrate) {
        encoder.set_target(target(30));
      }
      const CodedPicture coded = encoder.encode(*camera.picture(i), coding.ask(i));
      all += text_of(coded.data);
      text << (i % 10 == 0 ? "\n" : " ") << coded.data.size() << "q" << coded.quantizer
           << (coded.key_frame ? "K" : "");
      if (i % 10 == 9) {
        const Picture golden = encoder.reference(ReferenceBuffer::kGolden);
        const Picture alternate = encoder.reference(ReferenceBuffer::kAlternate);
        text << " " << golden_digest(all) << (golden == alternate ? " =" : "");
      }
    }
    text << "\n";
  }
  if (!golden_begins("vp8", codec_versions())) {
    GTEST_SKIP() << "recorded with other codecs than " << codec_versions();
  }
  expect_golden("vp8", text.str());
}

double loudness_of(std::span<const int16_t> samples) {
  double sum = 0;
  for (const int16_t sample : samples) {
    sum += static_cast<double>(sample) * sample;
  }
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

// A size for each frame, with f if it holds a copy and - if it is background; below it the loudness
// of the decoder's output, with every seventh frame lost.
TEST(Opus, CodesAndDecodesAsRecorded) {
  std::ostringstream text;
  text << codec_versions() << "\n";
  SyntheticVoice voice;
  for (const auto& [target, loss, dtx] : {std::tuple{24, 0.0, true},
                                          {16, 0.1, true},
                                          {40, 0.2, false},
                                          {6, 0.004, true},
                                          {128, 1.0, true}}) {
    OpusEncoder encoder{{.target = DataRate::kilobits_per_second(target), .dtx = dtx}};
    encoder.set_expected_loss(loss);
    OpusDecoder decoder;
    text << target << " kbit/s, loss " << loss << ", delay " << encoder.delay().count();
    std::string heard;
    bool lost = false;
    for (uint64_t i = 0; i < 120; ++i) {
      // A second of the voice, then a second and more of near silence.
      AudioFrame frame = voice.frame(i + 10);
      for (int16_t& sample : frame) {
        sample = static_cast<int16_t>(i < 50 ? sample : sample / 4'000);
      }
      const CodedSound coded = encoder.encode(frame);
      text << (i % 30 == 0 ? "\n" : " ") << coded.data.size() << (coded.info.has_fec ? "f" : "")
           << (coded.info.active ? "" : "-");
      AudioFrame out{};
      if (lost && coded.info.has_fec) {
        out = *decoder.decode_fec(coded.data);
      } else if (lost) {
        out = decoder.conceal();
      }
      heard += lost ? " (" + std::to_string(std::lround(loudness_of(out))) + ")" : "";
      lost = coded.is_silence() || i % 7 == 3;
      if (!lost) {
        out = *decoder.decode(coded.data);
        heard += " " + std::to_string(std::lround(loudness_of(out)));
      }
    }
    text << "\n" << heard << "\n";
  }
  if (!golden_begins("opus", codec_versions())) {
    GTEST_SKIP() << "recorded with other codecs than " << codec_versions();
  }
  expect_golden("opus", text.str());
}

// Each first byte with each kind of second one: refused, or a for active, f for a copy.
TEST(Opus, EveryFirstByteIsReadAsRecorded) {
  std::ostringstream text;
  for (unsigned toc = 0; toc < 256; ++toc) {
    text << (toc % 8 == 0 ? "\n" : " | ");
    for (const int second : {-1, 0x3F, 0x40, 0x80, 0xC0}) {
      std::vector<std::byte> packet{static_cast<std::byte>(toc)};
      if (second >= 0) {
        packet.push_back(static_cast<std::byte>(second));
      }
      const auto info = inspect_opus(packet);
      text << (info ? std::string{info->active ? "a" : "."} + (info->has_fec ? "f" : ".") : "x");
    }
  }
  expect_golden("opus_packets", text.str() + "\n");
}

TEST(Opus, PacketsOfEverySizeAreInspected) {
  std::vector<std::byte> packet(kOpusPacketMax, std::byte{0x08});
  EXPECT_TRUE(inspect_opus(packet));
  packet.push_back(std::byte{});
  EXPECT_EQ(inspect_opus(packet).error(), OpusError::kTooLarge);
  EXPECT_EQ(inspect_opus({}).error(), OpusError::kEmpty);
}

TEST(Opus, EachErrorHasItsOwnWords) {
  EXPECT_STREQ(describe(OpusError::kEmpty), "empty sound packet");
  EXPECT_STREQ(describe(OpusError::kTooLarge), "sound packet too large");
  EXPECT_STREQ(describe(OpusError::kMalformed), "not an Opus packet");
  EXPECT_STREQ(describe(OpusError::kNotOneFrame), "not one Opus frame of 20 ms");
  EXPECT_STREQ(describe(OpusError::kNoFec), "no copy of the frame before");
}

TEST(Opus, OptionsAreBounded) {
  for (const int complexity : {0, 10}) {
    EXPECT_NO_THROW(OpusEncoder({.complexity = complexity}));
  }
  EXPECT_DEATH(OpusEncoder({.complexity = -1}), "complexity");
  EXPECT_DEATH(OpusEncoder({.complexity = 11}), "complexity");
  OpusEncoder encoder{{.target = DataRate::kilobits_per_second(129)}};
  EXPECT_EQ(encoder.target(), kOpusRateMax);
  EXPECT_DEATH(encoder.set_expected_loss(-0.01), "out of range");
  EXPECT_DEATH(encoder.set_expected_loss(1.01), "out of range");
}

std::vector<std::byte> key_frame_of(int width, int height) {
  Vp8Encoder encoder{{.width = width, .height = height}};
  return encoder.encode(make_picture(width, height)).data;
}

DecodeError error_of(std::vector<std::byte> frame) {
  Vp8Decoder decoder;
  const auto decoded = decoder.decode(frame);
  EXPECT_FALSE(decoded);
  return decoded ? DecodeError::kEmpty : decoded.error();
}

TEST(Vp8Decoder, EveryPartOfAKeyFramesHeaderIsChecked) {
  const std::vector<std::byte> key = key_frame_of(32, 32);
  for (const size_t magic : {3U, 4U, 5U}) {
    std::vector<std::byte> frame = key;
    frame[magic] ^= std::byte{1};
    EXPECT_EQ(error_of(frame), DecodeError::kUnsupported) << magic;
  }
  for (const size_t side : {6U, 8U}) {
    std::vector<std::byte> frame = key;
    frame[side] = frame[side + 1] = std::byte{};
    EXPECT_EQ(error_of(frame), DecodeError::kUnsupported) << "no width or no height";
    frame[side + 1] = std::byte{0x40};  // how to scale it, and no size
    EXPECT_EQ(error_of(frame), DecodeError::kUnsupported) << side;
  }
  for (const size_t size : {1U, 2U, 9U}) {
    EXPECT_EQ(error_of({key.begin(), key.begin() + size}), DecodeError::kUnsupported) << size;
  }
  for (const size_t size : {1U, 2U, 3U}) {  // of a delta frame
    EXPECT_EQ(error_of(std::vector<std::byte>(size, std::byte{1})),
              size < 3 ? DecodeError::kUnsupported : DecodeError::kNoKeyFrame);
  }
  std::vector<std::byte> large(static_cast<size_t>(kEncodedFrameMax.bytes()) + 1, std::byte{1});
  EXPECT_EQ(error_of(large), DecodeError::kUnsupported);
  large.pop_back();
  EXPECT_EQ(error_of(large), DecodeError::kNoKeyFrame);
}

TEST(Vp8Decoder, HiddenFrameGivesNoPicture) {
  SyntheticCamera camera{{.width = 64, .height = 48}};
  Vp8Encoder encoder{{.width = 64, .height = 48}};
  Vp8Decoder decoder;
  EXPECT_EQ(decoder.quantizer_index(), 0) << "before any frame";
  ASSERT_TRUE(decoder.decode(encoder.encode(*camera.picture(0)).data));
  std::vector<std::byte> hidden = encoder.encode(*camera.picture(1)).data;
  hidden[0] &= ~std::byte{0x10};  // RFC 6386 §9.1: show_frame
  const auto decoded = decoder.decode(hidden);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, nullptr);
  const auto next = decoder.decode(encoder.encode(*camera.picture(2)).data);
  ASSERT_TRUE(next);
  EXPECT_EQ(**next, encoder.reference(ReferenceBuffer::kLast)) << "it was decoded all the same";
}

TEST(Vp8Decoder, EachErrorHasItsOwnWords) {
  EXPECT_STREQ(describe(DecodeError::kEmpty), "empty frame");
  EXPECT_STREQ(describe(DecodeError::kNoKeyFrame), "delta frame before any key frame");
  EXPECT_STREQ(describe(DecodeError::kTooLarge), "picture too large");
  EXPECT_STREQ(describe(DecodeError::kUnsupported), "not a VP8 frame");
  EXPECT_STREQ(describe(DecodeError::kCorrupt), "corrupt VP8 frame");
}

TEST(Vp8Encoder, OptionsAreBounded) {
  EXPECT_DEATH(Vp8Encoder({.width = 0, .height = 16}), "size");
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = 0}), "size");
  EXPECT_DEATH(Vp8Encoder({.width = kPictureSideMax + 1, .height = 16}), "size");
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = kPictureSideMax + 1}), "size");
  EXPECT_NO_THROW(Vp8Encoder({.width = kPictureSideMax, .height = 1}));
  EXPECT_NO_THROW(Vp8Encoder({.width = 1, .height = kPictureSideMax}));
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = 16, .frame_rate = {0, 1}}), "frame rate");
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = 16, .frame_rate = {1, 0}}), "frame rate");
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = 16, .cpu_used = 0}), "cpu_used");
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = 16, .cpu_used = -17}), "cpu_used");
  EXPECT_NO_THROW(Vp8Encoder({.width = 16, .height = 16, .cpu_used = -16}));
  EXPECT_NO_THROW(Vp8Encoder({.width = 16, .height = 16, .cpu_used = -1}));
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = 16, .quantizer_min = -1}), "quantizers");
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = 16, .quantizer_min = 57}), "quantizers");
  EXPECT_DEATH(Vp8Encoder({.width = 16, .height = 16, .quantizer_max = 64}), "quantizers");
  EXPECT_NO_THROW(Vp8Encoder({.width = 16, .height = 16, .quantizer_min = 0, .quantizer_max = 63}));
  EXPECT_NO_THROW(Vp8Encoder({.width = 16, .height = 16, .quantizer_min = 56}));
  Vp8Encoder encoder{{.width = 16, .height = 16}};
  EXPECT_DEATH(encoder.set_size(0, 16), "size");
  EXPECT_DEATH(encoder.set_size(16, 0), "size");
  EXPECT_DEATH(encoder.set_size(kPictureSideMax + 1, 16), "size");
  EXPECT_DEATH(encoder.set_size(16, kPictureSideMax + 1), "size");
  EXPECT_DEATH(encoder.encode(make_picture(16, 16), {.quantizer = -1}), "quantizer");
  EXPECT_DEATH(encoder.encode(make_picture(16, 15)), "another size");
  EXPECT_DEATH(encoder.encode(make_picture(15, 16)), "another size");
  EXPECT_DEATH(encoder.restore_reference(ReferenceBuffer::kLast, {}), "without content");
}

TEST(Vp8Encoder, CaptureTimesOfConstantBitrateMustGrow) {
  Vp8Encoder encoder{{.width = 16, .height = 16, .rate_mode = RateMode::kConstantBitrate}};
  const Picture picture = make_picture(16, 16);
  encoder.encode(picture, {.capture_time = kTimeZero + 1s});
  encoder.encode(picture, {.capture_time = kTimeZero + 1s + 1us});
  EXPECT_DEATH(encoder.encode(picture, {.capture_time = kTimeZero + 1s + 1us}), "does not grow");
}

TEST(Vp8Encoder, TheSameSizeAgainIsNoChange) {
  SyntheticCamera camera{{.width = 64, .height = 48}};
  Vp8Encoder encoder{{.width = 64, .height = 48}};
  encoder.encode(*camera.picture(0));
  encoder.set_size(64, 48);
  EXPECT_FALSE(encoder.encode(*camera.picture(1)).key_frame);
  for (const auto& [width, height] : {std::pair{64, 32}, {48, 32}}) {  // one side changes
    encoder.set_size(width, height);
    EXPECT_TRUE(encoder.encode(make_picture(width, height)).key_frame);
  }
}

TEST(Vp8Encoder, ConstantBitrateUsesQuantizers2To56) {
  for (const auto& [kbps, expected] : {std::pair{20'000, 2}, {5, 56}}) {
    SyntheticCamera camera{{.width = 64, .height = 48}};
    Vp8Encoder encoder{{.width = 64,
                        .height = 48,
                        .rate_mode = RateMode::kConstantBitrate,
                        .target = DataRate::kilobits_per_second(kbps)}};
    int last = 0;
    for (uint64_t i = 0; i < 30; ++i) {
      last = encoder.encode(*camera.picture(i)).quantizer;
    }
    EXPECT_EQ(last, expected) << kbps << " kbit/s";
  }
}

TEST(Vp8Encoder, AChangeOfSizeKeepsTheTarget) {
  const auto bytes_after = [](int64_t kbps) {
    SyntheticCamera camera{{.width = 128, .height = 96}};
    Vp8Encoder encoder{{.width = 64, .height = 48, .rate_mode = RateMode::kConstantBitrate}};
    encoder.set_target(DataRate::kilobits_per_second(kbps));
    encoder.set_size(128, 96);
    size_t bytes = 0;
    for (uint64_t i = 0; i < 60; ++i) {
      bytes += encoder.encode(*camera.picture(i)).data.size();
    }
    return bytes;
  };
  EXPECT_LT(2 * bytes_after(40), bytes_after(200));
}

}  // namespace
}  // namespace cress::media
