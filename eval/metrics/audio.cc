#include "eval/metrics/audio.hh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/base/check.hh"

namespace cress::metrics {

std::optional<Duration> mouth_to_ear_quantile(std::span<const PlayedSound> played, Window window,
                                              double q) {
  check(q >= 0.0 && q <= 1.0, "mouth_to_ear_quantile: a share out of range");
  std::vector<Duration> delays;
  for (const PlayedSound& sound : played) {
    if (sound.kind == PlayedSound::Kind::kReal && window.contains(sound.played)) {
      delays.push_back(sound.played - sound.captured);
    }
  }
  if (delays.empty()) {
    return std::nullopt;
  }
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(delays.size())));
  const auto at = delays.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(delays.begin(), at, delays.end());
  return *at;
}

std::optional<double> concealed_share(std::span<const PlayedSound> played, Window window) {
  int64_t wanted = 0;
  int64_t made_up = 0;
  for (const PlayedSound& sound : played) {
    if (window.contains(sound.played) && sound.kind != PlayedSound::Kind::kSilence) {
      ++wanted;
      made_up += sound.kind == PlayedSound::Kind::kMadeUp ? 1 : 0;
    }
  }
  if (wanted == 0) {
    return std::nullopt;
  }
  return static_cast<double>(made_up) / static_cast<double>(wanted);
}

std::optional<double> unheard_share(std::span<const TimePoint> spoken,
                                    std::span<const PlayedSound> played, Window window) {
  std::vector<TimePoint> heard;  // capture times of what was played
  for (const PlayedSound& sound : played) {
    if (sound.kind == PlayedSound::Kind::kReal) {
      heard.push_back(sound.captured);
    }
  }
  std::sort(heard.begin(), heard.end());
  int64_t wanted = 0;
  int64_t unheard = 0;
  for (const TimePoint begin : spoken) {
    if (!window.contains(begin)) {
      continue;
    }
    ++wanted;
    // Played frames need not begin where spoken ones do: their overlaps are joined.
    Duration covered{};
    TimePoint reached = begin;
    auto sound = std::upper_bound(heard.begin(), heard.end(), begin - kSoundFrame);
    for (; sound != heard.end() && *sound < begin + kSoundFrame; ++sound) {
      const TimePoint end = std::min(*sound + kSoundFrame, begin + kSoundFrame);
      covered += std::max(end - std::max(*sound, reached), Duration{});
      reached = std::max(reached, end);
    }
    unheard += 2 * covered < kSoundFrame ? 1 : 0;
  }
  if (wanted == 0) {
    return std::nullopt;
  }
  return static_cast<double>(unheard) / static_cast<double>(wanted);
}

}  // namespace cress::metrics
