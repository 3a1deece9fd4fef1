#pragma once

#include <algorithm>

namespace cress::ui {

/// Positions in the window. Unit: the point, 1/96 of an inch according to the display; origin at
/// the top left. Pure values.
struct Point {
  float x = 0;
  float y = 0;
  friend bool operator==(Point, Point) = default;
};
constexpr Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
constexpr Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }

struct Rect {
  float x = 0;
  float y = 0;
  float width = 0;
  float height = 0;

  constexpr float right() const { return x + width; }
  constexpr float bottom() const { return y + height; }
  constexpr Point center() const { return {x + width / 2, y + height / 2}; }
  constexpr bool contains(Point p) const {
    return p.x >= x && p.x < right() && p.y >= y && p.y < bottom();
  }
  /// Smaller by `margin` on each side; larger if it is negative.
  constexpr Rect inset(float margin) const { return inset(margin, margin); }
  constexpr Rect inset(float sideways, float upright) const {
    return {x + sideways, y + upright, width - 2 * sideways, height - 2 * upright};
  }
  /// Cuts off a strip and returns it; the rest remains here.
  constexpr Rect cut_top(float size) {
    const Rect strip{x, y, width, size};
    y += size;
    height -= size;
    return strip;
  }
  constexpr Rect cut_bottom(float size) {
    height -= size;
    return {x, bottom(), width, size};
  }
  constexpr Rect cut_left(float size) {
    const Rect strip{x, y, size, height};
    x += size;
    width -= size;
    return strip;
  }
  constexpr Rect cut_right(float size) {
    width -= size;
    return {right(), y, size, height};
  }
  friend bool operator==(const Rect&, const Rect&) = default;
};

constexpr bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

constexpr Rect around(Point center, float width, float height) {
  return {center.x - width / 2, center.y - height / 2, width, height};
}

/// The largest rectangle with the aspect ratio width : height (> 0), centred in `area`.
constexpr Rect fit_inside(float width, float height, const Rect& area) {
  const float scale = std::min(area.width / width, area.height / height);
  return around(area.center(), width * scale, height * scale);
}

}  // namespace cress::ui
