// Any bytes as a plan: a bounded plan or one error with a message.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "eval/sweep/plan.hh"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace sweep = cress::sweep;
  const auto plan = sweep::parse_plan({reinterpret_cast<const char*>(data), size});
  if (!plan) {
    cress::check(!plan.error().what.empty(), "an error without words");
    return 0;
  }
  cress::check(plan->size() >= 1 && plan->size() <= sweep::kPlanRunsMax, "a plan out of bounds");
  const size_t last = plan->size() - 1;
  for (const auto key : {sweep::Key::kScheme, sweep::Key::kLink, sweep::Key::kSeed}) {
    cress::check(plan->value(0, key) != nullptr && plan->value(last, key) != nullptr,
                 "a run without scheme, link or seed");
  }
  return 0;
}
