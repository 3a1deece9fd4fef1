#include "media/source/value_noise.hh"

namespace cress::media {
namespace {

uint64_t scramble(uint64_t z) {  // the finaliser of splitmix64
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

int64_t floor_of(double x) {
  const auto truncated = static_cast<int64_t>(x);
  return static_cast<double>(truncated) > x ? truncated - 1 : truncated;
}

double ease(double t) { return t * t * (3.0 - 2.0 * t); }

double mix(double a, double b, double t) { return a + (b - a) * t; }

}  // namespace

uint64_t mix_hash(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t z = scramble(seed + 0x9E3779B97F4A7C15U);
  z = scramble(z + a * 0xD1B54A32D192ED03U + 0x9E3779B97F4A7C15U);
  return scramble(z + b * 0x8CB92BA72F3D8DD7U + 0x9E3779B97F4A7C15U);
}

double lattice_value(uint64_t seed, int64_t x, int64_t y) {
  const uint64_t bits = mix_hash(seed, static_cast<uint64_t>(x), static_cast<uint64_t>(y));
  return static_cast<double>(bits >> 11U) * 0x1.0p-52 - 1.0;
}

double value_noise(uint64_t seed, double x) {
  const int64_t cell = floor_of(x);
  return mix(lattice_value(seed, cell, 0), lattice_value(seed, cell + 1, 0),
             ease(x - static_cast<double>(cell)));
}

double value_noise(uint64_t seed, double x, double y) {
  const int64_t column = floor_of(x);
  const int64_t row = floor_of(y);
  const double across = ease(x - static_cast<double>(column));
  const double top =
      mix(lattice_value(seed, column, row), lattice_value(seed, column + 1, row), across);
  const double bottom =
      mix(lattice_value(seed, column, row + 1), lattice_value(seed, column + 1, row + 1), across);
  return mix(top, bottom, ease(y - static_cast<double>(row)));
}

}  // namespace cress::media
