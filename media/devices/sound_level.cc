#include "media/devices/sound_level.hh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "transport/base/check.hh"

namespace cress::media {

SoundLevel level_of(std::span<const int16_t> samples) {
  check(!samples.empty(), "level_of: no samples");
  constexpr double kFullScale = 32'768;
  int peak = 0;
  int64_t squares = 0;
  for (const int16_t sample : samples) {
    peak = std::max(peak, std::abs(static_cast<int>(sample)));
    squares += static_cast<int64_t>(sample) * sample;
  }
  const auto in_dbfs = [](double amplitude) {
    return amplitude > 0 ? std::max(kSilenceDbfs, 20 * std::log10(amplitude / kFullScale))
                         : kSilenceDbfs;
  };
  const double mean = static_cast<double>(squares) / static_cast<double>(samples.size());
  return {in_dbfs(peak), in_dbfs(std::sqrt(mean))};
}

}  // namespace cress::media
