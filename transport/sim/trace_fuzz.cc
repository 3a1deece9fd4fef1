#include <cstddef>
#include <cstdint>
#include <string_view>

#include "transport/base/check.hh"
#include "transport/sim/trace.hh"

// Any bytes give a valid trace or an error that can be described; what was accepted is written and
// read back unchanged, and its capacity can be asked for.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace sim = cress::sim;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto trace = sim::parse_trace(text);
  if (!trace) {
    check(!sim::describe(trace.error()).empty(), "an error without words");
    return 0;
  }
  check(!trace->opportunities.empty() && trace->period() > cress::Duration::zero(),
        "an accepted trace cannot repeat");
  const auto again = sim::parse_trace(sim::format_trace(*trace));
  check(again && *again == *trace, "parse(format(trace)) differs from trace");
  const cress::TimePoint end{trace->period()};
  check(trace->capacity(cress::kTimeZero, end + cress::Duration{1}).bytes() >=
            static_cast<int64_t>(trace->opportunities.size()) * sim::kOpportunitySize.bytes(),
        "capacity lost an opportunity");
  return 0;
}
