#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "eval/schemes/tcp/tcp_segment.hh"

// Any bytes give a segment or an error, and a parsed segment is written back to the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress::schemes;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  const auto segment = parse_tcp_segment(bytes);
  if (segment) {
    const auto again = encode(*segment);
    cress::check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
                 "encode(parse(bytes)) == bytes");
  }
  return 0;
}
