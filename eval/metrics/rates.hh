#pragma once

#include <span>
#include <vector>

#include "eval/metrics/window.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/trace.hh"

/// How much went through (docs/method.md). Throughput counts what left the link, in IP bytes;
/// goodput is the same arithmetic over application bytes; capacity is what the trace would have
/// carried. Threads: pure functions.
namespace cress::metrics {

/// `size` left the link (or reached the application) at `at`.
struct Delivery {
  TimePoint at{};
  DataSize size{};
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

/// Sum of what was delivered inside the window. Any order.
DataSize delivered(std::span<const Delivery> deliveries, Window window);
/// delivered() by the window's length.
DataRate throughput(std::span<const Delivery> deliveries, Window window);
/// The trace's opportunities in the window by the window's length; the trace repeats.
DataRate capacity(const sim::DeliveryTrace& trace, Window window);
/// Share of `offered` that `used` is; 0 where the link offered nothing.
double utilization(DataRate used, DataRate offered);

/// Rates in consecutive bins of length `bin` (> 0) from window.from on; a last bin that the window
/// cuts short is rated over what is left of it.
std::vector<DataRate> throughput_per_bin(std::span<const Delivery> deliveries, Window window,
                                         Duration bin);
std::vector<DataRate> capacity_per_bin(const sim::DeliveryTrace& trace, Window window,
                                       Duration bin);

}  // namespace cress::metrics
