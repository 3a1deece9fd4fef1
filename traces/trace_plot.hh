#pragma once

#include <string>
#include <string_view>

#include "transport/sim/trace.hh"

namespace cress::traces {

/// A plot of a link as a standalone SVG document, in two panels: the distribution of interarrival
/// times on logarithmic axes with its power-law tail (Sprout, NSDI '13, Figure 2), and the rate per
/// 200 ms over time. `title` is displayed literally (escaped, truncated after 80 characters).
std::string plot_svg(const sim::DeliveryTrace& trace, std::string_view title);

}  // namespace cress::traces
