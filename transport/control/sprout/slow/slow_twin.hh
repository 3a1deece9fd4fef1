#pragma once

#include <vector>

#include "transport/control/sprout/model.hh"

namespace cress::control::slow {

// A second, deliberately simple implementation of the model, for tests and benchmarks only: long
// double, full matrices, direct convolution of every distribution, no caching, and nothing shared
// with the fast code except the parameters. Source: the original program's behaviour, described in
// words.

using Real = long double;
using Vector = std::vector<Real>;
using Matrix = std::vector<Vector>;

Matrix transition_matrix(const SproutModel& model);
Vector uniform_belief(const SproutModel& model);
Vector evolved(const Vector& belief, const Matrix& transition);
Vector observed(const SproutModel& model, Vector belief, int packets);
/// Distribution of the packets delivered within `horizon` ticks, given certainty of being in `bin`.
Vector deliveries(const SproutModel& model, const Matrix& transition, size_t bin, int horizon);
/// Cumulative forecast by definition: mixes `deliveries` over the belief and walks to the quantile.
/// `table[horizon - 1][bin]` holds `deliveries`.
std::vector<unsigned> forecast(const SproutModel& model,
                               const std::vector<std::vector<Vector>>& table, const Vector& belief);
std::vector<std::vector<Vector>> delivery_table(const SproutModel& model, const Matrix& transition);

}  // namespace cress::control::slow
