#include "eval/film/font.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/base/check.hh"

namespace cress::film {
namespace {

// A glyph's strokes on a grid: a capital is 4 wide and 6 high, small letters begin at line 2 and
// hang down to line 8. A stroke is a chain of points, two figures each (column, line); "~" rounds
// its corners, and its ends too where it returns to its first point.
struct Glyph {
  int width = 4;
  std::string_view strokes;
};

constexpr Glyph kMissing{4, "0040460600"};

constexpr std::array<Glyph, 95> kGlyphs{{
    {2, ""},                                         // space
    {0, "0004 0606"},                                // !
    {2, "0001 2021"},                                // "
    {4, "1016 3036 0242 0444"},                      // #
    {4, "~4231110102133334451605 2027"},             // $
    {4, "4006 ~0010110100 ~3545463635"},             // %
    {4, "~4612112031320405163644"},                  // &
    {0, "0001"},                                     // '
    {2, "~20020527"},                                // (
    {2, "~00222507"},                                // )
    {4, "2125 0244 4204"},                           // *
    {4, "0343 2125"},                                // +
    {1, "1607"},                                     // ,
    {3, "0333"},                                     // -
    {0, "0606"},                                     // .
    {4, "4006"},                                     // /
    {4, "~103041453616050110"},                      // 0
    {4, "022026 0646"},                              // 1
    {4, "~0110304142 4206 0646"},                    // 2
    {4, "~0110304142332313 ~23334445361605"},        // 3
    {4, "300444 3036"},                              // 4
    {4, "400003 ~03334445361605"},                   // 5
    {4, "~413010010516364544331304"},                // 6
    {4, "004016"},                                   // 7
    {4, "~103041423313020110 ~133344453616050413"},  // 8
    {4, "~051636454130100102133342"},                // 9
    {0, "0202 0606"},                                // :
    {1, "1212 1607"},                                // ;
    {3, "310435"},                                   // <
    {4, "0242 0444"},                                // =
    {3, "013405"},                                   // >
    {4, "~01103041422324 2626"},                     // ?
    {6, "~32232435444332 ~4245556462502002052757"},  // @
    {4, "062046 1434"},                              // A
    {4, "0006 ~003041423303 ~033344453606"},         // B
    {4, "~4130100105163645"},                        // C
    {4, "0006 ~003041453606"},                       // D
    {4, "40000646 0333"},                            // E
    {4, "400006 0333"},                              // F
    {4, "~4130100105163645 454323"},                 // G
    {4, "0006 4046 0343"},                           // H
    {2, "0020 1016 0626"},                           // I
    {4, "~4045361605"},                              // J
    {4, "0006 400346"},                              // K
    {4, "000646"},                                   // L
    {4, "0600234046"},                               // M
    {4, "06004640"},                                 // N
    {5, "~104051554616050110"},                      // O
    {4, "0600 ~003041423303"},                       // P
    {5, "~104051554616050110 3456"},                 // Q
    {4, "0600 ~003041423303 2346"},                  // R
    {4, "~413010010213334445361605"},                // S
    {4, "0040 2026"},                                // T
    {4, "~000516364540"},                            // U
    {4, "002640"},                                   // V
    {6, "0016315660"},                               // W
    {4, "0046 4006"},                                // X
    {4, "002340 2326"},                              // Y
    {4, "00400646"},                                 // Z
    {2, "20000727"},                                 // [
    {4, "0046"},                                     // backslash
    {2, "00202707"},                                 // ]
    {2, "021022"},                                   // ^
    {4, "0747"},                                     // _
    {1, "0011"},                                     // `
    {4, "~123243453616050312 4246"},                 // a
    {4, "~123243453616050312 0006"},                 // b
    {4, "~4332120305163645"},                        // c
    {4, "~123243453616050312 4046"},                 // d
    {4, "0444 ~4443321203051636"},                   // e
    {3, "~30201116 0232"},                           // f
    {4, "~123243453616050312 ~4247381807"},          // g
    {4, "0006 ~0312324346"},                         // h
    {0, "0206 0000"},                                // i
    {1, "~121708 1010"},                             // j
    {3, "0006 320436"},                              // k
    {1, "~000516"},                                  // l
    {6, "0206 ~0312223336 ~3342526366"},             // m
    {4, "0206 ~0312324346"},                         // n
    {4, "~123243453616050312"},                      // o
    {4, "~123243453616050312 0208"},                 // p
    {4, "~123243453616050312 4248"},                 // q
    {3, "0206 ~031232"},                             // r
    {4, "~43321203143445361605"},                    // s
    {3, "~10152636 0232"},                           // t
    {4, "~0205163645 4246"},                         // u
    {4, "022642"},                                   // v
    {6, "0216335662"},                               // w
    {4, "0246 4206"},                                // x
    {4, "0226 4218"},                                // y
    {4, "02420646"},                                 // z
    {2, "~20111203 ~03141627"},                      // {
    {0, "0008"},                                     // |
    {2, "~00111223 ~23141607"},                      // }
    {4, "~0413233443"},                              // ~
}};

// The pen's radius, and the space between two letters, in columns.
constexpr double kPenRadius = 0.42;
constexpr double kLetterGap = 1.7;
// Room of the mask around the grid: the pen and its soft edge.
constexpr int kGridMargin = 1;
constexpr int kGridLines = 8;
constexpr int kCapitalLines = 6;

struct Point {
  double x = 0;
  double y = 0;
  friend bool operator==(Point, Point) = default;
};
using Chain = std::vector<Point>;

// Corner cutting (Chaikin 1974): each corner is replaced by two points a quarter away on both
// sides. An open chain keeps its ends.
Chain round_off(const Chain& chain) {
  const bool closed = chain.size() > 2 && chain.front() == chain.back();
  Chain rounded;
  if (!closed) {
    rounded.push_back(chain.front());
  }
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    const Point a = chain[i];
    const Point b = chain[i + 1];
    rounded.push_back({a.x * 0.75 + b.x * 0.25, a.y * 0.75 + b.y * 0.25});
    rounded.push_back({a.x * 0.25 + b.x * 0.75, a.y * 0.25 + b.y * 0.75});
  }
  rounded.push_back(closed ? rounded.front() : chain.back());
  return rounded;
}

std::vector<Chain> chains_of(std::string_view strokes) {
  std::vector<Chain> chains;
  while (!strokes.empty()) {
    std::string_view stroke = strokes.substr(0, strokes.find(' '));
    strokes.remove_prefix(std::min(strokes.size(), stroke.size() + 1));
    const bool round = stroke.starts_with('~');
    stroke.remove_prefix(round ? 1 : 0);
    check(stroke.size() >= 4 && stroke.size() % 2 == 0, "Font: a stroke of half points");
    Chain chain;
    for (size_t i = 0; i < stroke.size(); i += 2) {
      chain.push_back(
          {static_cast<double>(stroke[i] - '0'), static_cast<double>(stroke[i + 1] - '0')});
    }
    constexpr int kRoundings = 3;  // then the corners are below a pixel at any size we use
    for (int i = 0; round && i < kRoundings; ++i) {
      chain = round_off(chain);
    }
    chains.push_back(std::move(chain));
  }
  return chains;
}

double square_distance(Point p, Point a, Point b) {
  const double along_x = b.x - a.x;
  const double along_y = b.y - a.y;
  const double length = along_x * along_x + along_y * along_y;
  const double dot = (p.x - a.x) * along_x + (p.y - a.y) * along_y;
  const double share = length > 0 ? std::clamp(dot / length, 0.0, 1.0) : 0.0;
  const double dx = p.x - (a.x + share * along_x);
  const double dy = p.y - (a.y + share * along_y);
  return dx * dx + dy * dy;
}

double distance(Point p, const std::vector<Chain>& chains) {
  double nearest = 1e9;
  for (const Chain& chain : chains) {
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      nearest = std::min(nearest, square_distance(p, chain[i], chain[i + 1]));
    }
  }
  return std::sqrt(nearest);
}

const Glyph& glyph_of(char character) {
  const bool known = character >= ' ' && character <= '~';
  return known ? kGlyphs[static_cast<size_t>(character - ' ')] : kMissing;
}

// All code points beyond ASCII look the same: one byte represents them, the rest of UTF-8 is
// skipped.
bool continues_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

}  // namespace

const Font::Letter& Font::letter(char character, int height) {
  check(height >= 5 && height <= 200, "Font: height out of range");
  const auto key = std::pair{character, height};
  if (const auto known = letters_.find(key); known != letters_.end()) {
    return known->second;
  }
  constexpr size_t kLettersMax = 2000;  // about twenty sizes; no film uses as many
  if (letters_.size() == kLettersMax) {
    letters_.clear();
  }
  const Glyph& glyph = glyph_of(character);
  const double unit = static_cast<double>(height) / kCapitalLines;
  const auto pixels = [unit](double grid) { return static_cast<int>(std::lround(grid * unit)); };
  Letter drawn;
  drawn.advance = pixels(glyph.width + kLetterGap);
  drawn.margin = pixels(kGridMargin);
  drawn.mask.width = 2 * drawn.margin + pixels(glyph.width);
  drawn.mask.height = 2 * drawn.margin + pixels(kGridLines);
  const std::vector<Chain> chains = chains_of(glyph.strokes);
  for (int y = 0; y < drawn.mask.height; ++y) {
    for (int x = 0; x < drawn.mask.width; ++x) {
      const Point centre{(x + 0.5 - drawn.margin) / unit, (y + 0.5 - drawn.margin) / unit};
      const double inside = (kPenRadius - distance(centre, chains)) * unit + 0.5;
      drawn.mask.alpha.push_back(
          static_cast<uint8_t>(std::lround(std::clamp(inside, 0.0, 1.0) * 255)));
    }
  }
  return letters_.emplace(key, std::move(drawn)).first->second;
}

int Font::width_of(std::string_view text, int height) {
  int width = 0;
  for (const char character : text) {
    width += continues_code_point(character) ? 0 : letter(character, height).advance;
  }
  return width;
}

int Font::draw(media::Picture& canvas, int x, int y, int height, std::string_view text,
               Colour colour) {
  for (const char character : text) {
    if (continues_code_point(character)) {
      continue;
    }
    const Letter& drawn = letter(character, height);
    stamp(canvas, x - drawn.margin, y - drawn.margin, drawn.mask, colour);
    x += drawn.advance;
  }
  return x;
}

}  // namespace cress::film
