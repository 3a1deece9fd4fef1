#include "media/playout/audio_time_scale.hh"

#include <algorithm>
#include <cmath>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

// 12 kHz are enough to find the period roughly: voices have their periodicity below 1 kHz.
constexpr size_t kCoarse = 4;
// -54 dB of full scale.
constexpr int64_t kQuietAmplitude = 64;

struct Match {
  int64_t product = 0;
  int64_t energy_here = 0;
  int64_t energy_there = 0;

  double likeness() const {
    if (energy_here == 0 || energy_there == 0) {
      return 0.0;
    }
    return static_cast<double>(product) / std::sqrt(static_cast<double>(energy_here)) /
           std::sqrt(static_cast<double>(energy_there));
  }
};

Match match_at(std::span<const int16_t> sound, size_t lag) {
  Match match;
  for (size_t i = 0; i < lag; ++i) {
    const int64_t here = sound[i];
    const int64_t there = sound[i + lag];
    match.product += here * there;
    match.energy_here += here * here;
    match.energy_there += there * there;
  }
  return match;
}

std::vector<int16_t> decimate(std::span<const int16_t> sound) {
  std::vector<int16_t> coarse(sound.size() / kCoarse);
  for (size_t i = 0; i < coarse.size(); ++i) {
    int32_t sum = 0;
    for (size_t j = 0; j < kCoarse; ++j) {
      sum += sound[kCoarse * i + j];
    }
    coarse[i] = static_cast<int16_t>(sum / static_cast<int32_t>(kCoarse));
  }
  return coarse;
}

size_t best_lag(std::span<const int16_t> sound, size_t from, size_t to) {
  size_t best = from;
  double best_likeness = -2.0;
  for (size_t lag = from; lag <= to; ++lag) {
    const double likeness = match_at(sound, lag).likeness();
    if (likeness > best_likeness) {
      best_likeness = likeness;
      best = lag;
    }
  }
  return best;
}

int16_t mix(int16_t from, int16_t to, size_t at, size_t length) {
  const auto weight = static_cast<int64_t>(at);
  const auto whole = static_cast<int64_t>(length);
  return static_cast<int16_t>((from * (whole - weight) + to * weight) / whole);
}

}  // namespace

PitchPeriod find_period(std::span<const int16_t> sound, size_t limit) {
  check(limit >= kPitchPeriodMin && limit <= kPitchPeriodMax && 2 * limit <= sound.size(),
        "find_period: limit out of range");
  const std::vector<int16_t> coarse = decimate(sound.first(2 * limit));
  const size_t rough = kCoarse * best_lag(coarse, kPitchPeriodMin / kCoarse, limit / kCoarse);
  PitchPeriod period;
  period.samples = best_lag(sound, std::max(kPitchPeriodMin, rough - (kCoarse - 1)),
                            std::min(limit, rough + (kCoarse - 1)));
  const Match match = match_at(sound, period.samples);
  period.likeness = match.likeness();
  const int64_t loudest = std::max(match.energy_here, match.energy_there);
  period.is_quiet =
      loudest <= kQuietAmplitude * kQuietAmplitude * static_cast<int64_t>(period.samples);
  return period;
}

void leave_out_period(std::vector<int16_t>& sound, size_t period) {
  check(period > 0 && 2 * period <= sound.size(), "leave_out_period: too short");
  for (size_t i = 0; i < period; ++i) {
    sound[period + i] = mix(sound[i], sound[period + i], i, period);
  }
  sound.erase(sound.begin(), sound.begin() + static_cast<ptrdiff_t>(period));
}

void repeat_period(std::vector<int16_t>& sound, size_t period) {
  check(period > 0 && 2 * period <= sound.size(), "repeat_period: too short");
  // The first period, then the second turning into the first, then the second and what follows.
  std::vector<int16_t> seam(period);
  for (size_t i = 0; i < period; ++i) {
    seam[i] = mix(sound[period + i], sound[i], i, period);
  }
  sound.insert(sound.begin() + static_cast<ptrdiff_t>(period), seam.begin(), seam.end());
}

void cross_fade(std::span<const int16_t> from, std::span<int16_t> to) {
  check(from.size() == to.size(), "cross_fade: lengths differ");
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = mix(from[i], to[i], i, to.size());
  }
}

void fade(std::span<int16_t> sound, double begin, double end) {
  check(begin >= 0.0 && begin <= 1.0 && end >= 0.0 && end <= 1.0, "fade: gain out of range");
  const auto length = static_cast<double>(sound.size());
  for (size_t i = 0; i < sound.size(); ++i) {
    const double gain = begin + (end - begin) * static_cast<double>(i) / length;
    sound[i] = static_cast<int16_t>(gain * sound[i]);
  }
}

}  // namespace cress::media
