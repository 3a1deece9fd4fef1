#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/file_descriptor.hh"
#include "transport/runtime/socket_address.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::runtime {
namespace {

constexpr size_t kDatagramSize = 1200;
constexpr size_t kDatagrams = 64;  // a round: they all wait in the kernel between the two halves

/// How late timers of 1 ms to 20 ms call back, one after the other.
void timer_lateness(benchmark::State& state) {
  constexpr size_t kTimers = 500;
  const MonotonicClock clock;
  EventLoop loop{clock};
  std::vector<double> late_us;
  for ([[maybe_unused]] auto _ : state) {
    Rng rng{1};
    TimePoint due{};
    std::unique_ptr<EventLoop::Timer> timer;
    const auto arm_next = [&] {
      due = clock.now() + std::chrono::microseconds{1000 + rng.below(19'001)};
      timer->arm(due);
    };
    timer = std::make_unique<EventLoop::Timer>(loop, [&] {
      late_us.push_back(to_milliseconds(clock.now() - due) * 1000);
      if (late_us.size() == kTimers) {
        loop.stop();
      } else {
        arm_next();
      }
    });
    arm_next();
    loop.run();
  }
  std::sort(late_us.begin(), late_us.end());
  state.counters["late_us_p50"] = late_us[late_us.size() / 2];
  state.counters["late_us_p99"] = late_us[late_us.size() * 99 / 100];
  state.counters["late_us_max"] = late_us.back();
}
BENCHMARK(timer_lateness)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Datagrams per second of one core through loopback, sending and receiving together.
void loopback_in_batches(benchmark::State& state) {
  const auto batch = static_cast<size_t>(state.range(0));
  const MonotonicClock clock;
  const Address any = *parse_address("127.0.0.1:0");
  UdpSocket left{clock, {.bind = any}};
  UdpSocket right{clock, {.bind = any}};
  const std::vector<Transmit> datagrams(
      kDatagrams, Transmit{right.local_address(), std::vector<std::byte>(kDatagramSize)});
  for ([[maybe_unused]] auto _ : state) {
    for (size_t sent = 0; sent < kDatagrams; sent += batch) {
      benchmark::DoNotOptimize(left.send_batch(std::span{datagrams}.subspan(sent, batch)));
    }
    for (size_t received = 0; received < kDatagrams;) {
      received += right.receive_batch(batch).datagrams.size();
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kDatagrams));
}
BENCHMARK(loopback_in_batches)->Arg(1)->Arg(8)->Arg(64);

/// The slow twin: sendto and recvfrom, without receive times.
void loopback_one_by_one_slow_twin(benchmark::State& state) {
  const FileDescriptor left{socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
  const FileDescriptor right{socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
  auto to = *to_sockaddr(*parse_address("127.0.0.1:0"), true);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
  auto* name = reinterpret_cast<sockaddr*>(&to.storage);
  socklen_t size = to.size;
  if (bind(right.get(), name, size) != 0 || getsockname(right.get(), name, &size) != 0) {
    state.SkipWithError("no port of loopback is free");
    return;
  }
  std::vector<std::byte> bytes(kDatagramSize);
  for ([[maybe_unused]] auto _ : state) {
    for (size_t i = 0; i < kDatagrams; ++i) {
      benchmark::DoNotOptimize(sendto(left.get(), bytes.data(), bytes.size(), 0, name, size));
    }
    for (size_t i = 0; i < kDatagrams;) {
      sockaddr_storage from{};
      socklen_t from_size = sizeof from;
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets API
      auto* from_name = reinterpret_cast<sockaddr*>(&from);
      i += recvfrom(right.get(), bytes.data(), bytes.size(), 0, from_name, &from_size) >= 0 ? 1 : 0;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kDatagrams));
}
BENCHMARK(loopback_one_by_one_slow_twin);

}  // namespace
}  // namespace cress::runtime
