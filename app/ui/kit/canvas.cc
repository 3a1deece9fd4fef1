#include "app/ui/kit/canvas.hh"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

#include "transport/process/hidden_text.hh"

namespace cress::ui {
namespace {

constexpr std::array<float, kFonts> kPoints{13, 15, 15, 20, 30};
constexpr std::array<bool, kFonts> kBold{false, false, true, true, true};

// Where Debian and Ubuntu, Fedora, Arch and others install it.
constexpr std::array<const char*, 4> kFontFolders{
    "/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/dejavu-sans-fonts",
    "/usr/share/fonts/TTF", "/usr/share/fonts/dejavu"};

// Latin with all its accents, Greek, Cyrillic, and the punctuation of names and sentences.
constexpr std::array<ImWchar, 13> kGlyphs{0x0020, 0x024f, 0x0370, 0x03ff, 0x0400, 0x052f, 0x1e00,
                                          0x1eff, 0x2010, 0x2027, 0x20a0, 0x20bf, 0};

std::optional<std::string> find_font(bool bold) {
  for (const char* folder : kFontFolders) {
    const auto path =
        std::filesystem::path(folder) / (bold ? "DejaVuSans-Bold.ttf" : "DejaVuSans.ttf");
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) {
      return path.string();
    }
  }
  return std::nullopt;
}

/// Where a texture is, on the screen and in itself.
struct Placed {
  void* handle;
  ImVec2 low, high;    // whole numbers
  ImVec2 first, last;  // the texture's coordinates there

  ImVec2 coordinates(ImVec2 at) const {
    return {first.x + (last.x - first.x) * (at.x - low.x) / (high.x - low.x),
            first.y + (last.y - first.y) * (at.y - low.y) / (high.y - low.y)};
  }
};

/// A quarter of a disc in the corner `at`, which begins `quarter` quarters of a turn from the
/// right; somewhat larger towards the inside.
void add_corner(ImDrawList& list, ImVec2 at, float radius, int quarter, ImU32 color) {
  constexpr float kOver = 2;
  const ImVec2 inwards{quarter % 3 == 0 ? -1.0F : 1.0F, quarter < 2 ? -1.0F : 1.0F};
  const ImVec2 center{at.x + inwards.x * radius, at.y + inwards.y * radius};
  const ImVec2 inside{center.x + inwards.x * kOver, center.y + inwards.y * kOver};
  const bool begins_upright = quarter % 2 == 0;  // the arc begins at the left or right edge
  const ImVec2 on_side{at.x, inside.y};
  const ImVec2 on_flat{inside.x, at.y};
  list.PathLineTo(inside);
  list.PathLineTo(begins_upright ? on_side : on_flat);
  list.PathArcToFast(center, radius, 3 * quarter, 3 * quarter + 3);
  list.PathLineTo(begins_upright ? on_flat : on_side);
  list.PathFillConvex(color);
}

/// Three rectangles over four corners, not one polygon: SDL's software renderer copies rectangles,
/// but its triangles of a large picture are wrong (its numbers overflow), and slow.
void add_rounded(ImDrawList& list, const Placed& image, float radius, ImU32 color) {
  const auto& [handle, low, high, first, last] = image;
  const float r = std::round(std::min({radius, (high.x - low.x) / 2, (high.y - low.y) / 2}));
  list.PushTextureID(handle);
  const int from = list.VtxBuffer.Size;
  add_corner(list, high, r, 0, color);
  add_corner(list, {low.x, high.y}, r, 1, color);
  add_corner(list, low, r, 2, color);
  add_corner(list, {high.x, low.y}, r, 3, color);
  ImGui::ShadeVertsLinearUV(&list, from, list.VtxBuffer.Size, low, high, first, last, true);
  list.PopTextureID();
  const auto band = [&](ImVec2 a, ImVec2 b) {
    list.AddImage(handle, a, b, image.coordinates(a), image.coordinates(b), color);
  };
  band({low.x + r, low.y}, {high.x - r, low.y + r});
  band({low.x, low.y + r}, {high.x, high.y - r});
  band({low.x + r, high.y - r}, {high.x - r, high.y});
}

}  // namespace

void Fonts::load(Scale scale) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  real_ = true;
  for (size_t i = 0; i < kFonts; ++i) {
    const float pixels = kPoints[i] * scale.unit * scale.pixels;
    ImFont* font = nullptr;
    if (const auto path = find_font(kBold[i])) {
      ImFontConfig config;
      config.OversampleH = 2;
      config.OversampleV = 1;
      font = atlas.AddFontFromFileTTF(path->c_str(), pixels, &config, kGlyphs.data());
    }
    if (font == nullptr) {
      real_ = false;
      ImFontConfig config;
      config.SizePixels = pixels;
      font = atlas.AddFontDefault(&config);
    }
    font->Scale = 1 / scale.pixels;
    fonts_[i] = font;
  }
}

uint32_t Canvas::packed(Color c) const {
  return IM_COL32(c.red, c.green, c.blue,
                  static_cast<uint32_t>(std::lround(static_cast<float>(c.alpha) * opacity_)));
}

float Canvas::size(Font font) const { return kPoints[static_cast<size_t>(font)] * scale_.unit; }

ImVec2 Canvas::to_imgui(Point p) const { return {p.x * scale_.unit, p.y * scale_.unit}; }

void Canvas::fill(const Rect& r, Color color, float radius) {
  list_.AddRectFilled(to_imgui({r.x, r.y}), to_imgui({r.right(), r.bottom()}), packed(color),
                      radius * scale_.unit);
}

void Canvas::outline(const Rect& r, Color color, float thickness, float radius) {
  list_.AddRect(to_imgui({r.x, r.y}), to_imgui({r.right(), r.bottom()}), packed(color),
                radius * scale_.unit, 0, thickness * scale_.unit);
}

void Canvas::fill_circle(Point center, float radius, Color color) {
  list_.AddCircleFilled(to_imgui(center), radius * scale_.unit, packed(color));
}

void Canvas::outline_circle(Point center, float radius, Color color, float thickness) {
  list_.AddCircle(to_imgui(center), radius * scale_.unit, packed(color), 0,
                  thickness * scale_.unit);
}

void Canvas::line(Point from, Point to, Color color, float thickness) {
  list_.AddLine(to_imgui(from), to_imgui(to), packed(color), thickness * scale_.unit);
}

void Canvas::polyline(std::span<const Point> points, Color color, float thickness, bool closed) {
  for (const Point p : points) {
    list_.PathLineTo(to_imgui(p));
  }
  list_.PathStroke(packed(color), closed ? ImDrawFlags_Closed : 0, thickness * scale_.unit);
}

void Canvas::arc(Point center, float radius, float from, float to, Color color, float thickness) {
  list_.PathArcTo(to_imgui(center), radius * scale_.unit, from, to, 24);
  list_.PathStroke(packed(color), 0, thickness * scale_.unit);
}

void Canvas::fill_convex(std::span<const Point> points, Color color) {
  for (const Point p : points) {
    list_.PathLineTo(to_imgui(p));
  }
  list_.PathFillConvex(packed(color));
}

void Canvas::image(const Texture& texture, const Rect& r, float radius, bool mirrored) {
  const ImVec2 first{mirrored ? 1.0F : 0.0F, 0};
  const ImVec2 last{mirrored ? 0.0F : 1.0F, 1};
  const ImVec2 low = to_imgui({r.x, r.y});
  const ImVec2 high = to_imgui({r.right(), r.bottom()});
  const auto white = packed(rgb(0xffffff));
  if (radius > 0) {
    const auto whole = [](ImVec2 at) { return ImVec2{std::round(at.x), std::round(at.y)}; };
    add_rounded(list_,
                {.handle = texture.handle,
                 .low = whole(low),
                 .high = whole(high),
                 .first = first,
                 .last = last},
                radius * scale_.unit, white);
  } else {
    list_.AddImage(texture.handle, low, high, first, last, white);
  }
}

void Canvas::push_clip(const Rect& r) {
  list_.PushClipRect(to_imgui({r.x, r.y}), to_imgui({r.right(), r.bottom()}), true);
}

void Canvas::pop_clip() { list_.PopClipRect(); }

float Canvas::text_width(Font font, std::string_view text) const {
  return fonts_[font]
             ->CalcTextSizeA(size(font), FLT_MAX, 0, text.data(), text.data() + text.size())
             .x /
         scale_.unit;
}

float Canvas::line_height(Font font) const { return kPoints[static_cast<size_t>(font)] * 1.2F; }

void Canvas::text(const Rect& rect, Font font, Color color, std::string_view text, Align align) {
  std::string shown{text};
  float width = text_width(font, shown);
  if (width > rect.width + 0.5F) {
    const std::string dots = "…";
    const float room = rect.width - text_width(font, dots);
    const char* rest = text.data();
    fonts_[font]->CalcTextSizeA(size(font), std::max(0.0F, room) * scale_.unit, 0, text.data(),
                                text.data() + text.size(), &rest);
    shown.assign(text.data(), static_cast<size_t>(rest - text.data()));
    shown += dots;
    width = text_width(font, shown);
  }
  float x = rect.x;
  if (align == Align::kCenter) {
    x = rect.center().x - width / 2;
  } else if (align == Align::kRight) {
    x = rect.right() - width;
  }
  const float height = kPoints[static_cast<size_t>(font)];
  list_.AddText(fonts_[font], size(font), to_imgui({x, rect.center().y - height / 2}),
                packed(color), shown.data(), shown.data() + shown.size());
  runtime::wipe_text(shown);  // it may be a link
}

float Canvas::paragraph(const Rect& rect, Font font, Color color, std::string_view text) {
  list_.AddText(fonts_[font], size(font), to_imgui({rect.x, rect.y}), packed(color), text.data(),
                text.data() + text.size(), rect.width * scale_.unit);
  return paragraph_height(font, text, rect.width);
}

float Canvas::paragraph_height(Font font, std::string_view text, float width) const {
  return fonts_[font]
             ->CalcTextSizeA(size(font), FLT_MAX, width * scale_.unit, text.data(),
                             text.data() + text.size())
             .y /
         scale_.unit;
}

}  // namespace cress::ui
