#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "transport/base/golden_test_tools.hh"

namespace cress {
namespace {

TEST(GoldenFile, IsFoundHoweverTheCompilerWasGivenItsTest) {
  const std::filesystem::path build = std::filesystem::path{CRESS_BIN}.parent_path();
  const std::filesystem::path there = build.parent_path().parent_path() / "a/golden/x.txt";
  EXPECT_EQ(golden_path("x", "../../a/one_test.cc"), there);
  EXPECT_EQ(golden_path("x", "/b/one_test.cc"), "/b/golden/x.txt");
}

TEST(GoldenFile, OfALineOnlyNumbersMarkedAsNearMayDiffer) {
  EXPECT_TRUE(is_golden_line("a ~10 b", "a ~12 b"));
  EXPECT_TRUE(is_golden_line("a ~10 b", "a ~8 b"));
  EXPECT_FALSE(is_golden_line("a ~10 b", "a ~13 b"));
  EXPECT_FALSE(is_golden_line("a 10 b", "a 11 b"));
  EXPECT_FALSE(is_golden_line("a ~10", "a ~10 b"));
  EXPECT_FALSE(is_golden_line("a ~10 b", "a ~10"));
  EXPECT_FALSE(is_golden_line("a ~10", "a 10"));
}

TEST(GoldenFile, TheFirstLineThatDiffersIsNamed) {
  EXPECT_FALSE(first_golden_difference("a\nb\n", "a\nb\n"));
  const auto changed = first_golden_difference("a\nb\nc\n", "a\nx\ny\n");
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->line, 2);
  EXPECT_EQ(changed->was, "b");
  EXPECT_EQ(changed->is, "x");
  const auto longer = first_golden_difference("a\n", "a\nb\n");
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->was, "(nothing)");
  EXPECT_EQ(longer->is, "b");
  EXPECT_EQ(first_golden_difference("a\nb\n", "a\n")->is, "(nothing)");
}

}  // namespace
}  // namespace cress
