#pragma once

#include <cstddef>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::control {

/// One "packet" of the model: every rate, count and forecast is in units of it (original: 1400 on
/// the observing side; 1440 or, as measured one-way, 1400 on the using side; we have one constant).
inline constexpr DataSize kModelPacketSize{1400};

inline constexpr Duration kTickLength = 20ms;
inline constexpr double kBrownianSigma = 200;   // packets/s per √s (paper §3.1)
inline constexpr double kOutageEscapeRate = 1;  // 1/s, λz (paper §3.1)
inline constexpr double kRateMax = 1000;        // packets/s, about 11 Mbit/s (paper §3.1)
inline constexpr int kRateBins = 256;           // plus one more, for rates of kRateMax and above
inline constexpr int kForecastTicks = 8;
inline constexpr double kForecastQuantile = 0.05;
inline constexpr int kDelayTargetTicks = 5;  // 100 ms
/// The table covers 0..29 arrivals in one tick; larger counts are left out, as in the original.
inline constexpr int kTableCountsPerTick = 30;

/// Parameters of the model. The defaults are Sprout's; a confidence sweep (paper, Figure 9) changes
/// `forecast_quantile` and nothing else.
struct SproutModel {
  Duration tick = kTickLength;
  double brownian_sigma = kBrownianSigma;         ///< packets/s per √s, > 0
  double outage_escape_rate = kOutageEscapeRate;  ///< 1/s, >= 0
  double rate_max = kRateMax;                     ///< packets/s, > 0
  int rate_bins = kRateBins;                      ///< >= 2
  int forecast_ticks = kForecastTicks;            ///< 1..kForecastTicksMax
  double forecast_quantile = kForecastQuantile;   ///< in (0, 1)
  int table_counts_per_tick = kTableCountsPerTick;

  friend bool operator==(const SproutModel&, const SproutModel&) = default;
};

inline constexpr int kForecastTicksMax = 64;

/// Number of entries of a belief: bins 0..rate_bins, the last one for rates of rate_max and above.
size_t bin_count(const SproutModel& model);
/// Packets/s that bin `bin` represents: exactly 0 for bin 0 (an outage), otherwise the middle of
/// the bin.
double bin_rate(const SproutModel& model, size_t bin);
/// Lower edge of bin `bin`, packets/s; minus infinity for bin 0. The upper edge is the next bin's
/// lower edge; plus infinity for the last bin.
double bin_lower_edge(const SproutModel& model, size_t bin);

/// The probability that a link at bin `from` now is at bin `to` one tick later, for every `to` of a
/// contiguous band; outside the band it is 0 (paper §3.2.1). Rows sum to about 1, except row 0 (the
/// outage): each of its entries is weighed separately for staying and leaving, so an outage bin
/// loses 45 % of its mass per tick. The original does the same, and its forecasts depend on it
/// (outages end faster than λz says).
struct TransitionRow {
  size_t first = 0;
  std::vector<double> weights;
};
std::vector<TransitionRow> transition_rows(const SproutModel& model);

}  // namespace cress::control
