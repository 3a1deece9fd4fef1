#pragma once

#include <string>
#include <string_view>

/// Text inside pages and pictures that our programs write. Pure.
namespace cress {

/// `text` as the content of an element of HTML or SVG.
inline std::string escaped_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// The same, also as an attribute in double quotes.
inline std::string escaped_attribute(std::string_view text) {
  std::string out;
  for (const char c : escaped_markup(text)) {
    out += c == '"' ? std::string_view{"&quot;"} : std::string_view{&c, 1};
  }
  return out;
}

/// `text` with '?' for every byte that is not printable ASCII. For text from outside: bytes that
/// are not UTF-8, or half a character, would make a page ill-formed.
inline std::string printable_ascii(std::string text) {
  for (char& c : text) {
    c = c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

}  // namespace cress
