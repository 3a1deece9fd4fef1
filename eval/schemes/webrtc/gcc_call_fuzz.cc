#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "eval/schemes/webrtc/gcc_call.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/check.hh"

// Any datagrams, at any times, at an end that sends and receives: no crash, and the rate stays
// between floor and ceiling. Input: for each datagram its length (1 byte), the pause before it in
// 10 ms (1 byte), its bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;
  using namespace cress::schemes;
  const GccOptions options;
  const auto camera = std::make_shared<media::SyntheticCamera>(media::SyntheticCameraOptions{
      .width = 32, .height = 32, .frame_rate = {.numerator = 10, .denominator = 1}});
  GccCall call{kTimeZero, options, camera};
  std::span<const std::byte> rest{reinterpret_cast<const std::byte*>(data), size};
  TimePoint now = kTimeZero;
  while (rest.size() >= 2) {
    const size_t length = std::min(std::to_integer<size_t>(rest[0]), rest.size() - 2);
    now += 10ms * std::to_integer<int>(rest[1]);
    const auto bytes = rest.subspan(2, length);
    rest = rest.subspan(2 + length);
    call.handle_timeout(now);
    call.handle_datagram(now, {}, bytes);
    while (call.poll_transmit(now)) {
    }
    while (call.poll_shown()) {
    }
    check(call.sender()->target() >= options.estimator.delay.floor &&
              call.sender()->target() <= options.estimator.delay.ceiling,
          "the rate stays between floor and ceiling");
  }
  return 0;
}
