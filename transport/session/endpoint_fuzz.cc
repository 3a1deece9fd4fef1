// A peer may send any bytes at any time: the endpoint counts, answers, and fails no check.
// Input: a sequence of (1 byte: ms until then, 2 bytes: length, that many bytes of datagram).

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/session/endpoint.hh"
#include "transport/sprout/sprout_control.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;
  using namespace cress::session;
  Endpoint endpoint{kTimeZero, EndpointOptions{},
                    std::make_unique<sprout::SproutControl>(
                        std::make_unique<sprout::EwmaEstimator>(sprout::EwmaOptions{}))};
  endpoint.open_flow(kVideoFlow, {.priority = Priority::kVideo});
  TimePoint now = kTimeZero;
  std::span rest{data, size};
  while (rest.size() >= 3) {
    now += std::chrono::milliseconds{rest[0]};
    const size_t length = std::min<size_t>(rest[1] * 256U + rest[2], rest.size() - 3);
    (void)endpoint.handle_datagram(now, std::as_bytes(rest.subspan(3, length)));
    rest = rest.subspan(3 + length);
    endpoint.send(now, kVideoFlow, std::vector<std::byte>(500));
    while (endpoint.poll_transmit(now)) {
    }
    while (endpoint.poll_message()) {
    }
    while (endpoint.poll_outcome()) {
    }
  }
  return 0;
}
