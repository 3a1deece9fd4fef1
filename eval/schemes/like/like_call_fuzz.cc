#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "eval/schemes/like/like_call.hh"
#include "transport/base/check.hh"

// Any datagrams, at any times: no crash, and the rate stays between floor and ceiling. Input: for
// each datagram its length (1 byte), the pause before it in 20 ms (1 byte), its bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;
  using namespace cress::schemes;
  const LikeOptions options;
  LikeCall call{kTimeZero, options, nullptr};
  std::span<const std::byte> rest{reinterpret_cast<const std::byte*>(data), size};
  TimePoint now = kTimeZero;
  while (rest.size() >= 2) {
    const size_t length = std::min(std::to_integer<size_t>(rest[0]), rest.size() - 2);
    now += 20ms * std::to_integer<int>(rest[1]);
    const auto bytes = rest.subspan(2, length);
    rest = rest.subspan(2 + length);
    call.handle_timeout(now);
    call.handle_datagram(now, {}, bytes);
    while (call.poll_transmit(now)) {
    }
    while (call.poll_shown()) {
    }
    check(call.poll_timeout() > now - 1s, "a timeout is not left behind");
    check(call.target() >= options.floor && call.target() <= options.ceiling,
          "the rate stays between floor and ceiling");
  }
  return 0;
}
