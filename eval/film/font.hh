#pragma once

#include <map>
#include <string_view>
#include <utility>

#include "eval/film/canvas.hh"
#include "media/frame/picture.hh"

namespace cress::film {

/// A typeface of our own, drawn with a round pen of constant width along strokes, at any size, with
/// soft edges. ASCII; any other code point of UTF-8 is an empty box. Digits have equal widths, so
/// that a changing number does not move. The same pixels on every machine: square roots and
/// rounding, which IEEE defines exactly. Threads: none inside (it caches drawn letters); one owner.
class Font {
 public:
  /// Width of a line in pixels. `height`: of a capital letter, 5..200 pixels; a third as much hangs
  /// below the line.
  int width_of(std::string_view text, int height);
  /// The top left corner of a capital letter at (x, y). Returns the x where the text ends.
  int draw(media::Picture& canvas, int x, int y, int height, std::string_view text, Colour colour);

 private:
  struct Letter {
    Mask mask;
    int advance = 0;  ///< to the next letter
    int margin = 0;   ///< offset of the mask to the left of and above the letter's corner
  };
  const Letter& letter(char character, int height);

  std::map<std::pair<char, int>, Letter> letters_;
};

}  // namespace cress::film
