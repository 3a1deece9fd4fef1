// Any text gives a link or one error, and a formatted link can be parsed.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "transport/secure/link/link.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress::secure;
  const auto link = parse_link({reinterpret_cast<const char*>(data), size});
  if (link && !(parse_link(format_link(*link)) == link)) {
    std::abort();
  }
  return 0;
}
