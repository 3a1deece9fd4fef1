#include "transport/control/sprout/kernels.hh"

#include <array>
#include <cstddef>

// One machine-code copy per vector width, chosen when the program starts. The function that chooses
// (an ifunc resolver) runs before a sanitizer's runtime is ready: those builds use the plain copy.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CRESS_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CRESS_VECTOR_CLONES
#endif

namespace cress::control {
namespace {

constexpr size_t kLanes = 8;

double combine(const std::array<double, kLanes>& lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

}  // namespace

CRESS_VECTOR_CLONES void add_scaled(std::span<double> into, double factor,
                                    std::span<const double> weights) {
  double* __restrict out = into.data();
  const double* __restrict in = weights.data();
  for (size_t i = 0; i < weights.size(); ++i) {
    out[i] += factor * in[i];
  }
}

CRESS_VECTOR_CLONES void multiply(std::span<double> into, std::span<const double> factors) {
  double* __restrict out = into.data();
  const double* __restrict in = factors.data();
  for (size_t i = 0; i < factors.size(); ++i) {
    out[i] *= in[i];
  }
}

CRESS_VECTOR_CLONES void scale(std::span<double> into, double factor) {
  for (double& value : into) {
    value *= factor;
  }
}

CRESS_VECTOR_CLONES double sum(std::span<const double> values) {
  std::array<double, kLanes> lanes{};
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += values[i + lane];
    }
  }
  for (size_t lane = 0; i < values.size(); ++i, ++lane) {
    lanes[lane] += values[i];
  }
  return combine(lanes);
}

CRESS_VECTOR_CLONES double dot(std::span<const double> a, std::span<const double> b) {
  std::array<double, kLanes> lanes{};
  size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (size_t lane = 0; i < a.size(); ++i, ++lane) {
    lanes[lane] += a[i] * b[i];
  }
  return combine(lanes);
}

}  // namespace cress::control
