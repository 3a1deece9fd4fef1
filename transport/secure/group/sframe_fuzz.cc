// Any bytes give a header or an error, a parsed header is written back to the same bytes, and no
// bytes open as a frame unless they were encrypted. Input: 1 byte: how many of the bytes that
// follow are metadata, then those, then the frame.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "transport/secure/group/sframe.hh"

namespace {

using namespace cress::secure;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto all = std::as_bytes(std::span{data, size}).subspan(1);
  const auto metadata = all.first(std::min<size_t>(data[0], all.size()));
  const auto frame = all.subspan(metadata.size());
  const auto parsed = parse_sframe_header(frame);
  if (!parsed) {
    return 0;
  }
  std::vector<std::byte> again;
  append_sframe_header(parsed->header, again);
  require(std::ranges::equal(again, frame.first(parsed->size)));

  const SFrameSuite suite =
      data[0] % 2 == 0 ? SFrameSuite::kAes128GcmSha256 : SFrameSuite::kAes256GcmSha512;
  const auto base_key = std::as_bytes(std::span{"a base key"});
  SFrameKey receiver{suite, Use::kOpen, parsed->header.kid, base_key};
  require(!receiver.open(*parsed, metadata, frame));
  // The same bytes, encrypted with a valid key.
  SFrameKey sender{suite, Use::kSeal, parsed->header.kid, base_key};
  const auto text = frame.subspan(parsed->size);
  const auto sealed = sender.seal(parsed->header.counter, metadata, text);
  const auto opened = receiver.open(*parsed, metadata, sealed);
  require(opened.has_value() && std::ranges::equal(*opened, text));
  return 0;
}
