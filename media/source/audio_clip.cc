#include "media/source/audio_clip.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::media {

AudioClip::AudioClip(std::string name, std::vector<int16_t> samples)
    : name_(std::move(name)), samples_(std::move(samples)) {
  check(!samples_.empty(), "AudioClip: no sound");
}

AudioFrame AudioClip::frame(uint64_t index) {
  const auto length = static_cast<unsigned __int128>(samples_.size());
  auto at =
      static_cast<size_t>(static_cast<unsigned __int128>(index) * kAudioFrameSamples % length);
  AudioFrame frame;
  size_t filled = 0;
  while (filled < frame.size()) {
    const size_t run = std::min(frame.size() - filled, samples_.size() - at);
    std::copy_n(samples_.begin() + static_cast<ptrdiff_t>(at), run,
                frame.begin() + static_cast<ptrdiff_t>(filled));
    filled += run;
    at = 0;
  }
  return frame;
}

}  // namespace cress::media
