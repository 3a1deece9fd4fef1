#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "eval/schemes/golden_schemes_test_tools.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::schemes {
namespace {

TEST(CongestionGolden, FlowsByLossAreAsRecorded) {
  constexpr std::array<std::string_view, 5> kNames{"reno", "cubic", "cubic-codel", "cubic-red",
                                                   "compound"};
  expect_golden("flows_loss", golden::flows(kNames, 15s));
}

TEST(CongestionGolden, FlowsByDelayAreAsRecorded) {
  constexpr std::array<std::string_view, 7> kNames{"vegas",    "ledbat",   "bbr",     "copa",
                                                   "verus-r2", "verus-r4", "verus-r6"};
  expect_golden("flows_delay", golden::flows(kNames, 15s));
}

}  // namespace
}  // namespace cress::schemes
