#include "eval/film/font.hh"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "media/frame/picture.hh"

namespace cress::film {
namespace {

media::Picture black(int width, int height) {
  media::Picture canvas = media::make_picture(width, height);
  fill(canvas, {0, 0, width, height}, Colour{});
  return canvas;
}

constexpr Colour kWhite = from_rgb(255, 255, 255);

TEST(Font, EveryCharacterIsDrawnAndNoTwoLookAlike) {
  for (const int height : {7, 10, 24}) {
    Font font;
    std::set<std::string> seen;
    for (char character = '!'; character <= '~'; ++character) {
      media::Picture canvas = black(60, 60);
      font.draw(canvas, 10, 10, height, std::string(1, character), kWhite);
      EXPECT_NE(canvas, black(60, 60)) << character;
      EXPECT_TRUE(seen.insert({canvas.data.begin(), canvas.data.end()}).second)
          << character << " at " << height;
    }
    media::Picture canvas = black(60, 60);
    font.draw(canvas, 10, 10, height, " ", kWhite);
    EXPECT_EQ(canvas, black(60, 60));
  }
}

TEST(Font, DigitsHaveEqualWidths) {
  Font font;
  for (char figure = '0'; figure <= '9'; ++figure) {
    EXPECT_EQ(font.width_of(std::string(1, figure), 24), font.width_of("0", 24));
  }
}

TEST(Font, LineEndsAtItsWidth) {
  Font font;
  const std::string text = "Wgjpy_|{sprout-ewma} 1234 ms";
  constexpr int kHeight = 12;
  media::Picture canvas = black(400, 60);
  EXPECT_EQ(font.draw(canvas, 20, 20, kHeight, text, kWhite), 20 + font.width_of(text, kHeight));
  for (int y = 0; y < canvas.height; ++y) {
    for (int x = 0; x < canvas.width; ++x) {
      const bool inside = x >= 18 && x < 20 + font.width_of(text, kHeight) && y >= 18 &&
                          y < 20 + kHeight * 4 / 3 + 2;
      EXPECT_TRUE(inside || canvas.y()[y * canvas.width + x] == 16) << x << ", " << y;
    }
  }
}

TEST(Font, ACodePointBeyondAsciiIsOneBox) {
  Font font;
  EXPECT_EQ(font.width_of("\xC3\xA9", 20), font.width_of("\x7F", 20));
  EXPECT_EQ(font.width_of("a\xE2\x82\xACz", 20), font.width_of("a\x7Fz", 20));
  EXPECT_EQ(font.width_of("\xF0\x9F\x98\x80", 20), font.width_of("\x7F", 20));
}

}  // namespace
}  // namespace cress::film
