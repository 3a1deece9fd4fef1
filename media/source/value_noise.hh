#pragma once

#include <cstdint>

namespace cress::media {

/// Smooth noise that can be evaluated anywhere: random values on a lattice, interpolated between.
/// Only + - * / and no <cmath>, so that every machine gives the same bits.

/// A hash of its arguments, uniform over 64 bits.
uint64_t mix_hash(uint64_t seed, uint64_t a, uint64_t b);
/// Uniform in [-1, 1).
double lattice_value(uint64_t seed, int64_t x, int64_t y);
/// In [-1, 1), continuous, one lattice cell per unit.
double value_noise(uint64_t seed, double x);
double value_noise(uint64_t seed, double x, double y);

}  // namespace cress::media
