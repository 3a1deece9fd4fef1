#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cress {

/// Text of a peer as it may be displayed in one line: UTF-8 of at most `size_max` bytes, cut at the
/// end of a character. Left out: what is not UTF-8 (RFC 3629), control characters, and the
/// characters that turn the direction of the text around them, or are neither seen nor letters
/// (separators of lines, byte order marks, tags), so that no name looks like another text.
std::string clean_text(std::string_view text, size_t size_max);

}  // namespace cress
