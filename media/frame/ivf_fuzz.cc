#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "media/frame/ivf.hh"
#include "transport/base/check.hh"

// Any bytes: the reader ends, every frame is within its bounds, and every error has words.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace media = cress::media;
  std::istringstream stream{std::string(data, data + size)};
  media::IvfReader reader{stream};
  const auto header = reader.read_header();
  if (!header) {
    check(!media::describe(header.error()).empty(), "an error without words");
    return 0;
  }
  check(header->timebase_numerator > 0 && header->timebase_denominator > 0, "a zero timebase");
  size_t bytes = media::kIvfHeaderSize;
  for (;;) {
    const auto frame = reader.read_frame();
    if (!frame) {
      check(!media::describe(frame.error()).empty(), "an error without words");
      return 0;
    }
    if (!frame->has_value()) {
      check(bytes <= size, "more frames than bytes");
      return 0;
    }
    check(!(*frame)->data.empty() && (*frame)->data.size() <= size, "a frame of impossible size");
    bytes += media::kIvfFrameHeaderSize + (*frame)->data.size();
  }
}
