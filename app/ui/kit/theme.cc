#include "app/ui/kit/theme.hh"

#include <algorithm>
#include <cmath>

namespace cress::ui {
namespace {

constexpr Theme kDark{.background = rgb(0x0e1412),
                      .stage = rgb(0x070a09),
                      .surface = rgb(0x18211e),
                      .raised = rgb(0x26322d),
                      .raised_hover = rgb(0x33423c),
                      .border = rgb(0x3a4a43),
                      .text = rgb(0xf0f5f2),
                      .text_muted = rgb(0xa9b8b1),
                      .accent = rgb(0x45c27c),
                      .accent_hover = rgb(0x5bd28f),
                      .on_accent = rgb(0x06140c),
                      .accent_text = rgb(0x62d394),
                      .danger = rgb(0xc9353f),
                      .danger_hover = rgb(0xd2404a),
                      .on_danger = rgb(0xffffff),
                      .warning_text = rgb(0xf2bd4b),
                      .trouble_text = rgb(0xff8a86),
                      .forecast_line = rgb(0x62d394),
                      .second_line = rgb(0x7fb2ff),
                      .third_line = rgb(0xf2bd4b)};

constexpr Theme kLight{.background = rgb(0xf3f7f4),
                       .stage = rgb(0x070a09),
                       .surface = rgb(0xffffff),
                       .raised = rgb(0xe7eeea),
                       .raised_hover = rgb(0xd9e4de),
                       .border = rgb(0xc2cfc8),
                       .text = rgb(0x14201a),
                       .text_muted = rgb(0x4b5c53),
                       .accent = rgb(0x167a4a),
                       .accent_hover = rgb(0x11683e),
                       .on_accent = rgb(0xffffff),
                       .accent_text = rgb(0x12683e),
                       .danger = rgb(0xc22a35),
                       .danger_hover = rgb(0xab212c),
                       .on_danger = rgb(0xffffff),
                       .warning_text = rgb(0x7a5000),
                       .trouble_text = rgb(0xb01f2b),
                       .forecast_line = rgb(0x167a4a),
                       .second_line = rgb(0x1d5fc4),
                       .third_line = rgb(0x8a5a00)};

double linear(uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(Color c) {
  return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
}

}  // namespace

Color mix(Color a, Color b, float share) {
  const auto blend = [share](uint8_t from, uint8_t to) {
    return static_cast<uint8_t>(
        std::lround(static_cast<float>(from) * (1 - share) + static_cast<float>(to) * share));
  };
  return {blend(a.red, b.red), blend(a.green, b.green), blend(a.blue, b.blue)};
}

double contrast_ratio(Color a, Color b) {
  const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

const Theme& theme_of(ThemeChoice choice) { return choice == ThemeChoice::kLight ? kLight : kDark; }

Color tone_color(const Theme& theme, Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return theme.accent_text;
    case Tone::kNote:
      return theme.text;
    case Tone::kWarning:
      return theme.warning_text;
    case Tone::kTrouble:
      return theme.trouble_text;
  }
  return theme.text;
}

}  // namespace cress::ui
