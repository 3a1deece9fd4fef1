// A forecast from a trace: Cress's belief about the rate of a link that is always busy, compared
// with what the link then delivers. The forecast is the lower quartile: if the model were exact, a
// quarter of the forecasts would be too high.
#include <fmt/core.h>

#include "traces/links.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/control/cress/gamma_belief.hh"

using namespace cress;

int main() {
  // A link is a list of instants at which it can deliver 1500 bytes. This one is built into the
  // program.
  const sim::DeliveryTrace trace = traces::embedded_trace("lte-slow", traces::Direction::kDown);
  const control::CressControl::Options options;
  control::GammaBelief belief{options.belief};

  int forecasts = 0;
  int too_high = 0;
  TimePoint busy_since = kTimeZero;
  TimePoint next_forecast = kTimeZero + 1s;
  for (const sim::DeliveryOpportunity& opportunity : trace.opportunities) {
    const TimePoint at = kTimeZero + opportunity.at;
    for (; next_forecast < at; next_forecast += 1s) {
      control::GammaBelief now =
          belief;  // a belief is a plain value: a copy can be advanced on its own
      now.pass_busy(next_forecast - busy_since);
      const double packets = now.deliveries(options.delay_target, options.caution_normal);
      const double delivered =
          static_cast<double>(
              trace.capacity(next_forecast, next_forecast + options.delay_target).bytes()) /
          1500;
      if (forecasts < 10) {
        fmt::print(
            "{:3.0f} s: at least {:4.1f} packets in the next 60 ms; the link delivered {:4.1f}\n",
            to_seconds(next_forecast - kTimeZero), packets, delivered);
      }
      ++forecasts;
      too_high += delivered < packets ? 1 : 0;
    }
    // Evidence: the queue was not empty for this long, and then one packet left.
    belief.pass_busy(at - busy_since);
    belief.observe(1);
    busy_since = at;
  }
  const double share = static_cast<double>(too_high) / forecasts;
  fmt::print("{} of {} forecasts were too high ({:.0f} %)\n", too_high, forecasts, 100 * share);
  return share < 0.4 ? 0 : 1;
}
