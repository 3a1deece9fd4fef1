// Any bytes from a peer: a greeting is rebuilt to the same bytes, and messages give packets or
// nothing.

#include <algorithm>
#include <cstdint>
#include <span>

#include "relay/tunnel/greeting.hh"
#include "relay/tunnel/packet_parts.hh"
#include "transport/base/check.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;  // NOLINT(google-build-using-namespace): a fuzzer is one function
  const auto bytes = std::as_bytes(std::span{data, size});
  if (const auto greeting = tunnel::parse_greeting(bytes)) {
    check(*tunnel::parse_greeting(tunnel::build_greeting(*greeting)) == *greeting,
          "a greeting changed");
  }
  // Messages: a length byte, then that many bytes.
  tunnel::PacketAssembler assembler;
  for (size_t at = 0; at < size;) {
    const size_t length = std::min<size_t>(data[at], size - at - 1);
    const auto message = bytes.subspan(at + 1, length);
    const auto packet =
        assembler.handle_message(kTimeZero + at * 1ms, {message.begin(), message.end()});
    check(!packet || !packet->empty(), "an empty packet");
    check(assembler.waiting() <= tunnel::PacketAssembler::kWaitingBytesMax, "the assembler grew");
    at += 1 + length;
  }
  return 0;
}
