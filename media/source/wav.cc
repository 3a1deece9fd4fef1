#include "media/source/wav.hh"

#include <stdexcept>
#include <string>

#include "media/source/audio_source.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

constexpr size_t kRiffHeaderBytes = 12;  // "RIFF", size, "WAVE"
constexpr size_t kChunkHeaderBytes = 8;  // name, size
constexpr size_t kFormatBytes = 16;
constexpr size_t kHeaderBytes = kRiffHeaderBytes + 2 * kChunkHeaderBytes + kFormatBytes;
constexpr uint64_t kFormatPcm = 1;

}  // namespace

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
