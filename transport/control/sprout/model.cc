#include "transport/control/sprout/model.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "transport/base/check.hh"

namespace cress::control {
namespace {

// The original reads the normal distribution from a table of 32768 cells over ±1000 packets/s, each
// holding the value at its middle. Without it 7 % of all forecasts differ by one packet.
constexpr double kCdfReach = 1000;
constexpr int kCdfCells = 32768;

double normal_cdf(double x, double sigma) {
  return 0.5 * std::erfc(-x / (sigma * std::numbers::sqrt2));
}

double quantised_normal_cdf(double x, double sigma) {
  constexpr double kCell = 2 * kCdfReach / kCdfCells;
  const double position = std::clamp((x + kCdfReach) / kCell, 0.0, static_cast<double>(kCdfCells));
  const int cell = static_cast<int>(position);
  const double at = cell == 0 ? -kCdfReach : -kCdfReach + (cell + 0.5) * kCell;
  return normal_cdf(at, sigma);
}

double bin_width(const SproutModel& model) { return model.rate_max / model.rate_bins; }

size_t bin_of(const SproutModel& model, double rate) {
  const double bin = std::floor(rate / bin_width(model));
  return static_cast<size_t>(std::clamp(bin, 0.0, static_cast<double>(model.rate_bins)));
}

}  // namespace

size_t bin_count(const SproutModel& model) { return static_cast<size_t>(model.rate_bins) + 1; }

double bin_rate(const SproutModel& model, size_t bin) {
  return bin == 0 ? 0.0 : (static_cast<double>(bin) + 0.5) * bin_width(model);
}

double bin_lower_edge(const SproutModel& model, size_t bin) {
  if (bin == 0) {
    return -std::numeric_limits<double>::infinity();
  }
  return bin >= bin_count(model) ? std::numeric_limits<double>::infinity()
                                 : static_cast<double>(bin) * bin_width(model);
}

std::vector<TransitionRow> transition_rows(const SproutModel& model) {
  check(model.rate_bins >= 2 && model.rate_max > 0 && model.brownian_sigma > 0 &&
            model.tick > Duration{} && model.outage_escape_rate >= 0,
        "transition_rows: model out of range");
  const double tick_s = to_seconds(model.tick);
  const double sigma = model.brownian_sigma * std::sqrt(tick_s);
  const double stay = std::exp(-tick_s * model.outage_escape_rate);
  std::vector<TransitionRow> rows(bin_count(model));
  for (size_t from = 0; from < rows.size(); ++from) {
    const double rate = bin_rate(model, from);
    TransitionRow& row = rows[from];
    row.first = bin_of(model, rate - 5 * sigma);
    // One bin more than ±5σ needs, as in the original.
    const size_t last = std::min(bin_of(model, rate + 5 * sigma) + 1, rows.size() - 1);
    for (size_t to = row.first; to <= last; ++to) {
      const double mass = quantised_normal_cdf(bin_lower_edge(model, to + 1) - rate, sigma) -
                          quantised_normal_cdf(bin_lower_edge(model, to) - rate, sigma);
      const double outage = from != 0 ? 1.0 : (to == 0 ? stay : 1.0 - stay);
      row.weights.push_back(outage * mass);
    }
  }
  return rows;
}

}  // namespace cress::control
