// Any bytes as a run.json: a record or an error, and a record can be compared with itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "eval/compare/run_record.hh"
#include "transport/base/check.hh"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = cress::compare::parse_record(text);
  cress::check(parsed.has_value() || !parsed.error().what.empty(), "an error without words");
  if (parsed) {
    cress::compare::RecordedResults before{*parsed, {}};
    cress::compare::RecordedResults after{*parsed, {}};
    cress::compare::match_experiments(before, after, false);
  }
  return 0;
}
