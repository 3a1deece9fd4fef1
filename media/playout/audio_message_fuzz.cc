#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "media/playout/audio_message.hh"
#include "transport/base/check.hh"

// Any bytes: an error, or a message that is written back to the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace media = cress::media;
  const auto bytes = std::as_bytes(std::span{data, size});
  const auto message = media::parse_sound(bytes);
  if (!message) {
    check(*media::describe(message.error()) != '\0', "an error without words");
    return 0;
  }
  // The one time that has no counterpart: the bounds are symmetric, two's complement is not.
  if (message->captured.time_since_epoch() >= -media::kSoundTimeMax) {
    check(std::ranges::equal(media::format_sound(*message), bytes), "a message changed on the way");
  }
  return 0;
}
