#pragma once

#include <string>
#include <string_view>

#include "transport/sim/trace.hh"

namespace cress::traces {

/// A picture of a link as an SVG document of its own, in two panels: the distribution of
/// interarrival times on logarithmic axes with its power-law tail (Sprout, NSDI '13, Figure 2), and
/// the rate per 200 ms over time. `title` is shown as it is (escaped, cut after 80 characters).
std::string plot_svg(const sim::DeliveryTrace& trace, std::string_view title);

}  // namespace cress::traces
