#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "eval/schemes/golden_schemes_test_tools.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::schemes {
namespace {

/// Every scheme, for as long as it takes to tell one from another; each one's folder has its own.
TEST(GoldenSchemes, EachNameMakesTheFlowRecorded) {
  std::vector<std::string_view> names;
  for (const auto& list : {schemes(), schemes_with_path()}) {
    for (const SchemeInfo& scheme : list) {
      if (scheme.saturating) {
        names.push_back(scheme.name);
      }
    }
  }
  expect_golden("flows", golden::flows(names, 3s));
}

TEST(GoldenSchemes, EachNameMakesTheCallRecorded) {
  std::vector<std::string_view> names;
  for (const auto& list : {schemes(), schemes_with_path()}) {
    for (const SchemeInfo& scheme : list) {
      if (scheme.call) {
        names.push_back(scheme.name);
      }
    }
  }
  golden::expect_calls("calls", names, 2s);
}

}  // namespace
}  // namespace cress::schemes
