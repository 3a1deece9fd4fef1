#include "app/room/sound_mixer.hh"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace cress::room {
namespace {

constexpr double kLoudest = INT16_MAX;
// A sixteenth of the way to full loudness per frame of 20 ms: slower than a syllable, so that
// loudness does not pump, and fast enough for the next sentence.
constexpr double kRecovery = 1.0 / 16;
constexpr double kFull = 0.999;

}  // namespace

void SoundMixer::add(const media::AudioFrame& voice) {
  std::transform(sum_.begin(), sum_.end(), voice.begin(), sum_.begin(),
                 [](int32_t sum, int16_t sample) { return sum + sample; });
}

media::AudioFrame SoundMixer::take() {
  int32_t peak = 0;
  for (const int32_t sample : sum_) {
    peak = std::max(peak, std::abs(sample));
  }
  const double allowed = peak > kLoudest ? kLoudest / peak : 1.0;
  double end = gain_ + (1.0 - gain_) * kRecovery;
  end = std::min(end > kFull ? 1.0 : end, allowed);
  // Down at once, for all of this frame; up step by step.
  const double begin = std::min(gain_, allowed);
  const double step = (end - begin) / static_cast<double>(sum_.size());
  media::AudioFrame mixed{};
  for (size_t i = 0; i < sum_.size(); ++i) {
    const double gain = begin + step * static_cast<double>(i + 1);
    mixed[i] =
        static_cast<int16_t>(std::clamp(static_cast<double>(sum_[i]) * gain, -kLoudest, kLoudest));
  }
  gain_ = end;
  sum_.fill(0);
  return mixed;
}

}  // namespace cress::room
