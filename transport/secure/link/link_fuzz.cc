// Any text gives a link or one error, and a formatted link can be parsed; a room's access likewise.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "transport/secure/link/link.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress::secure;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto access = parse_room_access(text);
  if (access && format_room_access(*access) != text) {
    std::abort();
  }
  const auto link = parse_link(text);
  if (link && !(parse_link(format_link(*link)) == link)) {
    std::abort();
  }
  return 0;
}
