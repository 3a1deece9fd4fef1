// Any bytes as each of a run's files: a value or an error, never more.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "eval/report/run_files.hh"
#include "transport/base/check.hh"

namespace {

template <class T>
void check_parsed(const cress::Result<T, cress::report::ParseError>& parsed) {
  cress::check(parsed.has_value() || !parsed.error().what.empty(), "an error without words");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_parsed(cress::report::parse_results(text));
  check_parsed(cress::report::parse_timeline(text));
  check_parsed(cress::report::parse_frames(text));
  check_parsed(cress::report::parse_worst(text));
  return 0;
}
