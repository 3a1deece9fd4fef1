#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "media/source/y4m.hh"
#include "transport/base/check.hh"

// Any bytes: the reader ends, its sizes are consistent, and both ways of iterating agree.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace media = cress::media;
  const std::string bytes(data, data + size);
  std::istringstream whole{bytes};
  std::istringstream skipped{bytes};
  media::Y4mReader reader{whole};
  media::Y4mReader skipper{skipped};
  const auto header = reader.read_header();
  check(header == skipper.read_header(), "two readers, two headers");
  if (!header) {
    check(!media::describe(header.error()).empty(), "an error without words");
    return 0;
  }
  for (;;) {
    // Reading allocates a picture before it knows that the bytes exist: keeps the fuzzer's memory
    // low.
    if (header->frame_size() > cress::DataSize{1 << 22}) {
      return 0;
    }
    const auto picture = reader.read_picture();
    const auto planes = skipper.skip_picture(bytes.size());
    check(picture.has_value() == planes.has_value(), "one reader fails, the other does not");
    if (!picture) {
      check(picture.error() == planes.error(), "two readers, two errors");
      return 0;
    }
    check(picture->has_value() == planes->has_value(), "one reader ends, the other does not");
    if (!picture->has_value()) {
      return 0;
    }
    check((*picture)->data.size() == static_cast<size_t>(header->frame_size().bytes()),
          "a picture of another size");
  }
}
