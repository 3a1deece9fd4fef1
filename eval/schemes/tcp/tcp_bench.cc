#include <benchmark/benchmark.h>

#include <memory>

#include "eval/schemes/congestion/cubic.hh"
#include "eval/schemes/tcp/tcp_receiver.hh"
#include "eval/schemes/tcp/tcp_sender.hh"
#include "transport/sim/world.hh"

namespace cress::schemes {
namespace {

/// 300 s of one saturating flow at 8 Mbit/s over an unlimited queue; argument: loss in per mille.
void five_minutes_of_cubic(benchmark::State& state) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration at = 1500us; at <= 3s; at += 1500us) {
    trace->opportunities.push_back({at});
  }
  for (auto iteration : state) {
    (void)iteration;
    sim::Link forward{
        {.trace = trace, .loss = static_cast<double>(state.range(0)) / 1000.0, .queue = nullptr}};
    sim::Link reverse{{.trace = trace, .queue = nullptr}};
    TcpSender sender{std::make_unique<Cubic>()};
    TcpReceiver receiver;
    sim::World world{{sender, receiver, forward, reverse}};
    world.run_until(kTimeZero + 300s);
    benchmark::DoNotOptimize(receiver.received());
  }
}
BENCHMARK(five_minutes_of_cubic)->Arg(0)->Arg(1)->Arg(50)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cress::schemes
