#pragma once

#include <cstddef>
#include <vector>

#include "app/ui/kit/geometry.hh"

namespace cress::ui {

/// The layout of a room's members. Pure.

/// Width : height of a tile, as of most cameras.
inline constexpr float kTileShape = 16.0F / 9;
/// Between tiles, in points.
inline constexpr float kTileGap = 8;
/// The minimum width of a tile next to a large one, in points. Members without room get no tile;
/// their number is displayed.
inline constexpr float kStripTileMin = 84;
/// The same for a tile of a grid.
inline constexpr float kGridTileMin = 64;

/// How many of `count` tiles of a grid are wide enough: at least one.
size_t places_in(size_t count, const Rect& area);

/// `count` tiles of kTileShape in rows of nearly equal length, as large as `area` allows: no other
/// number of columns gives larger ones. The last row is centred.
std::vector<Rect> grid_of(size_t count, const Rect& area);

struct Spotlight {
  Rect large;               ///< space for one: not of kTileShape
  std::vector<Rect> strip;  ///< of the others, as many as fit
};
/// One large tile, the `others` next to it or below: with tiles for all of them if possible,
/// otherwise for as many as fit; among such layouts the one with the largest main tile. `area` is
/// no smaller than the smallest window allows.
Spotlight spotlight_of(size_t others, const Rect& area);

}  // namespace cress::ui
