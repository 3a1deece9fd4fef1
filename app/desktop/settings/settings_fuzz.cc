#include <cstddef>
#include <cstdint>
#include <string>

#include "app/desktop/settings/settings.hh"
#include "transport/base/check.hh"

// Any text gives settings, which are then written (over that text) and read again the same, or an
// error with words.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace desktop = cress::desktop;
  const std::string text{data, data + size};
  const auto settings = desktop::parse_settings(text);
  if (!settings) {
    check(!desktop::describe(settings.error()).empty(), "an error without words");
    return 0;
  }
  const auto again = desktop::parse_settings(desktop::format_settings(*settings, text));
  check(again.has_value() && *again == *settings,
        "settings that are not read as they were written");
  return 0;
}
