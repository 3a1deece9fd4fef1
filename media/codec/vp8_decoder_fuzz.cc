#include <cstddef>
#include <cstdint>
#include <span>

#include "media/codec/vp8_decoder.hh"
#include "transport/base/check.hh"

// The input is a list of frames, each after its length in two bytes (high first). libvpx itself is
// not instrumented here; the test watches its effect on our memory and our own parsing.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace media = cress::media;
  media::Vp8Decoder decoder{{.pixels_max = 1 << 16}};
  std::span<const std::byte> rest = std::as_bytes(std::span{data, size});
  while (rest.size() >= 2) {
    const size_t length = std::to_integer<size_t>(rest[0]) << 8U | std::to_integer<size_t>(rest[1]);
    rest = rest.subspan(2);
    const auto frame = rest.first(length < rest.size() ? length : rest.size());
    rest = rest.subspan(frame.size());
    const auto decoded = decoder.decode(frame);
    if (decoded && *decoded != nullptr) {
      const media::Picture& picture = **decoded;
      cress::check(picture.luma_size() <= 1 << 16, "a picture beyond the limit");
      cress::check(picture.data.size() == picture.luma_size() + 2 * picture.chroma_size(),
                   "a picture of the wrong shape");
    }
  }
  return 0;
}
