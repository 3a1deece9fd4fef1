#include "app/ui/kit/canvas.hh"

#include <imgui.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

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
    list_.AddImageRounded(texture.handle, low, high, first, last, white, radius * scale_.unit);
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
