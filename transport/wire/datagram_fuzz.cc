// Any bytes give a datagram or an error; what was parsed can be built and parsed again to the same.

#include <cstdint>
#include <span>

#include "transport/base/check.hh"
#include "transport/wire/datagram.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;
  using namespace cress::wire;
  const auto parsed = parse_datagram(std::as_bytes(std::span{data, size}));
  if (!parsed) {
    return 0;
  }
  DatagramBuilder builder{kDatagramMax};
  if (parsed->forecast && !builder.add_forecast(*parsed->forecast)) {
    return 0;
  }
  for (const MessageView& message : parsed->messages) {
    if (!builder.add_message(message.flow, message.bytes)) {
      return 0;
    }
  }
  const auto again_bytes = builder.finish(parsed->header);
  const auto again = parse_datagram(again_bytes);
  check(again.has_value(), "what was built does not parse");
  check(again->header == parsed->header && again->forecast == parsed->forecast &&
            again->messages.size() == parsed->messages.size(),
        "a datagram changed on its way through builder and parser");
  return 0;
}
