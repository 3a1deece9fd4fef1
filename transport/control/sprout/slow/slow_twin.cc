#include "transport/control/sprout/slow/slow_twin.hh"

#include <algorithm>
#include <cmath>

namespace cress::control::slow {
namespace {

Real width(const SproutModel& m) { return Real(m.rate_max) / Real(m.rate_bins); }
Real tick_seconds(const SproutModel& m) { return Real(m.tick.count()) / 1e9L; }
Real rate(const SproutModel& m, size_t bin) { return bin == 0 ? 0 : (Real(bin) + 0.5L) * width(m); }

Real cdf(Real x, Real sigma) {
  const Real cell = 2000.0L / 32768.0L;
  const Real index = std::floor(std::min<Real>(std::max<Real>(x + 1000, 0) / cell, 32768));
  const Real at = index == 0 ? -1000.0L : -1000.0L + (index + 0.5L) * cell;
  return 0.5L * std::erfc(-at / (sigma * std::sqrt(2.0L)));
}

Real pmf(int k, Real mean) {
  Real p = std::exp(-mean);
  for (int i = 1; i <= k; ++i) {
    p *= mean / Real(i);
  }
  return p;
}

Vector normalised(Vector v) {
  Real total = 0;
  for (const Real x : v) {
    total += x;
  }
  for (Real& x : v) {
    x /= total;
  }
  return v;
}

}  // namespace

Matrix transition_matrix(const SproutModel& m) {
  const size_t bins = static_cast<size_t>(m.rate_bins) + 1;
  const Real s = Real(m.brownian_sigma) * std::sqrt(tick_seconds(m));
  const Real stay = std::exp(-tick_seconds(m) * Real(m.outage_escape_rate));
  const auto bin_at = [&](Real r) {
    return static_cast<size_t>(
        std::clamp<Real>(std::floor(r / width(m)), 0, static_cast<Real>(m.rate_bins)));
  };
  Matrix matrix(bins, Vector(bins, 0));
  for (size_t from = 0; from < bins; ++from) {
    const Real r = rate(m, from);
    for (size_t to = 0; to < bins; ++to) {
      if (to < bin_at(r - 5 * s) || to > bin_at(r + 5 * s) + 1) {
        continue;
      }
      const Real below = to == 0 ? -1e6L : Real(to) * width(m);
      const Real above = to + 1 == bins ? 1e6L : Real(to + 1) * width(m);
      const Real z = from != 0 ? 1 : (to == 0 ? stay : 1 - stay);
      matrix[from][to] = z * (cdf(above - r, s) - cdf(below - r, s));
    }
  }
  return matrix;
}

Vector uniform_belief(const SproutModel& m) {
  return normalised(Vector(static_cast<size_t>(m.rate_bins) + 1, 1));
}

Vector evolved(const Vector& belief, const Matrix& transition) {
  Vector next(belief.size(), 0);
  for (size_t to = 0; to < belief.size(); ++to) {
    for (size_t from = 0; from < belief.size(); ++from) {
      next[to] += belief[from] * transition[from][to];
    }
  }
  return normalised(next);
}

Vector observed(const SproutModel& m, Vector belief, int packets) {
  for (size_t bin = 0; bin < belief.size(); ++bin) {
    belief[bin] *= pmf(packets, rate(m, bin) * tick_seconds(m));
  }
  return normalised(belief);
}

Vector deliveries(const SproutModel& m, const Matrix& transition, size_t bin, int horizon) {
  Vector where(transition.size(), 0);
  where[bin] = 1;
  Vector total{1};
  for (int tick = 0; tick < horizon; ++tick) {
    Vector arrivals(static_cast<size_t>(m.table_counts_per_tick), 0);
    for (size_t b = 0; b < where.size(); ++b) {
      if (where[b] > 0) {
        for (size_t k = 0; k < arrivals.size(); ++k) {
          arrivals[k] += where[b] * pmf(static_cast<int>(k), rate(m, b) * tick_seconds(m));
        }
      }
    }
    Vector sum(total.size() + arrivals.size() - 1, 0);
    for (size_t i = 0; i < total.size(); ++i) {
      for (size_t k = 0; k < arrivals.size(); ++k) {
        sum[i + k] += total[i] * arrivals[k];
      }
    }
    total = sum;
    where = evolved(where, transition);
  }
  return total;
}

std::vector<std::vector<Vector>> delivery_table(const SproutModel& m, const Matrix& transition) {
  std::vector<std::vector<Vector>> table(static_cast<size_t>(m.forecast_ticks));
  for (int horizon = 1; horizon <= m.forecast_ticks; ++horizon) {
    for (size_t bin = 0; bin < transition.size(); ++bin) {
      table[static_cast<size_t>(horizon) - 1].push_back(deliveries(m, transition, bin, horizon));
    }
  }
  return table;
}

std::vector<unsigned> forecast(const SproutModel& m, const std::vector<std::vector<Vector>>& table,
                               const Vector& belief) {
  std::vector<unsigned> counts;
  for (const std::vector<Vector>& by_bin : table) {
    const size_t length = by_bin[0].size();
    size_t quantile = length + 1;
    Real total = 0;
    for (size_t count = 0; count < length && quantile > length; ++count) {
      for (size_t bin = 0; bin < belief.size(); ++bin) {
        total += belief[bin] * by_bin[bin][count];
      }
      if (total >= Real(m.forecast_quantile)) {
        quantile = count;
      }
    }
    counts.push_back(static_cast<unsigned>(quantile));
  }
  return counts;
}

}  // namespace cress::control::slow
