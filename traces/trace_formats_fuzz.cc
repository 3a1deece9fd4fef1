#include <cstddef>
#include <cstdint>
#include <string_view>

#include "traces/model_json.hh"
#include "traces/trace_formats.hh"
#include "transport/base/check.hh"

// The first byte chooses the parser. Any text gives a value that survives its own format, or one
// sentence.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace traces = cress::traces;
  if (size == 0) {
    return 0;
  }
  const std::string_view text{reinterpret_cast<const char*>(data + 1), size - 1};
  if (data[0] % 3 == 0) {
    const auto model = traces::parse_model(text);
    if (!model) {
      check(!model.error().empty(), "an error without words");
      return 0;
    }
    const auto again = traces::parse_model(traces::format_model(*model));
    check(again && *again == *model, "parse(format(model)) differs from model");
    return 0;
  }
  const bool csv = data[0] % 3 == 1;
  const auto trace = csv ? traces::parse_csv(text) : traces::parse_steps(text);
  if (!trace) {
    check(!trace.error().what.empty(), "an error without words");
    return 0;
  }
  check(trace->period() > cress::Duration::zero() && trace->period() <= cress::sim::kTraceLengthMax,
        "an accepted trace cannot repeat");
  for (size_t i = 1; i < trace->opportunities.size(); ++i) {
    check(trace->opportunities[i - 1] <= trace->opportunities[i], "times go back");
  }
  if (trace->opportunities.size() < 10'000) {
    const auto again = traces::parse_csv(traces::format_csv(*trace));
    check(again && *again == *trace, "parse(format(trace)) differs from trace");
  }
  return 0;
}
