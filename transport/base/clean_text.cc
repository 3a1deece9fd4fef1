#include "transport/base/clean_text.hh"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cress {
namespace {

struct Character {
  uint32_t code = 0;
  size_t size = 0;  // bytes; 0: none begins here
};

/// RFC 3629 §4: the shortest form alone, no surrogates, at most U+10FFFF.
Character first_character(std::string_view text) {
  const auto byte_at = [&](size_t i) -> uint32_t { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte_at(0);
  if (first < 0x80) {
    return {first, 1};
  }
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) {
    return {};
  }
  uint32_t code = first & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte_at(i) & 0xC0U) != 0x80U) {
      return {};
    }
    code = code << 6U | (byte_at(i) & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast.at(size) || is_surrogate || code > 0x10FFFF ? Character{}
                                                                   : Character{code, size};
}

struct Range {
  uint32_t first;
  uint32_t last;
};
constexpr std::array kLeftOut{Range{0x00, 0x1F},      Range{0x7F, 0x9F},     Range{0x61C, 0x61C},
                              Range{0x200B, 0x200B},  Range{0x200E, 0x200F}, Range{0x2028, 0x202E},
                              Range{0x2060, 0x206F},  Range{0xFEFF, 0xFEFF}, Range{0xFFF9, 0xFFFB},
                              Range{0xE0000, 0xE007F}};

bool is_left_out(uint32_t code) {
  return std::ranges::any_of(
      kLeftOut, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

}  // namespace

std::string clean_text(std::string_view text, size_t size_max) {
  std::string clean;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.size == 0) {
      text.remove_prefix(1);
      continue;
    }
    if (!is_left_out(character.code)) {
      if (clean.size() + character.size > size_max) {
        break;
      }
      clean.append(text.substr(0, character.size));
    }
    text.remove_prefix(character.size);
  }
  return clean;
}

}  // namespace cress
