// Any bytes are a card's text or are refused, and a parsed text is written back to the same bytes.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "transport/secure/group/member_card.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress::secure;
  const auto bytes = std::as_bytes(std::span{data, size});
  const auto text = parse_card_text(bytes);
  if (text) {
    std::vector<std::byte> again;
    append_card_text(*text, again);
    if (!std::ranges::equal(again, bytes)) {
      std::abort();
    }
  }
  return 0;
}
