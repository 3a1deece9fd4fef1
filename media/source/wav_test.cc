#include "media/source/wav.hh"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "media/source/audio_source.hh"
#include "media/source/wav_test_tools.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;

std::string number(uint64_t value, size_t width) {
  std::string bytes;
  for (size_t i = 0; i < width; ++i) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
  }
  return bytes;
}

TEST(Wav, AWrittenFileHasTheHeaderOfItsSamples) {
  const fs::path path = fs::temp_directory_path() / "cress_wav_limits.wav";
  WavWriter writer{path};
  const std::vector<int16_t> samples{258, -2, 3};
  writer.write(samples);
  writer.finish();
  std::ifstream file{path, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  EXPECT_EQ(bytes, "RIFF" + number(42, 4) + "WAVEfmt " + number(16, 4) + number(1, 2) +
                       number(1, 2) + number(48'000, 4) + number(96'000, 4) + number(2, 2) +
                       number(16, 2) + "data" + number(6, 4) + number(258, 2) + number(0xFFFE, 2) +
                       number(3, 2));
  fs::remove(path);
}

// What is too long is refused before a sample of it is read.
TEST(Wav, NoFileGrowsBeyondTheFormat) {
  const fs::path path = fs::temp_directory_path() / "cress_wav_long.wav";
  WavWriter writer{path};
  const std::vector<int16_t> samples(100);
  writer.write(samples);
  constexpr size_t kMost = (0xFFFFFFFFU - 44) / 2;
  EXPECT_THROW(writer.write(std::span{samples.data(), kMost - 99}), std::runtime_error);
  writer.finish();
  EXPECT_EQ(load_wav(path).samples.size(), 100U);
  fs::remove(path);
}

TEST(Wav, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "this system has no /dev/full";
  }
  WavWriter writer{"/dev/full"};
  writer.write(std::vector<int16_t>(100'000));
  EXPECT_THROW(writer.finish(), std::runtime_error);
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

TEST(Wav, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(WavWriter("/nowhere/at/all.wav"), std::runtime_error);
}

}  // namespace
}  // namespace cress::media
