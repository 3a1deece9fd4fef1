// Any bytes give a datagram or an error; what was parsed keeps the rules of its format and can be
// built and parsed again to the same.

#include <algorithm>
#include <cstdint>
#include <span>

#include "transport/base/check.hh"
#include "transport/wire/datagram.hh"
#include "transport/wire/wire_test_tools.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;
  using namespace cress::wire;
  const auto parsed = parse_datagram(std::as_bytes(std::span{data, size}));
  if (!parsed) {
    return 0;
  }
  check(!parsed->forecast || broken_rule(*parsed->forecast).empty(),
        "a parsed forecast breaks a rule of its format");
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
  const auto same = [](const MessageView& a, const MessageView& b) {
    return a.flow == b.flow && std::ranges::equal(a.bytes, b.bytes);
  };
  check(again->header == parsed->header && again->forecast == parsed->forecast &&
            std::ranges::equal(again->messages, parsed->messages, same),
        "a datagram changed on its way through builder and parser");
  return 0;
}
