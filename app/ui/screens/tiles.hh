#pragma once

#include <cstddef>
#include <vector>

#include "app/ui/kit/geometry.hh"

namespace cress::ui {

/// Where the people of a room are shown. Pure.

/// Width : height of a tile, as of most cameras.
inline constexpr float kTileShape = 16.0F / 9;
/// Between tiles.
inline constexpr float kTileGap = 8;
/// Narrower ones beside a large picture show nobody; who has no place there is counted.
inline constexpr float kStripTileMin = 84;

/// `count` tiles of kTileShape in rows of alike length, as large as `area` allows: no other number
/// of columns gives larger ones. The last row stands in the middle.
std::vector<Rect> grid_of(size_t count, const Rect& area);

struct Spotlight {
  Rect large;               ///< room for one: not of kTileShape
  std::vector<Rect> strip;  ///< of the others, as many as have a place
};
/// One large, the `others` beside or below: where all of them have a place, else as many as can,
/// and of that whichever leaves most for the large one. `area` is no smaller than the least window
/// leaves.
Spotlight spotlight_of(size_t others, const Rect& area);

}  // namespace cress::ui
