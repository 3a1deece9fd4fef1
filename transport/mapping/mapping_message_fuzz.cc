// Any datagram is one answer or none; and a mapper that gets it, from its router or from elsewhere,
// before and after it has a mapping, sends a bounded number of datagrams and always has a time at
// which it goes on.

#include <cstdint>
#include <cstdlib>
#include <span>

#include "transport/mapping/mapping_message.hh"
#include "transport/mapping/port_mapper.hh"

namespace {

using namespace cress;
using namespace cress::mapping;

Address address(uint8_t last, uint16_t port) {
  Address address{.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last}, .port = port};
  return address;
}

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

// The input: datagrams, each after two bytes: its length, and when and from where it comes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Address router = address(1, kRouterPort);
  TimePoint now = kTimeZero;
  PortMapper mapper{now, {.router = router, .client = address(2, 4433), .nonce = {}}};
  size_t sent = 0;
  size_t received = 0;
  const auto drain = [&] {
    while (mapper.poll_transmit(now)) {
      ++sent;
    }
  };
  drain();
  std::span<const uint8_t> rest{data, size};
  while (rest.size() >= 2) {
    const size_t length = std::min<size_t>(rest[0], rest.size() - 2);
    const uint8_t how = rest[1];
    const auto bytes = std::as_bytes(rest.subspan(2, length));
    rest = rest.subspan(2 + length);
    now += Duration{10ms} * (how >> 2U);
    if (mapper.poll_timeout() <= now) {
      mapper.handle_timeout(now);
      require(mapper.poll_timeout() > now);
      drain();
      ++received;
    }
    (void)parse_router_answer(bytes);
    mapper.handle_datagram(now, (how & 3U) == 0 ? address(3, kRouterPort) : router, bytes);
    ++received;
    drain();
    require(!mapper.mapped() || mapper.mapped()->port != 0);
  }
  require(sent <= received + 1);
  mapper.remove();
  require(!mapper.mapped() && mapper.poll_timeout() == kNever);
  return 0;
}
