#include "transport/process/hidden_text.hh"

#include <gtest/gtest.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "transport/base/leak_check.hh"

namespace cress::runtime {
namespace {

/// Made when it is asked for, so that this program's own memory does not hold it as a constant.
std::string telling_text() {
  std::string text = "cress://203.0.113.7:41641/#";
  for (int i = 0; i < 22; ++i) {
    text += static_cast<char>('A' + i * 7 % 26);
  }
  return text;
}

/// How often `text` is on this process's heap.
size_t times_in_heap(const std::string& text) {
  std::ifstream maps{"/proc/self/maps"};
  size_t times = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t from = 0;
    uintptr_t to = 0;
    if (line.find("[heap]") == std::string::npos ||
        std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2) {
      continue;
    }
    const std::string_view heap{reinterpret_cast<const char*>(from), to - from};
    for (size_t at = 0; (at = heap.find(text, at)) != std::string_view::npos; ++at) {
      ++times;
    }
  }
  return times;
}

TEST(HiddenText, GivesBackWhatItGot) {
  EXPECT_EQ(HiddenText{"cress://a/#b"}.reveal().view(), "cress://a/#b");
  EXPECT_STREQ(HiddenText{"cress://a/#b"}.reveal().c_str(), "cress://a/#b");
  EXPECT_EQ(HiddenText{}.reveal().view(), "");
  EXPECT_EQ(HiddenText{"abc"}.size(), 3U);
  EXPECT_TRUE(HiddenText{""}.empty());
  EXPECT_FALSE(HiddenText{"a"}.empty());
}

TEST(HiddenText, IsEqualIfItsTextIs) {
  const HiddenText text{"a link"};
  const HiddenText copy = text;
  EXPECT_EQ(text, copy);
  EXPECT_EQ(text, HiddenText{"a link"});
  EXPECT_FALSE(text == HiddenText{"a lino"});
  EXPECT_FALSE(text == HiddenText{"b link"});
  EXPECT_FALSE(text == HiddenText{"a lin"});
  EXPECT_FALSE(text == HiddenText{});
  EXPECT_EQ(HiddenText{}, HiddenText{""});
}

TEST(HiddenText, ACopyOutlivesTheFirst) {
  HiddenText first{"a link"};
  const HiddenText copy = first;
  first.clear();
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(copy.reveal().view(), "a link");
}

TEST(HiddenText, TheHeapHoldsItOnlyWhileItIsRevealed) {
#ifdef CRESS_LEAK_CHECK
  GTEST_SKIP() << "a sanitizer keeps freed memory";
#endif
  // A part of it, so that looking for it does not find what is looked for.
  std::string clear = telling_text();
  const std::string all = clear;
  std::string needle = all.substr(all.size() - 12);
  const size_t own = times_in_heap(needle);  // `clear`, `all`, and the needle if it is there
  const HiddenText hidden{clear};
  EXPECT_EQ(times_in_heap(needle), own) << "it keeps a copy in clear";
  {
    const ClearText revealed = hidden.reveal();
    EXPECT_EQ(times_in_heap(needle), own + 1);
  }
  EXPECT_EQ(times_in_heap(needle), own) << "what was revealed was not overwritten";
  wipe_text(clear);
  EXPECT_EQ(times_in_heap(needle), own - 1);
}

TEST(HiddenText, WipingEmptiesAShortTextToo) {
  std::string text = "short";
  const char* const at = text.data();
  wipe_text(text);
  EXPECT_EQ(text, "");
  EXPECT_EQ(std::memcmp(at, "\0\0\0\0\0", 5), 0);
}

TEST(HiddenText, PadsDifferAndMaskTwiceToTheSame) {
  std::array<std::byte, 16> pad{};
  std::array<std::byte, 16> other{};
  fill_pad(pad);
  fill_pad(other);
  EXPECT_NE(pad, other);
  std::array<std::byte, 40> bytes{};
  bytes.fill(std::byte{7});
  const auto before = bytes;
  apply_pad(bytes, pad);
  EXPECT_EQ(bytes[17], std::byte{7} ^ pad[1]);
  EXPECT_NE(bytes, before);
  apply_pad(bytes, pad);
  EXPECT_EQ(bytes, before);
}

}  // namespace
}  // namespace cress::runtime
