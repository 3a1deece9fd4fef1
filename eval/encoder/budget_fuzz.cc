#include <cstddef>
#include <cstdint>
#include <string_view>

#include "eval/encoder/budget.hh"
#include "transport/base/check.hh"

// Any text gives budgets within their bounds or an error in words.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto budgets = cress::encoder_bench::parse_budget_csv(text);
  if (!budgets) {
    check(!budgets.error().what.empty(), "an error without words");
    return 0;
  }
  check(!budgets->empty() && budgets->size() <= size, "more budgets than bytes");
  for (const cress::DataSize budget : *budgets) {
    check(budget.bytes() >= 0 && budget.bytes() <= 1 << 30, "a budget out of range");
  }
  return 0;
}
