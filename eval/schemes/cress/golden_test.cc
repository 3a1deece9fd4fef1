#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "eval/schemes/golden_schemes_test_tools.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::schemes {
namespace {

TEST(CressGolden, FlowsAreAsRecorded) {
  constexpr std::array<std::string_view, 9> kNames{"cress",       "cress-cautious", "cress-bold",
                                                   "sprout",      "sprout-instant", "sprout-tunnel",
                                                   "sprout-ewma", "sprout-75",      "omniscient"};
  expect_golden("flows", golden::flows(kNames, 8s));
}

TEST(CressGolden, CallsAreAsRecorded) {
  constexpr std::array<std::string_view, 6> kNames{"cress",  "cress-cautious", "cress-bold",
                                                   "sprout", "sprout-ewma",    "omniscient"};
  golden::expect_calls("calls", kNames, 5s);
}

}  // namespace
}  // namespace cress::schemes
