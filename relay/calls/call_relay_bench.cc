// What a datagram of a call costs the relay, next to copying it alone.

#include <benchmark/benchmark.h>

#include <vector>

#include "relay/calls/call_relay.hh"
#include "transport/secure/secure_test_tools.hh"

namespace cress::relay {
namespace {

constexpr size_t kBytes = 1200;

Address address_of(size_t end) {
  return secure::test_address(static_cast<uint8_t>(end / 50'000),
                              static_cast<uint16_t>(1000 + end % 50'000));
}

void put(CallRelay& relay, SpareBuffers& spare, const Address& at, secure::Role role, size_t call) {
  std::vector<std::byte> secret(16);
  secret[0] = static_cast<std::byte>(call & 255U);
  secret[1] = static_cast<std::byte>(call >> 8U);
  const secure::SigningKey key = secure::rendezvous_key(secret);
  secure::Registration request{.role = role, .transaction = call, .call = key.public_key()};
  request.party.fill(static_cast<std::byte>(role));
  relay.handle_datagram(kTimeZero, at, secure::serialize(request));
  while (auto answer = relay.poll_transmit()) {
    if (const auto cookie = secure::parse_cookie_answer(answer->bytes)) {
      request.cookie = cookie->cookie;
    }
    spare.give(std::move(answer->bytes));
  }
  sign(request, key);
  relay.handle_datagram(kTimeZero, at, secure::serialize(request));
  while (relay.poll_transmit()) {
  }
}

CallRelayOptions without_limits(size_t calls) {
  CallRelayOptions options{.calls_max = calls,
                           .rate_max = DataRate::kilobits_per_second(1'000'000'000)};
  options.limits.hellos = options.limits.answers = options.limits.handshakes =
      options.limits.handshakes_of_network = {.per_second = 1e9, .burst = 1e9};
  return options;
}

void forward(benchmark::State& state) {
  const auto calls = static_cast<size_t>(state.range(0));
  SpareBuffers spare;
  CallRelay relay{without_limits(calls), &spare};
  for (size_t call = 0; call < calls; ++call) {
    put(relay, spare, address_of(2 * call), secure::Role::kListener, call);
    put(relay, spare, address_of(2 * call + 1), secure::Role::kJoiner, call);
  }
  const std::vector<std::byte> datagram(kBytes, std::byte{0x11});
  TimePoint now = kTimeZero;
  size_t end = 0;
  for (auto _ : state) {
    now += 1us;
    end = (end + 7) % (2 * calls);
    relay.handle_datagram(now, address_of(end), datagram);
    auto sent = relay.poll_transmit();
    if (!sent || sent->bytes.size() != kBytes) {
      state.SkipWithError("not forwarded");
      break;
    }
    spare.give(std::move(sent->bytes));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(forward)->Name("call_forward")->Arg(1)->Arg(1000);

void copy(benchmark::State& state) {
  SpareBuffers spare;
  const std::vector<std::byte> datagram(kBytes, std::byte{0x11});
  for (auto _ : state) {
    auto bytes = spare.take(kBytes);
    bytes.assign(datagram.begin(), datagram.end());
    benchmark::DoNotOptimize(bytes.data());
    spare.give(std::move(bytes));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(copy)->Name("call_copy_alone");

}  // namespace
}  // namespace cress::relay
