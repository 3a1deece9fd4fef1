#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "transport/base/text_file.hh"

namespace cress::media {

struct WavSound {
  int64_t sample_rate = 0;
  std::vector<int16_t> samples;
};

/// Reads back what a WavWriter wrote: its header of 44 bytes, then the samples.
inline WavSound load_wav(const std::filesystem::path& path) {
  const std::string bytes = load_text(path, DataSize{1 << 30});
  const auto number = [&bytes](size_t at, size_t width) {
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) {
      value = value << 8U | static_cast<unsigned char>(bytes.at(at + i));
    }
    return value;
  };
  WavSound sound{.sample_rate = static_cast<int64_t>(number(24, 4)), .samples = {}};
  for (size_t at = 44; at < 44 + number(40, 4); at += 2) {
    sound.samples.push_back(static_cast<int16_t>(static_cast<uint16_t>(number(at, 2))));
  }
  return sound;
}

}  // namespace cress::media
