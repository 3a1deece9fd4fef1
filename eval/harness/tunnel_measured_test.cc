// Goal: the experiment of the Sprout paper's §5.7: a bulk transfer and a call on one cellular link,
// side by side and through SproutTunnel. Method: TCP Cubic and a Skype-like call over the recorded
// Verizon LTE downlink; a table is printed next to the paper's numbers.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "eval/metrics/delay_over_time.hh"
#include "eval/metrics/rates.hh"
#include "eval/schemes/registry.hh"
#include "eval/schemes/shared_link.hh"
#include "media/source/synthetic_camera.hh"

namespace cress::harness {
namespace {

namespace fs = std::filesystem;

const fs::path kLinks = fs::path{CRESS_DATA} / "traces" / "cellular";
constexpr metrics::Window kWindow{kTimeZero + 10s, kTimeZero + 140s};

struct Outcome {
  double bulk_kbps = 0;
  double call_kbps = 0;
  double call_delay95_ms = 0;
};

double rate_kbps(std::span<const schemes::CarriedDatagram> arrivals) {
  std::vector<metrics::Delivery> deliveries;
  for (const schemes::CarriedDatagram& datagram : arrivals) {
    deliveries.push_back({datagram.arrived, datagram.size});
  }
  return metrics::throughput(deliveries, kWindow).kilobits_per_second();
}

double delay95_ms(std::span<const schemes::CarriedDatagram> arrivals) {
  std::vector<metrics::Arrival> list;
  for (const schemes::CarriedDatagram& datagram : arrivals) {
    list.push_back({datagram.sent, datagram.arrived});
  }
  const auto delay = metrics::delay_quantile(list, kWindow, 0.95);
  return delay ? to_milliseconds(*delay) : 1e9;
}

std::shared_ptr<const sim::DeliveryTrace> load(const char* way) {
  return std::make_shared<sim::DeliveryTrace>(
      sim::load_trace(kLinks / ("Verizon-LTE-short." + std::string{way})));
}

/// Both at once, over the downlink; through a tunnel if its kind is given.
Outcome share(const schemes::SchemeContext& context, std::optional<tunnel::ControlKind> kind,
              bool with_bulk = true) {
  schemes::CallMedia camera{.camera = std::make_shared<media::SyntheticCamera>(), .microphone = {}};
  schemes::CallPair call = schemes::make_call("skype-like", context, 1, camera, {});
  schemes::SharedLink link{.down = load("down"),
                           .up = load("up"),
                           .length = kWindow.to - kTimeZero,
                           .call = {std::move(call.left), std::move(call.right)},
                           .tunnel = kind};
  if (with_bulk) {
    link.bulk = schemes::make_flow("cubic", context, 1);
  }
  const schemes::SharedArrivals arrivals = schemes::run_shared_link(std::move(link));
  return {.bulk_kbps = rate_kbps(arrivals.bulk),
          .call_kbps = rate_kbps(arrivals.call),
          .call_delay95_ms = delay95_ms(arrivals.call)};
}

void print(const char* name, const Outcome& outcome) {
  std::printf("%-24s %10.0f %10.0f %12.0f\n", name, outcome.bulk_kbps, outcome.call_kbps,
              outcome.call_delay95_ms);
}

TEST(TunnelMeasured, TunnelGivesACallNextToBulkItsRateAtLowDelay) {
  if (!fs::exists(kLinks)) {
    GTEST_SKIP() << "no data: recorded links in " << kLinks;
  }
  const schemes::SchemeContext context;
  const Outcome alone = share(context, std::nullopt, false);
  const Outcome direct = share(context, std::nullopt);
  const Outcome sprout = share(context, tunnel::ControlKind::kSprout);
  const Outcome cress = share(context, tunnel::ControlKind::kCress);
  std::printf("%-24s %10s %10s %12s\n", "", "bulk kbps", "call kbps", "call d95 ms");
  // Winstein, Sivaraman, Balakrishnan, NSDI 2013, §5.7: Skype and Cubic over Verizon LTE, down.
  print("paper: direct", {8336, 78, 6000});
  print("paper: through Sprout", {3776, 490, 170});
  print("call alone", alone);
  print("direct", direct);
  print("through sprout", sprout);
  print("through cress", cress);
  for (const Outcome& through : {sprout, cress}) {
    EXPECT_LE(through.call_delay95_ms, 0.1 * direct.call_delay95_ms);
    EXPECT_GE(through.call_kbps, 2 * direct.call_kbps);
    EXPECT_GE(through.bulk_kbps, 700) << "the transfer goes on";
  }
  EXPECT_GE(cress.bulk_kbps, 2 * sprout.bulk_kbps);
  EXPECT_GE(cress.call_kbps, 2 * sprout.call_kbps);
}

}  // namespace
}  // namespace cress::harness
