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
/// quality: the mean, over the qualities both reach, of the difference of log rates (Bjøntegaard,
/// ITU-T VCEG-M33, 2001). Between points, log rate is the piecewise cubic of quality that keeps
/// monotone data monotone (Fritsch and Carlson, 1980, slopes as weighted harmonic means; what
/// JCT-VC's later sheets use instead of one polynomial, which swings between unevenly spaced
/// points). None where it means nothing: under two points, a curve on which more bits do not give
/// more quality, or no quality that both reach. Pure.
std::optional<double> bd_rate_percent(std::span<const RatePoint> anchor,
                                      std::span<const RatePoint> test);

}  // namespace cress::encoder_bench
