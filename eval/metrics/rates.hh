#pragma once

#include <span>
#include <vector>

#include "eval/metrics/window.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/trace.hh"

/// How much was transferred (docs/method.md). Throughput counts IP bytes that left the link;
/// goodput is the same calculation with application bytes; capacity is what the trace could have
/// carried. Threads: pure functions.
namespace cress::metrics {

/// `size` left the link (or reached the application) at `at`.
struct Delivery {
  TimePoint at{};
  DataSize size{};
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

/// The sum of the deliveries inside the window. Any order.
DataSize delivered(std::span<const Delivery> deliveries, Window window);
/// delivered() divided by the window's length.
DataRate throughput(std::span<const Delivery> deliveries, Window window);
/// The trace's opportunities in the window divided by the window's length; the trace repeats.
DataRate capacity(const sim::DeliveryTrace& trace, Window window);
/// `used` as a share of `offered`; 0 if the link offered nothing.
double utilization(DataRate used, DataRate offered);

/// Rates in consecutive bins of length `bin` (> 0) from window.from on; the rate of a truncated
/// last bin is over its actual length.
std::vector<DataRate> throughput_per_bin(std::span<const Delivery> deliveries, Window window,
                                         Duration bin);
std::vector<DataRate> capacity_per_bin(const sim::DeliveryTrace& trace, Window window,
                                       Duration bin);

}  // namespace cress::metrics
