#pragma once

#include <cstdint>

#include "app/ui/model/call_view.hh"
#include "app/ui/model/plain_words.hh"

namespace cress::ui {

/// sRGB with opacity.
struct Color {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
  uint8_t alpha = 255;
  friend bool operator==(Color, Color) = default;
};
constexpr Color rgb(uint32_t hex) {
  return {static_cast<uint8_t>(hex >> 16U), static_cast<uint8_t>(hex >> 8U & 0xffU),
          static_cast<uint8_t>(hex & 0xffU)};
}
constexpr Color with_alpha(Color color, float alpha) {
  color.alpha = static_cast<uint8_t>(static_cast<float>(color.alpha) * alpha);
  return color;
}
/// `share` (0..1) of `b` mixed into `a`, both opaque.
Color mix(Color a, Color b, float share);

/// WCAG 2.1: 1..21; text is readable from 4.5. Opacity is ignored. Pure.
double contrast_ratio(Color a, Color b);

/// The colours of the window. Every text colour reaches a contrast of 4.5 on every surface it is
/// used on, which the tests check.
struct Theme {
  Color background;    ///< behind everything but video
  Color stage;         ///< around video: always dark
  Color surface;       ///< cards, bars, menus
  Color raised;        ///< controls on a surface
  Color raised_hover;  ///< the same under the pointer
  Color border;
  Color text;
  Color text_muted;
  Color accent;         ///< Cress green, as a surface
  Color accent_hover;   //
  Color on_accent;      ///< text on it
  Color accent_text;    ///< Cress green as text or line on background, surface and raised
  Color danger;         ///< hanging up
  Color danger_hover;   //
  Color on_danger;      //
  Color warning_text;   ///< on background and surface
  Color trouble_text;   //
  Color forecast_line;  ///< graphs, on surface
  Color second_line;
  Color third_line;
};

const Theme& theme_of(ThemeChoice choice);
/// The colour for a sentence of this tone, as text or icon on `surface`.
Color tone_color(const Theme& theme, Tone tone);

}  // namespace cress::ui
