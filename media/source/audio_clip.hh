#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/source/audio_source.hh"

namespace cress::media {

/// Sound held in memory, in a loop: what a decoded file becomes. A loop whose length is no multiple
/// of a frame goes on in the middle of one.
/// Threads: none inside; one owner.
class AudioClip final : public AudioSource {
 public:
  /// `samples`: at least one.
  AudioClip(std::string name, std::vector<int16_t> samples);

  AudioFrame frame(uint64_t index) override;
  std::string description() const override { return name_; }
  /// Before the loop starts again.
  const std::vector<int16_t>& samples() const { return samples_; }

 private:
  std::string name_;
  std::vector<int16_t> samples_;
};

}  // namespace cress::media
