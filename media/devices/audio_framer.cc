#include "media/devices/audio_framer.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::media {

void AudioFramer::add(std::span<const int16_t> samples, TimePoint ended) {
  check(samples_.size() < kAudioFrameSamples, "AudioFramer: poll the frames first");
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  ended_ = ended;
}

std::optional<FramedSound> AudioFramer::poll_frame() {
  if (samples_.size() < kAudioFrameSamples) {
    return std::nullopt;
  }
  FramedSound frame;
  const auto end = samples_.begin() + kAudioFrameSamples;
  std::copy(samples_.begin(), end, frame.samples.begin());
  samples_.erase(samples_.begin(), end);
  frame.ended = ended_ - audio_duration(static_cast<int64_t>(samples_.size()));
  return frame;
}

}  // namespace cress::media
