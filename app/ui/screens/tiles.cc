#include "app/ui/screens/tiles.hh"

#include <algorithm>
#include <array>
#include <utility>

namespace cress::ui {
namespace {

// Of the window's side: the first share that has a place for all.
constexpr std::array kStripShares{0.2F, 0.26F, 0.32F};
// Of a long window's short side no more than this many times the share.
constexpr float kStripLongest = 1.5F;

float gaps(size_t tiles) { return kTileGap * static_cast<float>(tiles - 1); }

float tile_width(size_t count, size_t columns, const Rect& area) {
  const size_t rows = (count + columns - 1) / columns;
  const float wide = (area.width - gaps(columns)) / static_cast<float>(columns);
  const float high = (area.height - gaps(rows)) / static_cast<float>(rows);
  return std::max(0.0F, std::min(wide, high * kTileShape));
}

// Of those with the largest tiles the smallest number: rows are then full.
size_t best_columns(size_t count, const Rect& area) {
  size_t best = 1;
  for (size_t columns = 2; columns <= count; ++columns) {
    if (tile_width(count, columns, area) > tile_width(count, best, area) + 0.01F) {
      best = columns;
    }
  }
  return best;
}

// As many as are wide enough to be visible, and one in any case.
size_t wide_enough(size_t count, const Rect& area, float least) {
  while (count > 1 && tile_width(count, best_columns(count, area), area) < least) {
    --count;
  }
  return count;
}

std::vector<Rect> strip_of(size_t count, const Rect& area) {
  return grid_of(wide_enough(count, area, kStripTileMin), area);
}

float picture_area(const Rect& room) {
  if (room.width <= 0 || room.height <= 0) {
    return 0;
  }
  const Rect picture = fit_inside(kTileShape, 1, room);
  return picture.width * picture.height;
}

Spotlight spotlight_by(size_t others, const Rect& area, float share, bool is_beside) {
  const float wide = share * std::min(area.width, kStripLongest * area.height * kTileShape);
  const float high = share * std::min(area.height, kStripLongest * area.width / kTileShape);
  Rect large = area;
  const Rect strip = is_beside ? large.cut_right(wide) : large.cut_bottom(high);
  is_beside ? large.cut_right(kTileGap) : large.cut_bottom(kTileGap);
  return {.large = large, .strip = strip_of(others, strip)};
}

}  // namespace

size_t places_in(size_t count, const Rect& area) { return wide_enough(count, area, kGridTileMin); }

std::vector<Rect> grid_of(size_t count, const Rect& area) {
  std::vector<Rect> tiles;
  if (count == 0) {
    return tiles;
  }
  const size_t columns = best_columns(count, area);
  const size_t rows = (count + columns - 1) / columns;
  const float width = tile_width(count, columns, area);
  const float height = width / kTileShape;
  const float whole = static_cast<float>(rows) * height + gaps(rows);
  for (size_t i = 0; i < count; ++i) {
    const size_t row = i / columns;
    const size_t in_row = std::min(columns, count - row * columns);
    const float row_width = static_cast<float>(in_row) * width + gaps(in_row);
    tiles.push_back({area.center().x - row_width / 2 +
                         static_cast<float>(i - row * columns) * (width + kTileGap),
                     area.center().y - whole / 2 + static_cast<float>(row) * (height + kTileGap),
                     width, height});
  }
  return tiles;
}

Spotlight spotlight_of(size_t others, const Rect& area) {
  if (others == 0) {
    return {.large = area, .strip = {}};
  }
  Spotlight best;
  for (const float share : kStripShares) {
    for (const bool is_beside : {true, false}) {
      Spotlight spot = spotlight_by(others, area, share, is_beside);
      const bool holds_more = spot.strip.size() > best.strip.size();
      const bool is_larger = picture_area(spot.large) > picture_area(best.large);
      if (holds_more || (spot.strip.size() == best.strip.size() && is_larger)) {
        best = std::move(spot);
      }
    }
    if (best.strip.size() == others) {
      break;
    }
  }
  return best;
}

}  // namespace cress::ui
