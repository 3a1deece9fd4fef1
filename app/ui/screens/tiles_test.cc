#include "app/ui/screens/tiles.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace cress::ui {
namespace {

constexpr float kSlack = 0.05F;  // of a point, for rounding

/// The area that windows of all sizes leave for people, with and without an open panel.
const std::vector<Rect> kAreas{{8, 8, 1264, 668}, {8, 8, 784, 468},  {8, 8, 624, 348},
                               {8, 8, 924, 668},  {8, 8, 444, 468},  {0, 0, 3840, 2160},
                               {0, 0, 640, 1600}, {16, 40, 400, 348}};
constexpr size_t kMost = 41;  // a room's members

void expect_inside(const std::vector<Rect>& tiles, const Rect& area, const std::string& where) {
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Rect& tile = tiles[i];
    EXPECT_GE(tile.x, area.x - kSlack) << where;
    EXPECT_GE(tile.y, area.y - kSlack) << where;
    EXPECT_LE(tile.right(), area.right() + kSlack) << where;
    EXPECT_LE(tile.bottom(), area.bottom() + kSlack) << where;
    EXPECT_GT(tile.width, 0) << where;
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(overlap(tile.inset(kSlack), tiles[j].inset(kSlack)))
          << where << ": " << j << " lies on " << i;
    }
  }
}

std::string name_of(size_t count, const Rect& area) {
  return std::to_string(count) + " in " + std::to_string(std::lround(area.width)) + "x" +
         std::to_string(std::lround(area.height));
}

TEST(Tiles, AGridLiesInItsAreaAndNoTileOnAnother) {
  for (const Rect& area : kAreas) {
    for (size_t count = 0; count <= kMost; ++count) {
      const auto tiles = grid_of(count, area);
      ASSERT_EQ(tiles.size(), count);
      expect_inside(tiles, area, name_of(count, area));
      for (const Rect& tile : tiles) {
        EXPECT_NEAR(tile.width / tile.height, kTileShape, 1e-3);
        EXPECT_EQ(tile.width, tiles.front().width);
      }
    }
  }
}

// By trial, not by the formula: the largest whole width at which this many fit.
float widest(size_t count, const Rect& area) {
  float best = 0;
  for (float width = 1; width <= area.width; ++width) {
    const float height = width / kTileShape;
    const auto columns = static_cast<size_t>((area.width + kTileGap) / (width + kTileGap));
    const auto rows = static_cast<size_t>((area.height + kTileGap) / (height + kTileGap));
    if (columns * rows >= count) {
      best = width;
    }
  }
  return best;
}

TEST(Tiles, NoLargerGridFits) {
  for (const Rect& area : kAreas) {
    for (size_t count = 1; count <= kMost; ++count) {
      const float width = grid_of(count, area).front().width;
      EXPECT_GE(width, widest(count, area) - kSlack) << name_of(count, area);
      EXPECT_LT(width, widest(count, area) + 1 + kSlack) << name_of(count, area);
    }
  }
}

TEST(Tiles, ManyHaveAPlaceWhereTheyCanBeSeen) {
  std::vector<Rect> areas = kAreas;
  areas.push_back({8, 8, 284, 340});  // the smallest window, with a side panel open
  areas.push_back({0, 0, 50, 20});
  for (const Rect& area : areas) {
    for (size_t count = 1; count <= kMost; ++count) {
      const size_t places = places_in(count, area);
      ASSERT_GE(places, 1U);
      ASSERT_LE(places, count);
      EXPECT_TRUE(places == 1 || grid_of(places, area).front().width >= kGridTileMin)
          << name_of(count, area);
      EXPECT_TRUE(places == count || grid_of(places + 1, area).front().width < kGridTileMin)
          << name_of(count, area);
    }
  }
  EXPECT_EQ(places_in(kMost, {8, 8, 624, 348}), kMost);
  EXPECT_EQ(places_in(kMost, {8, 8, 284, 340}), 28U);
}

TEST(Tiles, AnIncompleteRowStandsInTheMiddle) {
  const Rect area{0, 0, 1000, 600};
  const auto tiles = grid_of(3, area);
  EXPECT_FLOAT_EQ(tiles[2].center().x, area.center().x);
  EXPECT_GT(tiles[2].y, tiles[1].y);
  EXPECT_FLOAT_EQ(tiles[0].center().x - area.x, area.right() - tiles[1].center().x);
  EXPECT_FLOAT_EQ(tiles[0].y - area.y, area.bottom() - tiles[2].bottom());
}

TEST(Tiles, SpotlightIsTheLargestAndNothingOverlaps) {
  for (const Rect& area : kAreas) {
    for (size_t others = 0; others < kMost; ++others) {
      const Spotlight spot = spotlight_of(others, area);
      const std::string where = name_of(others, area);
      std::vector<Rect> all = spot.strip;
      all.push_back(spot.large);
      expect_inside(all, area, where);
      EXPECT_EQ(spot.strip.empty(), others == 0) << where;
      for (const Rect& tile : spot.strip) {
        EXPECT_GT(fit_inside(kTileShape, 1, spot.large).width, 1.5F * tile.width) << where;
      }
    }
  }
}

TEST(Tiles, SixteenFitNextToASpotlightInASmallWindow) {
  for (const Rect& area : {kAreas[0], kAreas[1]}) {
    const Spotlight spot = spotlight_of(15, area);
    EXPECT_EQ(spot.strip.size(), 15U);
    EXPECT_GE(spot.strip.front().width, kStripTileMin);
  }
  const Spotlight crowded = spotlight_of(40, kAreas[2]);
  EXPECT_LT(crowded.strip.size(), 40U);
  EXPECT_GE(crowded.strip.front().width, kStripTileMin);
}

}  // namespace
}  // namespace cress::ui
