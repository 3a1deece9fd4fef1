#include <cstddef>
#include <cstdint>
#include <span>

#include "app/call/audio_receiver.hh"
#include "transport/base/check.hh"

// The input is a list of messages: milliseconds since the last one (one byte), length (one byte),
// bytes. Whatever they contain, audio is produced every 20 ms and memory stays bounded.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace app = cress::app;
  app::AudioReceiver receiver;
  cress::TimePoint now{};
  std::span<const std::byte> rest = std::as_bytes(std::span{data, size});
  while (rest.size() >= 2) {
    const auto wait = std::chrono::milliseconds{std::to_integer<int>(rest[0])};
    const auto length = std::to_integer<size_t>(rest[1]);
    rest = rest.subspan(2);
    const auto message = rest.first(length < rest.size() ? length : rest.size());
    rest = rest.subspan(message.size());
    const cress::TimePoint next = now + wait;
    while (receiver.poll_timeout() <= next) {
      now = receiver.poll_timeout();
      check(receiver.poll_frame(now).has_value(), "no sound when its time had come");
    }
    now = next;
    (void)receiver.handle_message(now, message);
  }
  return 0;
}
