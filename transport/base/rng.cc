#include "transport/base/rng.hh"

#include <bit>
#include <cmath>
#include <numbers>

#include "transport/base/check.hh"

namespace cress {
namespace {

uint64_t splitmix64(uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace

Rng::Rng(uint64_t seed) : seed_(seed) {
  uint64_t mix = seed;
  for (uint64_t& word : state_) {
    word = splitmix64(mix);
  }
}

uint64_t Rng::next() {
  const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const uint64_t t = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

uint64_t Rng::below(uint64_t bound) {
  check(bound > 0, "Rng::below: empty range");
  const uint64_t reject_below = (0 - bound) % bound;  // 2^64 mod bound
  for (;;) {
    const uint64_t x = next();
    if (x >= reject_below) {
      return x % bound;
    }
  }
}

double Rng::normal() {
  const double u = 1.0 - uniform();  // (0, 1]: the logarithm stays finite
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

double Rng::exponential(double mean) { return -mean * std::log(1.0 - uniform()); }

uint64_t Rng::poisson(double mean) {
  check(mean >= 0, "Rng::poisson: negative mean");
  // Sums of Poissons are Poisson: chunks keep exp(-mean) away from underflow.
  uint64_t total = 0;
  while (mean > 0) {
    const double chunk = mean < 256.0 ? mean : 256.0;
    mean -= chunk;
    const double floor = std::exp(-chunk);
    double product = uniform();
    while (product > floor) {
      ++total;
      product *= uniform();
    }
  }
  return total;
}

Rng Rng::fork(uint64_t stream) const {
  uint64_t mix = seed_ ^ (stream * 0xD1B54A32D192ED03U);
  return Rng{splitmix64(mix)};
}

}  // namespace cress
