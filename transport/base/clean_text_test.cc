#include "transport/base/clean_text.hh"

#include <gtest/gtest.h>

#include "transport/base/rng.hh"

namespace cress {
namespace {

std::string clean(std::string_view text) { return clean_text(text, 64); }

TEST(CleanText, LettersOfAllScriptsStay) {
  for (const char* text : {"Ada", "Zo\u00eb", "\u0410\u043d\u043d\u0430", "\u05d3\u05d5\u05d3",
                           "\u674e", "\U0001F469\u200d\U0001F680", "a b"}) {
    EXPECT_EQ(clean(text), text);
  }
}

TEST(CleanText, ControlsAndTurnedDirectionsAreLeftOut) {
  EXPECT_EQ(clean(std::string_view{"a\x00\x1F\n\x7F z", 7}), "a z");
  for (const char* control : {"\u0085", "\u061c", "\u200b", "\u200e", "\u200f", "\u2028", "\u202a",
                              "\u202e", "\u2066", "\u2069", "\ufeff", "\U000E0041"}) {
    EXPECT_EQ(clean(std::string{"Eve"} + control + "adA"), "EveadA") << control;
  }
}

TEST(CleanText, WhatIsNotUtf8IsLeftOut) {
  for (const char* bytes :
       {"\x80", "\xC0\xAF", "\xC1\x81", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xE2\x82", "\xF0\x80\x80\x80"}) {
    EXPECT_EQ(clean(std::string{"a"} + bytes + "b"), "ab");
    EXPECT_EQ(clean(std::string{"a"} + bytes), "a");
  }
}

TEST(CleanText, IsCutAtTheEndOfACharacter) {
  EXPECT_EQ(clean_text("aa\u20ac", 5), "aa\u20ac");
  EXPECT_EQ(clean_text("aa\u20ac", 4), "aa");
  EXPECT_EQ(clean_text("aa\u20acb", 4), "aa") << "and nothing after it";
}

TEST(CleanText, AnyBytesGiveTextThatIsCleanAlready) {
  Rng rng{7};
  for (int i = 0; i < 20'000; ++i) {
    std::string text(rng.below(20), '\0');
    for (char& c : text) {
      c = static_cast<char>(rng.chance(0.5) ? 0x80 + rng.below(128) : rng.below(256));
    }
    const std::string once = clean(text);
    EXPECT_EQ(clean(once), once);
  }
}

}  // namespace
}  // namespace cress
