#pragma once

#include <optional>
#include <span>

namespace cress::encoder_bench {

/// A point of a rate-distortion curve.
struct RatePoint {
  double kbps = 0;        ///< > 0
  double quality_db = 0;  ///< PSNR or SSIM in dB
  friend bool operator==(const RatePoint&, const RatePoint&) = default;
};

/// By how many per cent `test` needs more (fewer: negative) bits than `anchor` for the same
/// quality: the mean, over the qualities that both reach, of the difference of log rates
/// (Bjøntegaard, ITU-T VCEG-M33, 2001). Between points, log rate is a monotone piecewise cubic
/// function of quality (Fritsch and Carlson, 1980, slopes as weighted harmonic means; JCT-VC's
/// later sheets use it instead of one polynomial, which oscillates between unevenly spaced points).
/// nullopt if it is undefined: under two points, a curve on which more bits do not give more
/// quality, or no quality that both reach. Pure.
std::optional<double> bd_rate_percent(std::span<const RatePoint> anchor,
                                      std::span<const RatePoint> test);

}  // namespace cress::encoder_bench
