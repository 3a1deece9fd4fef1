#include "traces/trace_statistics.hh"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "transport/base/check.hh"

namespace cress::traces {
namespace {

using std::chrono::milliseconds;

constexpr size_t kTailSamplesMin = 20;
constexpr int64_t kStallScoredMs = 60;
constexpr size_t kSlippedThroughMax = 12;

int64_t to_whole_ms(Duration d) { return floor_milliseconds(TimePoint{d}); }

double spread_of_log(std::span<const int64_t> counts) {
  double sum = 0;
  double squares = 0;
  double n = 0;
  for (const int64_t count : counts) {
    if (count > 0) {
      const double log_count = std::log(static_cast<double>(count));
      sum += log_count;
      squares += log_count * log_count;
      n += 1;
    }
  }
  return n < 2 ? 0 : std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
}

/// Autocovariance of `values` (minus their mean) at `lag`.
double covariance(std::span<const double> values, size_t lag) {
  double sum = 0;
  for (size_t i = 0; i + lag < values.size(); ++i) {
    sum += values[i] * values[i + lag];
  }
  return sum;
}

Duration correlation_time(std::span<const int64_t> counts_1s) {
  std::vector<double> logs;
  double mean = 0;
  for (const int64_t count : counts_1s) {
    logs.push_back(std::log(std::max(static_cast<double>(count), 0.5)));
    mean += logs.back() / static_cast<double>(counts_1s.size());
  }
  for (double& value : logs) {
    value -= mean;
  }
  const double variance = covariance(logs, 0);
  if (variance <= 1e-9 * static_cast<double>(logs.size())) {
    return Duration::zero();
  }
  const size_t lag_max = std::max<size_t>(1, logs.size() / 4);
  double before = 1;
  for (size_t lag = 1; lag <= lag_max; ++lag) {
    const double now = covariance(logs, lag) / variance;
    if (now < 1 / std::numbers::e) {
      const double part = (before - 1 / std::numbers::e) / (before - now);
      return from_seconds(static_cast<double>(lag - 1) + part);
    }
    before = now;
  }
  return from_seconds(static_cast<double>(lag_max));
}

double dispersion(std::span<const int64_t> counts_20ms) {
  constexpr size_t kGroup = 10;
  double variances = 0;
  double means = 0;
  for (size_t i = 0; i + kGroup <= counts_20ms.size(); i += kGroup) {
    double sum = 0;
    double squares = 0;
    for (const int64_t count : counts_20ms.subspan(i, kGroup)) {
      sum += static_cast<double>(count);
      squares += static_cast<double>(count * count);
    }
    const double mean = sum / kGroup;
    variances += (squares - sum * mean) / (kGroup - 1);
    means += mean;
  }
  return means > 0 ? variances / means : 0;
}

void measure_silences(const sim::DeliveryTrace& trace, TraceStatistics& out) {
  const int64_t outage_ms = to_whole_ms(kOutageMin);
  const int64_t tail_ms = to_whole_ms(kStallMin);
  int64_t outage_total_ms = 0;
  int64_t stall_total_ms = 0;
  int64_t longest_ms = 0;
  size_t same = 0;
  size_t repeats = 0;
  size_t slipped = 0;
  size_t since_outage = kSlippedThroughMax;
  size_t tail_count = 0;
  double tail_logs = 0;
  for (const int64_t gap : interarrivals_ms(trace)) {
    same += gap == 0 ? 1 : 0;
    if (gap > outage_ms) {
      if (since_outage < kSlippedThroughMax) {
        ++repeats;
        slipped += since_outage + 1;  // the one that ended the outage before, too
      }
      since_outage = 0;
      ++out.outages;
      outage_total_ms += gap;
      longest_ms = std::max(longest_ms, gap);
    } else if (gap > kStallScoredMs) {
      stall_total_ms += gap;
    }
    since_outage += gap > outage_ms ? 0 : 1;
    if (gap >= tail_ms) {
      ++tail_count;
      // A half less than the smallest value accounts for the rounding to whole milliseconds.
      tail_logs += std::log(static_cast<double>(gap) / (static_cast<double>(tail_ms) - 0.5));
    }
  }
  const double length_ms = to_milliseconds(out.length);
  out.outage_share = static_cast<double>(outage_total_ms) / length_ms;
  out.stall_share = static_cast<double>(stall_total_ms) / length_ms;
  out.outage_longest = milliseconds{longest_ms};
  if (out.outages > 0) {
    out.outage_mean =
        from_seconds(static_cast<double>(outage_total_ms) / 1e3 / static_cast<double>(out.outages));
    out.outage_repeat_share = static_cast<double>(repeats) / static_cast<double>(out.outages);
  }
  if (repeats > 0) {
    out.slipped_mean = static_cast<double>(slipped) / static_cast<double>(repeats);
  }
  out.same_millisecond_share = static_cast<double>(same) / static_cast<double>(out.opportunities);
  if (tail_count >= kTailSamplesMin) {
    out.tail_exponent = 1 + static_cast<double>(tail_count) / tail_logs;
  }
}

}  // namespace

std::vector<int64_t> interarrivals_ms(const sim::DeliveryTrace& trace) {
  std::vector<int64_t> gaps;
  gaps.reserve(trace.opportunities.size());
  int64_t last_ms = 0;
  for (const sim::DeliveryOpportunity& opportunity : trace.opportunities) {
    const int64_t ms = to_whole_ms(opportunity.at);
    gaps.push_back(ms - last_ms);
    last_ms = ms;
  }
  return gaps;
}

std::vector<int64_t> opportunities_per_window(const sim::DeliveryTrace& trace, Duration window) {
  check(window >= 1ms && window % 1ms == Duration::zero(), "a window of whole milliseconds");
  const auto whole_windows = static_cast<size_t>(trace.period() / window);
  std::vector<int64_t> counts(whole_windows);
  for (const sim::DeliveryOpportunity& opportunity : trace.opportunities) {
    const auto index = static_cast<size_t>(opportunity.at / window);
    if (index < whole_windows) {
      ++counts[index];
    }
  }
  return counts;
}

int64_t quantile(std::vector<int64_t> values, double q) {
  check(!values.empty() && q >= 0 && q <= 1, "quantile: a share of at least one value");
  const double rank = std::ceil(q * static_cast<double>(values.size())) - 1;
  const auto index = static_cast<size_t>(std::max(rank, 0.0));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

TraceStatistics statistics(const sim::DeliveryTrace& trace) {
  check(!trace.opportunities.empty() && trace.period() > Duration::zero(), "an invalid trace");
  TraceStatistics out;
  out.opportunities = trace.opportunities.size();
  out.length = trace.period();
  const DataSize total = sim::kOpportunitySize * static_cast<int64_t>(out.opportunities);
  out.mean_rate = DataRate::from(total, out.length);
  const std::vector<int64_t> counts_1s = opportunities_per_window(trace, 1s);
  const std::vector<int64_t> counts_200ms = opportunities_per_window(trace, 200ms);
  out.spread_1s = spread_of_log(counts_1s);
  out.spread_200ms = spread_of_log(counts_200ms);
  out.correlation_time = correlation_time(counts_1s);
  out.rate_max = counts_200ms.empty()
                     ? out.mean_rate
                     : DataRate::from(sim::kOpportunitySize * quantile(counts_200ms, 0.999), 200ms);
  out.dispersion_20ms = dispersion(opportunities_per_window(trace, 20ms));
  measure_silences(trace, out);
  return out;
}

}  // namespace cress::traces
