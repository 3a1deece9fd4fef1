#include "eval/metrics/rates.hh"

#include <algorithm>
#include <cstddef>

#include "transport/base/check.hh"

namespace cress::metrics {

namespace {

/// Bin number `index` of the window.
Window bin_of(Window window, Duration bin, size_t index) {
  const TimePoint from = window.from + bin * static_cast<int64_t>(index);
  return {.from = from, .to = std::min(from + bin, window.to)};
}

size_t bin_count(Window window, Duration bin) {
  check(window.from < window.to, "rates: empty window");
  check(bin > Duration::zero(), "rates: bin must be positive");
  return static_cast<size_t>((window.length() + bin - Duration{1}) / bin);
}

}  // namespace

DataSize delivered(std::span<const Delivery> deliveries, Window window) {
  DataSize total;
  for (const Delivery& delivery : deliveries) {
    if (window.contains(delivery.at)) {
      total += delivery.size;
    }
  }
  return total;
}

DataRate throughput(std::span<const Delivery> deliveries, Window window) {
  check(window.from < window.to, "throughput: empty window");
  return DataRate::from(delivered(deliveries, window), window.length());
}

DataRate capacity(const sim::DeliveryTrace& trace, Window window) {
  check(window.from < window.to, "capacity: empty window");
  return DataRate::from(trace.capacity(window.from, window.to), window.length());
}

double utilization(DataRate used, DataRate offered) {
  if (offered.bits_per_second() <= 0) {
    return 0.0;
  }
  return static_cast<double>(used.bits_per_second()) /
         static_cast<double>(offered.bits_per_second());
}

std::vector<DataRate> throughput_per_bin(std::span<const Delivery> deliveries, Window window,
                                         Duration bin) {
  std::vector<DataSize> sizes(bin_count(window, bin));
  for (const Delivery& delivery : deliveries) {
    if (window.contains(delivery.at)) {
      sizes[static_cast<size_t>((delivery.at - window.from) / bin)] += delivery.size;
    }
  }
  std::vector<DataRate> rates;
  rates.reserve(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    rates.push_back(DataRate::from(sizes[i], bin_of(window, bin, i).length()));
  }
  return rates;
}

std::vector<DataRate> capacity_per_bin(const sim::DeliveryTrace& trace, Window window,
                                       Duration bin) {
  std::vector<DataRate> rates(bin_count(window, bin));
  for (size_t i = 0; i < rates.size(); ++i) {
    rates[i] = capacity(trace, bin_of(window, bin, i));
  }
  return rates;
}

}  // namespace cress::metrics
