#include "media/source/audio_synthetic_voice.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "transport/base/check.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

constexpr double kRate = static_cast<double>(kAudioSampleRate);
constexpr size_t kFormants = 3;
using Formants = std::array<double, kFormants>;  // centre frequencies in Hz

// Rounded textbook values of a man's vowels in "father", "beet", "boot", "bet", "bought".
constexpr std::array<Formants, 5> kVowels{
    {{730, 1090, 2440}, {270, 2290, 3010}, {300, 870, 2240}, {530, 1840, 2480}, {570, 840, 2410}}};
constexpr Formants kBandwidths{80, 110, 160};
constexpr Formants kGains{1.0, 0.6, 0.3};

/// A resonance of second order: the classic digital formant.
class Resonator {
 public:
  void tune(double frequency, double bandwidth) {
    const double radius = std::exp(-std::numbers::pi * bandwidth / kRate);
    feedback1_ = 2.0 * radius * std::cos(2.0 * std::numbers::pi * frequency / kRate);
    feedback2_ = -radius * radius;
    gain_ = 1.0 - feedback1_ - feedback2_;  // one at zero frequency, as a vocal tract has
  }
  double step(double input) {
    const double output = gain_ * input + feedback1_ * last_ + feedback2_ * before_;
    before_ = last_;
    last_ = output;
    return output;
  }

 private:
  double feedback1_ = 0;
  double feedback2_ = 0;
  double gain_ = 1;
  double last_ = 0;
  double before_ = 0;
};

/// Generates a voice sample by sample; the filters continue through pauses, so there are no clicks.
class Speaker {
 public:
  Speaker(const SyntheticVoiceOptions& options, size_t length)
      : rng_(options.seed), length_(length), pitch_(rng_.uniform(95.0, 210.0)) {
    wave_.reserve(length);
  }

  std::vector<int16_t> speak() {
    pause(0.2);
    while (!is_full()) {
      phrase();
      pause(rng_.uniform(0.5, 1.4));
    }
    return to_samples();
  }

 private:
  bool is_full() const { return wave_.size() >= length_; }

  void put(double sample) {
    // The room: before a microphone there is no digital silence.
    const double room = 2.0 * (rng_.uniform() - 0.5);
    if (!is_full()) {
      wave_.push_back(sample + 0.0004 * room);
    }
  }

  void pause(double seconds) {
    for (auto left = static_cast<int64_t>(seconds * kRate); left > 0 && !is_full(); --left) {
      put(voice(0, 0));
    }
  }

  void phrase() {
    const uint64_t syllables = 4 + rng_.below(8);
    for (uint64_t i = 0; i < syllables && !is_full(); ++i) {
      if (rng_.chance(0.45)) {
        hiss(rng_.uniform(0.04, 0.11));
      }
      const double fall = 1.1 - 0.25 * static_cast<double>(i) / static_cast<double>(syllables);
      const double pitch = pitch_ * fall * rng_.uniform(0.94, 1.06);  // drawn before the length
      syllable(rng_.uniform(0.11, 0.26), pitch);
    }
  }

  void syllable(double seconds, double pitch) {
    const Formants from = formants_;
    const Formants to = kVowels[rng_.below(kVowels.size())];
    const auto length = static_cast<int64_t>(seconds * kRate);
    const double loudness = rng_.uniform(0.7, 1.0);
    for (int64_t i = 0; i < length && !is_full(); ++i) {
      const double at = static_cast<double>(i) / static_cast<double>(length);
      if (i % 48 == 0) {  // every millisecond is fine enough for a mouth
        glide(from, to, std::min(1.0, 3.0 * at));
      }
      const double rise_and_fall = std::min({1.0, 10.0 * at, 4.0 * (1.0 - at)});
      put(voice(pitch, loudness * rise_and_fall));
    }
  }

  void glide(const Formants& from, const Formants& to, double share) {
    for (size_t i = 0; i < kFormants; ++i) {
      formants_[i] = from[i] + share * (to[i] - from[i]);
      tract_[i].tune(formants_[i], kBandwidths[i]);
    }
  }

  // One sample of the glottis (a raised cosine that snaps shut at three fifths of its period)
  // through the vocal tract.
  double voice(double pitch, double loudness) {
    double source = 0;
    if (loudness > 0) {
      phase_ += pitch / kRate;
      phase_ -= std::floor(phase_);
      source = phase_ < 0.6 ? 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * std::sqrt(phase_ / 0.6))
                            : 0.0;
      source += 0.02 * (rng_.uniform() - 0.5);  // breath
    }
    double sum = 0;
    for (size_t i = 0; i < kFormants; ++i) {
      sum += kGains[i] * tract_[i].step(loudness * source);
    }
    return 0.35 * sum;
  }

  // A consonant: noise without its low half.
  void hiss(double seconds) {
    const auto length = static_cast<int64_t>(seconds * kRate);
    double last = 0;
    for (int64_t i = 0; i < length && !is_full(); ++i) {
      const double at = static_cast<double>(i) / static_cast<double>(length);
      const double noise = rng_.uniform() - 0.5;
      put(voice(0, 0) + 0.12 * std::min({1.0, 8.0 * at, 8.0 * (1.0 - at)}) * (noise - 0.9 * last));
      last = noise;
    }
  }

  // A microphone does not record constant pressure: high-pass at about 60 Hz, then 16 bits.
  std::vector<int16_t> to_samples() const {
    std::vector<int16_t> samples;
    samples.reserve(wave_.size());
    double low = 0;
    for (const double value : wave_) {
      low += 0.008 * (value - low);
      const double scaled = std::clamp((value - low) * 24'000.0, -32'000.0, 32'000.0);
      samples.push_back(static_cast<int16_t>(std::lround(scaled)));
    }
    return samples;
  }

  Rng rng_;
  size_t length_;
  double pitch_;
  double phase_ = 0;
  Formants formants_ = kVowels[0];
  std::array<Resonator, kFormants> tract_;
  std::vector<double> wave_;
};

AudioClip make_clip(const SyntheticVoiceOptions& options) {
  check(options.loop >= 1s && options.loop <= 60s, "SyntheticVoice: loop out of range");
  Speaker speaker{options, static_cast<size_t>(audio_samples(options.loop))};
  return AudioClip{"synthetic voice, seed " + std::to_string(options.seed), speaker.speak()};
}

}  // namespace

SyntheticVoice::SyntheticVoice(const SyntheticVoiceOptions& options) : clip_(make_clip(options)) {}

}  // namespace cress::media
