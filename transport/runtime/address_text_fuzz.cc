#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/base/check.hh"
#include "transport/runtime/address_text.hh"

// Any text gives an address, which is then written and read again the same, or an error with words.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace runtime = cress::runtime;
  const std::string text{data, data + size};
  const auto address = runtime::parse_address(text);
  if (!address) {
    check(*runtime::describe(address.error()) != '\0', "an error without words");
    return 0;
  }
  const auto again = runtime::parse_address(runtime::format_address(*address));
  check(again.has_value() && *again == *address, "an address that is not read as it was written");
  return 0;
}
