#pragma once

#include <span>

namespace cress::control {

// The inner loops of a tick. Results are bit-identical whatever the processor's vector width:
// element-wise loops have no order, and sums use a fixed number of lanes.

/// into[i] += factor * weights[i]; equal sizes.
void add_scaled(std::span<double> into, double factor, std::span<const double> weights);
/// into[i] *= factors[i]; equal sizes.
void multiply(std::span<double> into, std::span<const double> factors);
/// into[i] *= factor.
void scale(std::span<double> into, double factor);
/// Sum of all values, in 8 lanes.
double sum(std::span<const double> values);
/// Sum of a[i] * b[i], in 8 lanes; equal sizes.
double dot(std::span<const double> a, std::span<const double> b);

}  // namespace cress::control
