#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/source/audio_source.hh"

namespace cress::media {

/// Audio held in memory, in a loop: the result of decoding a file. If the loop's length is not a
/// multiple of a frame, the next loop starts in the middle of a frame. Threads: none inside; one
/// owner.
class AudioClip final : public AudioSource {
 public:
  /// `samples`: at least one.
  AudioClip(std::string name, std::vector<int16_t> samples);

  AudioFrame frame(uint64_t index) override;
  std::string description() const override { return name_; }
  /// Samples before the loop restarts.
  const std::vector<int16_t>& samples() const { return samples_; }

 private:
  std::string name_;
  std::vector<int16_t> samples_;
};

}  // namespace cress::media
