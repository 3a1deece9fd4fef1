#include "traces/embedded_models.hh"

#include <array>

namespace cress::traces {
namespace {

constexpr DataRate kbps(double rate) {
  return DataRate::kilobits_per_second(static_cast<int64_t>(rate));
}
constexpr Duration ms(double count) { return from_seconds(count / 1e3); }

constexpr EmbeddedModel model(std::string_view name, Direction direction, uint64_t seed,
                              double scale, const std::array<double, 14>& fitted) {
  const auto& [mean_kbps, max_kbps, slow_spread, slow_ms, fast_spread, outage_share, outage_ms,
               outage_max_ms, outage_repeat, slipped_mean, stall_share, stall_tail_exponent,
               gap_variation, burst_mean] = fitted;
  return {.name = name,
          .direction = direction,
          .seed = seed,
          .scale = scale,
          .fitted = {.mean_rate = kbps(mean_kbps),
                     .rate_max = kbps(max_kbps),
                     .slow_spread = slow_spread,
                     .slow_time = ms(slow_ms),
                     .fast_spread = fast_spread,
                     .outage_share = outage_share,
                     .outage_mean = ms(outage_ms),
                     .outage_max = ms(outage_max_ms),
                     .outage_repeat = outage_repeat,
                     .slipped_mean = slipped_mean,
                     .stall_share = stall_share,
                     .stall_tail_exponent = stall_tail_exponent,
                     .gap_variation = gap_variation,
                     .burst_mean = burst_mean}};
}

// Origin of the numbers: `cress-trace fit FILE` prints each row's numbers (here rounded to three
// digits) for the recording named above it; the recordings themselves are not in this repository
// but in the data folder, traces/cellular. A fit preserves what TraceStatistics measures;
// link_model_test.cc has the precision. Scales adjust a link to the rate in its description; each
// seed is the first (down from 1, up from 101, so that the two directions vary independently) whose
// two minutes have a rate well within that description and, for `outages` down, a silence of three
// seconds.
const std::array kModels{
    // nyc-trace-3114405-bus.down
    model("lte-fast", Direction::kDown, 5, 0.95,
          {8105, 27180, 0.986, 22546, 0.713, 0.0118, 326, 1044, 0.451, 7, 0.0942, 2.63, 0.955, 1}),
    // Verizon-LTE-short.up
    model("lte-fast", Direction::kUp, 102, 1.1,
          {5946, 14880, 0.597, 6998, 0.512, 0.0229, 907, 1718, 0, 1, 0.0302, 3.04, 0.656, 1.41}),
    // ATT-LTE-driving.down
    model("lte-slow", Direction::kDown, 2, 0.35,
          {5173, 15780, 1.15, 8378, 0, 0.0227, 1515, 1515, 0.663, 1.36, 0, 3.01, 1.46, 1.28}),
    // Verizon-LTE-short.down
    model("lte-slow", Direction::kUp, 102, 0.25,
          {5028, 19980, 0.695, 5463, 0.338, 0.0128, 613, 1447, 0, 1, 0.00379, 3.02, 1.49, 1.09}),
    // TMobile-UMTS-driving.down
    model("3g", Direction::kDown, 5, 0.6,
          {2020, 7200, 1.08, 20393, 0, 0.129, 856, 5753, 0.567, 3.68, 0, 3.57, 0.433, 1.41}),
    // TMobile-UMTS-driving.up
    model("3g", Direction::kUp, 102, 1,
          {943, 1740, 0.79, 17886, 0, 0.112, 914, 5830, 0.35, 4.2, 0, 3.7, 0.411, 1.14}),
    // Verizon-EVDO-driving.down
    model("outages", Direction::kDown, 12, 1.35,
          {521, 3660, 1.01, 13313, 0, 0.0706, 946, 11567, 0, 3.86, 0.00676, 2.21, 1.1, 1.37}),
    // Verizon-EVDO-driving.up
    model("outages", Direction::kUp, 104, 0.85,
          {843, 2280, 0.69, 13146, 0, 0.0814, 744, 11198, 0.144, 3.45, 0, 3.19, 1.11, 1.2}),
    // nymp-22_2_wifi.down
    model("wifi", Direction::kDown, 1, 1.9,
          {8341, 23280, 1.27, 1992, 0.2, 0.0224, 207, 208, 0.75, 1, 0.0157, 1.77, 0.115, 1.08}),
    // nymp-22_2_wifi.down
    model("wifi", Direction::kUp, 102, 1.4,
          {8341, 23280, 1.27, 1992, 0.2, 0.0224, 207, 208, 0.75, 1, 0.0157, 1.77, 0.115, 1.08}),
};

}  // namespace

std::span<const EmbeddedModel> embedded_models() { return kModels; }

}  // namespace cress::traces
