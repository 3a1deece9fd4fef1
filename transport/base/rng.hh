#pragma once

#include <array>
#include <cstdint>

namespace cress {

/// Seeded random numbers, the same on every machine and standard library (the distributions of
/// <random> are not). xoshiro256++ by Blackman and Vigna (2019), seeded through splitmix64.
/// Threads: none inside; one owner.
class Rng {
 public:
  explicit Rng(uint64_t seed);

  /// 64 uniform bits.
  uint64_t next();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Uniform in [low, high), low < high.
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in 0..bound-1, bound > 0, without modulo bias.
  uint64_t below(uint64_t bound);
  /// True with probability `p`; draws even when p is 0 or 1, so that the sequence stays aligned.
  bool chance(double p) { return uniform() < p; }
  /// Standard normal (Box-Muller, one value per call).
  double normal();
  /// Exponential with the given mean (> 0).
  double exponential(double mean);
  /// Poisson with the given mean (>= 0).
  uint64_t poisson(double mean);
  /// An independent generator for the part named by `stream`; it does not depend on how much this
  /// one has been used.
  Rng fork(uint64_t stream) const;

 private:
  std::array<uint64_t, 4> state_{};
  uint64_t seed_;
};

}  // namespace cress
