#include <cstddef>
#include <cstdint>
#include <span>

#include "media/source/wav.hh"
#include "transport/base/check.hh"

// Any bytes: audio that meets its invariants and is no larger than the file, or an error with a
// message.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace media = cress::media;
  const auto sound = media::parse_wav(std::as_bytes(std::span{data, size}));
  if (!sound) {
    check(*media::describe(sound.error()) != '\0', "an error without words");
    return 0;
  }
  const auto channels = static_cast<size_t>(sound->channels);
  check(channels == 1 || channels == 2, "channels out of range");
  check(!sound->samples.empty() && sound->samples.size() % channels == 0, "half a sample");
  check(2 * sound->samples.size() < size, "more sound than bytes");
  check(media::to_mono(*sound).size() == sound->samples.size() / channels,
        "mono of another length");
  return 0;
}
