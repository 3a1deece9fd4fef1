#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "eval/schemes/golden_schemes_test_tools.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::schemes {
namespace {

constexpr std::array<std::string_view, 3> kNames{"skype-like", "hangouts-like", "facetime-like"};

TEST(LikeGolden, FlowsAreAsRecorded) { expect_golden("flows", golden::flows(kNames, 8s)); }

TEST(LikeGolden, CallsAreAsRecorded) { golden::expect_calls("calls", kNames, 8s); }

}  // namespace
}  // namespace cress::schemes
