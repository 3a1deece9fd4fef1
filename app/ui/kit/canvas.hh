#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "app/ui/kit/geometry.hh"
#include "app/ui/kit/theme.hh"

struct ImDrawList;
struct ImFont;
struct ImVec2;

namespace cress::ui {

/// The window's font sizes, in points.
enum class Font { kSmall, kBody, kStrong, kHeading, kTitle };
inline constexpr size_t kFonts = 5;

enum class Align { kLeft, kCenter, kRight };

/// Converts points to the units of Dear ImGui. `unit`: window coordinates per point; `pixels`:
/// screen pixels per window coordinate (over 1 if the window system scales for us).
struct Scale {
  float unit = 1;
  float pixels = 1;
  friend bool operator==(Scale, Scale) = default;
};

/// The font atlas for a scale: DejaVu Sans if it is found where distributions install it, otherwise
/// Dear ImGui's built-in font. Needs a current ImGui context, which owns the fonts. Call outside of
/// a frame.
class Fonts {
 public:
  void load(Scale scale);
  ImFont* operator[](Font font) const { return fonts_[static_cast<size_t>(font)]; }
  bool has_real_font() const { return real_; }

 private:
  std::array<ImFont*, kFonts> fonts_{};
  bool real_ = false;
};

/// A picture uploaded to the graphics device.
struct Texture {
  void* handle = nullptr;  ///< null: none
  int width = 0;
  int height = 0;
};

/// Draws in points onto one ImGui draw list; lives for one frame. Opacity multiplies all colours.
class Canvas {
 public:
  Canvas(ImDrawList& list, const Fonts& fonts, Scale scale, Rect area)
      : list_(list), fonts_(fonts), scale_(scale), area_(area) {}

  /// The whole window.
  const Rect& area() const { return area_; }
  const Scale& scale() const { return scale_; }
  ImFont* font(Font font) const { return fonts_[font]; }
  ImVec2 to_imgui(Point point) const;
  void set_opacity(float opacity) { opacity_ = opacity; }
  float opacity() const { return opacity_; }

  void fill(const Rect& rect, Color color, float radius = 0);
  void outline(const Rect& rect, Color color, float thickness = 1, float radius = 0);
  void fill_circle(Point center, float radius, Color color);
  void outline_circle(Point center, float radius, Color color, float thickness = 1);
  void line(Point from, Point to, Color color, float thickness = 1);
  void polyline(std::span<const Point> points, Color color, float thickness, bool closed = false);
  /// Clockwise from the right, in radians.
  void arc(Point center, float radius, float from, float to, Color color, float thickness);
  void fill_convex(std::span<const Point> points, Color color);
  void image(const Texture& texture, const Rect& rect, float radius = 0, bool mirrored = false);
  void push_clip(const Rect& rect);
  void pop_clip();

  float text_width(Font font, std::string_view text) const;
  float line_height(Font font) const;
  /// Vertically centred in `rect`; text wider than it ends in "…".
  void text(const Rect& rect, Font font, Color color, std::string_view text,
            Align align = Align::kLeft);
  /// Wrapped at `rect`'s width, from its top; returns the height used.
  float paragraph(const Rect& rect, Font font, Color color, std::string_view text);
  float paragraph_height(Font font, std::string_view text, float width) const;

 private:
  uint32_t packed(Color color) const;
  float size(Font font) const;

  ImDrawList& list_;
  const Fonts& fonts_;
  Scale scale_;
  Rect area_;
  float opacity_ = 1;
};

}  // namespace cress::ui
