#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/saturate/wire.hh"
#include "transport/base/check.hh"

// Any bytes give a datagram, which is then written and read again the same, or an error. Nobody who
// does not know the key makes a good tag.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace traces = cress::traces;
  const auto bytes = std::as_bytes(std::span{data, size});
  const auto datagram = traces::parse_saturate(bytes);
  if (!datagram) {
    return 0;
  }
  const traces::SaturateKey key = traces::key_of_token("a token that the input does not hold");
  check(!traces::tag_is_good(bytes, key), "a tag out of nothing");
  const std::vector<std::byte> written = traces::encode_saturate(*datagram, key, size);
  check(written.size() <= std::max({size, traces::kUpdateSizeMax, traces::kHelloSize}),
        "longer than it may be");
  check(traces::tag_is_good(written, key), "its own tag is not good");
  const auto again = traces::parse_saturate(written);
  check(again.has_value() && *again == *datagram, "parse(encode(x)) differs from x");
  return 0;
}
