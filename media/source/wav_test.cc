#include "media/source/wav.hh"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "media/source/audio_source.hh"
#include "transport/base/text_file.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;

std::string le(uint64_t value, size_t width) {
  std::string bytes;
  for (size_t i = 0; i < width; ++i) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
  }
  return bytes;
}

struct Format {
  uint64_t format = 1;
  uint64_t channels = 1;
  uint64_t rate = 48'000;
  uint64_t bits = 16;
  std::string tail = {};
};

std::string chunk(const std::string& name, const std::string& body) {
  return name + le(body.size(), 4) + body + std::string(body.size() % 2, '\0');
}
std::string format_chunk(const Format& f = {}) {
  const uint64_t block = f.channels * f.bits / 8;
  return chunk("fmt ", le(f.format, 2) + le(f.channels, 2) + le(f.rate, 4) + le(f.rate * block, 4) +
                           le(block, 2) + le(f.bits, 2) + f.tail);
}
std::string riff(const std::string& chunks) {
  return "RIFF" + le(4 + chunks.size(), 4) + "WAVE" + chunks;
}
Result<WavSound, WavError> parse(const std::string& bytes) {
  return parse_wav(std::as_bytes(std::span{bytes}));
}
const std::string kTwoSamples = chunk("data", le(1, 2) + le(0xFFFE, 2));

TEST(Wav, SamplesAreLittleEndianAndSigned) {
  const auto sound = parse(riff(format_chunk() + kTwoSamples));
  ASSERT_TRUE(sound);
  EXPECT_EQ(sound->samples, (std::vector<int16_t>{1, -2}));
  EXPECT_EQ(sound->sample_rate, 48'000);
}

TEST(Wav, UnknownChunksAreSkippedAndOddOnesPadded) {
  EXPECT_TRUE(
      parse(riff(chunk("LIST", "odd") + format_chunk() + chunk("fact", "1234") + kTwoSamples)));
}

TEST(Wav, TheExtensibleHeaderOfPcmIsRead) {
  const std::string tail = le(22, 2) + le(16, 2) + le(3, 4) + le(1, 2) + std::string(14, 'g');
  EXPECT_TRUE(parse(riff(format_chunk({.format = 0xFFFE, .channels = 2, .tail = tail}) +
                         chunk("data", std::string(8, 'x')))));
  const std::string floats = le(22, 2) + le(16, 2) + le(3, 4) + le(3, 2) + std::string(14, 'g');
  EXPECT_EQ(parse(riff(format_chunk({.format = 0xFFFE, .tail = floats}) + kTwoSamples)).error(),
            WavError::kUnsupported);
}

TEST(Wav, TruncatedRecordingGivesItsData) {
  std::string bytes = riff(format_chunk({.channels = 2}) + chunk("data", std::string(400, 'x')));
  bytes.resize(bytes.size() - 201);  // in the middle of a sample
  const auto sound = parse(bytes);
  ASSERT_TRUE(sound);
  EXPECT_EQ(sound->samples.size(), 98U) << "whole pairs only";
}

TEST(Wav, EachKindOfBrokenFileGetsItsName) {
  EXPECT_EQ(parse("").error(), WavError::kNotWav);
  EXPECT_EQ(parse("RIFX....WAVEfmt ").error(), WavError::kNotWav);
  EXPECT_EQ(parse(riff("")).error(), WavError::kTruncated);
  EXPECT_EQ(parse(riff(format_chunk())).error(), WavError::kTruncated);
  EXPECT_EQ(parse(riff(kTwoSamples)).error(), WavError::kBadFormat);
  EXPECT_EQ(parse(riff(chunk("fmt ", "short") + kTwoSamples)).error(), WavError::kBadFormat);
  EXPECT_EQ(parse(riff(format_chunk({.bits = 24}) + kTwoSamples)).error(), WavError::kUnsupported);
  EXPECT_EQ(parse(riff(format_chunk({.channels = 6}) + kTwoSamples)).error(),
            WavError::kUnsupported);
  EXPECT_EQ(parse(riff(format_chunk({.rate = 0}) + kTwoSamples)).error(), WavError::kUnsupported);
  EXPECT_EQ(parse(riff(format_chunk() + chunk("data", ""))).error(), WavError::kNoSound);
}

TEST(Wav, MonoIsTheMeanOfBothChannels) {
  const WavSound stereo{.sample_rate = 48'000, .channels = 2, .samples = {32767, 32767, -4, 2}};
  EXPECT_EQ(to_mono(stereo), (std::vector<int16_t>{32767, -1}));
}

TEST(Wav, WrittenDataIsReadBack) {
  const fs::path path = fs::temp_directory_path() / "cress_wav_test.wav";
  WavWriter writer{path};
  const std::vector<int16_t> samples{0, -1, 32767, -32768, 256};
  writer.write(samples);
  writer.write(samples);
  writer.finish();
  const WavSound sound = load_wav(path);
  EXPECT_EQ(sound.samples.size(), 10U);
  EXPECT_EQ(sound.samples[8], -32768);
  EXPECT_EQ(sound.sample_rate, kAudioSampleRate);
  EXPECT_EQ(fs::file_size(path), 44U + 20U);
  fs::remove(path);
}

TEST(Wav, AFileThatCannotBeWrittenOrReadIsNamed) {
  EXPECT_THROW(WavWriter("/nowhere/at/all.wav"), std::runtime_error);
  const fs::path path = fs::temp_directory_path() / "cress_wav_text.wav";
  std::ofstream(path) << "Dear diary";
  try {
    load_wav(path);
    FAIL() << "a diary was played";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("cress_wav_text.wav: is not a WAV file"),
              std::string::npos)
        << e.what();
  }
  fs::remove(path);
}

}  // namespace
}  // namespace cress::media
