#include "media/source/wav.hh"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "media/source/audio_source.hh"
#include "transport/base/check.hh"
#include "transport/base/text_file.hh"

namespace cress::media {
namespace {

constexpr size_t kRiffHeaderBytes = 12;  // "RIFF", size, "WAVE"
constexpr size_t kChunkHeaderBytes = 8;  // name, size
constexpr size_t kFormatBytes = 16;
constexpr size_t kExtensibleBytes = 40;
constexpr size_t kHeaderBytes = kRiffHeaderBytes + 2 * kChunkHeaderBytes + kFormatBytes;
constexpr uint64_t kFormatPcm = 1;
constexpr uint64_t kFormatExtensible = 0xFFFE;
constexpr int64_t kSampleRateMin = 8'000;
constexpr int64_t kSampleRateMax = 192'000;

// All numbers are little-endian.
uint64_t get(std::span<const std::byte> in, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = width; i > 0; --i) {
    value = value << 8U | std::to_integer<uint64_t>(in[at + i - 1]);
  }
  return value;
}

bool has_name(std::span<const std::byte> in, size_t at, std::string_view name) {
  return std::memcmp(in.data() + at, name.data(), name.size()) == 0;
}

// Reads into `sound`; empty on success.
std::optional<WavError> parse_format(std::span<const std::byte> chunk, WavSound& sound) {
  if (chunk.size() < kFormatBytes) {
    return WavError::kBadFormat;
  }
  uint64_t format = get(chunk, 0, 2);
  if (format == kFormatExtensible) {
    if (chunk.size() < kExtensibleBytes) {
      return WavError::kBadFormat;
    }
    format = get(chunk, 24, 2);  // the first two bytes of the sub-format's GUID
  }
  const uint64_t channels = get(chunk, 2, 2);
  sound.sample_rate = static_cast<int64_t>(get(chunk, 4, 4));
  const uint64_t block = get(chunk, 12, 2);
  const uint64_t bits = get(chunk, 14, 2);
  if (format != kFormatPcm || bits != 16 || channels < 1 || channels > 2 ||
      sound.sample_rate < kSampleRateMin || sound.sample_rate > kSampleRateMax) {
    return WavError::kUnsupported;
  }
  if (block != 2 * channels) {
    return WavError::kBadFormat;
  }
  sound.channels = static_cast<int>(channels);
  return std::nullopt;
}

void read_samples(std::span<const std::byte> chunk, WavSound& sound) {
  const size_t block = 2U * static_cast<size_t>(sound.channels);
  const size_t count = chunk.size() / block * static_cast<size_t>(sound.channels);
  sound.samples.resize(count);
  for (size_t i = 0; i < count; ++i) {
    sound.samples[i] = static_cast<int16_t>(static_cast<uint16_t>(get(chunk, 2 * i, 2)));
  }
}

}  // namespace

const char* describe(WavError error) {
  switch (error) {
    case WavError::kNotWav:
      return "is not a WAV file";
    case WavError::kTruncated:
      return "ends before its sound begins; copy or record it again";
    case WavError::kBadFormat:
      return "has a header that contradicts itself; write it anew, for example with ffmpeg";
    case WavError::kUnsupported:
      return "is not 16 bit PCM with one or two channels at 8 to 192 kHz; convert it, for example "
             "with ffmpeg -c:a pcm_s16le";
    case WavError::kNoSound:
      return "holds no sound; record or copy it again";
  }
  return "has an unknown error";
}

Result<WavSound, WavError> parse_wav(std::span<const std::byte> file) {
  if (file.size() < kRiffHeaderBytes) {
    return WavError::kNotWav;
  }
  if (!has_name(file, 0, "RIFF") || !has_name(file, 8, "WAVE")) {
    return WavError::kNotWav;
  }
  WavSound sound;
  bool has_format = false;
  size_t at = kRiffHeaderBytes;
  while (file.size() - at >= kChunkHeaderBytes) {
    const size_t claimed = get(file, at + 4, 4);
    const size_t begin = at + kChunkHeaderBytes;
    const std::span<const std::byte> chunk =
        file.subspan(begin, std::min(claimed, file.size() - begin));
    if (has_name(file, at, "fmt ") && !has_format) {
      if (const std::optional<WavError> error = parse_format(chunk, sound)) {
        return *error;
      }
      has_format = true;
    } else if (has_name(file, at, "data")) {
      if (!has_format) {
        return WavError::kBadFormat;
      }
      read_samples(chunk, sound);
      if (sound.samples.empty()) {
        return WavError::kNoSound;
      }
      return sound;
    }
    // Chunks begin at even offsets.
    at = std::min(file.size(), begin + chunk.size() + (chunk.size() & 1U));
  }
  return WavError::kTruncated;
}

std::vector<int16_t> to_mono(const WavSound& sound) {
  if (sound.channels == 1) {
    return sound.samples;
  }
  std::vector<int16_t> mono(sound.samples.size() / 2);
  for (size_t i = 0; i < mono.size(); ++i) {
    mono[i] = static_cast<int16_t>((sound.samples[2 * i] + sound.samples[2 * i + 1]) / 2);
  }
  return mono;
}

WavSound load_wav(const std::filesystem::path& path) {
  const std::string bytes = load_text(path, kWavFileMax);
  Result<WavSound, WavError> sound = parse_wav(std::as_bytes(std::span{bytes}));
  if (!sound) {
    throw std::runtime_error(path.string() + ": " + describe(sound.error()));
  }
  return std::move(sound).value();
}

WavWriter::WavWriter(const std::filesystem::path& path)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc) {
  put_header();
  if (!file_) {
    throw std::runtime_error(path_.string() + ": cannot be written");
  }
}

void WavWriter::put_header() {
  std::string header;
  const auto put = [&header](uint64_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) {
      header.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
    }
  };
  constexpr auto kRate = static_cast<uint64_t>(kAudioSampleRate);
  const uint64_t bytes = 2 * samples_;
  header += "RIFF";
  put(kHeaderBytes - kChunkHeaderBytes + bytes, 4);
  header += "WAVEfmt ";
  put(kFormatBytes, 4);
  put(kFormatPcm, 2);
  put(1, 2);  // channel
  put(kRate, 4);
  put(2 * kRate, 4);  // bytes a second
  put(2, 2);          // bytes a sample
  put(16, 2);         // bits
  header += "data";
  put(bytes, 4);
  check(header.size() == kHeaderBytes, "WavWriter: header of a wrong size");
  file_.write(header.data(), static_cast<std::streamsize>(header.size()));
}

void WavWriter::write(std::span<const int16_t> samples) {
  constexpr uint64_t kSamplesMax = (0xFFFFFFFFU - kHeaderBytes) / 2;
  if (samples.size() > kSamplesMax - samples_) {
    throw std::runtime_error(path_.string() + ": a WAV file cannot hold more than 12 hours");
  }
  std::string bytes;
  bytes.reserve(2 * samples.size());
  for (const int16_t sample : samples) {
    const auto value = static_cast<uint16_t>(sample);
    bytes.push_back(static_cast<char>(value & 0xFFU));
    bytes.push_back(static_cast<char>(value >> 8U));
  }
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  samples_ += samples.size();
}

void WavWriter::finish() {
  file_.seekp(0);
  put_header();
  file_.close();
  if (!file_) {
    throw std::runtime_error(path_.string() + ": could not be written whole");
  }
}

}  // namespace cress::media
