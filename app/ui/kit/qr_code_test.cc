#include "app/ui/kit/qr_code.hh"

#include <gtest/gtest.h>

#include <string>

namespace cress::ui {
namespace {

/// ISO/IEC 18004 §6.3.3: a square of 7, in it a light ring, in it a square of 3.
bool has_finder(const QrCode& code, int left, int top) {
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 7; ++x) {
      const bool is_ring = x == 1 || x == 5 || y == 1 || y == 5;
      const bool is_edge = x == 0 || x == 6 || y == 0 || y == 6;
      if (code.is_dark(left + x, top + y) != (is_edge || !is_ring)) {
        return false;
      }
    }
  }
  return true;
}

TEST(QrCode, HasItsSignsInThreeCorners) {
  const auto code = qr_code("cress://203.0.113.7:41641/#Jx8mQ0vKZq3uVtYw2aBcDg");
  ASSERT_TRUE(code);
  EXPECT_EQ(code->side, 33);  // version 4: 62 bytes at level M
  EXPECT_EQ(code->dark.size(), 33U * 33U);
  EXPECT_TRUE(has_finder(*code, 0, 0));
  EXPECT_TRUE(has_finder(*code, 26, 0));
  EXPECT_TRUE(has_finder(*code, 0, 26));
  EXPECT_FALSE(has_finder(*code, 26, 26));
}

TEST(QrCode, IsOfTheWholeText) {
  EXPECT_EQ(qr_code(std::string(2331, 'x'))->side, 177);
  EXPECT_FALSE(qr_code(std::string(2332, 'x')));
  EXPECT_FALSE(qr_code(""));
  EXPECT_FALSE(qr_code(std::string("a\0b", 3)));
  EXPECT_NE(qr_code("cress://a:1/#A")->dark, qr_code("cress://a:1/#B")->dark);
}

}  // namespace
}  // namespace cress::ui
