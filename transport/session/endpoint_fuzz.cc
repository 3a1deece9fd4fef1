// A peer may send any bytes at any time: the endpoint counts, answers, and fails no check,
// whichever scheme it runs. Input: a sequence of (1 byte: ms until then, 2 bytes: length, that many
// bytes of datagram).

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "transport/control/cress/cress_control.hh"
#include "transport/control/sprout/sprout_control.hh"
#include "transport/session/endpoint.hh"

namespace {

using namespace cress;
using namespace cress::session;

void feed(std::span<const uint8_t> rest, std::unique_ptr<control::Control> control) {
  Endpoint endpoint{kTimeZero, EndpointOptions{}, std::move(control)};
  endpoint.open_flow(kVideoFlow, {.priority = Priority::kVideo});
  TimePoint now = kTimeZero;
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
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feed({data, size}, std::make_unique<control::SproutControl>(
                         std::make_unique<control::EwmaEstimator>(control::EwmaOptions{})));
  feed({data, size}, std::make_unique<control::CressControl>(control::CressControl::Options{}));
  return 0;
}
