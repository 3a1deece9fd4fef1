#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "app/ui/kit/canvas.hh"

namespace cress::ui {

/// A QR code (ISO/IEC 18004): `side` times `side` modules, row by row.
struct QrCode {
  int side = 0;
  std::vector<bool> dark;
  bool is_dark(int x, int y) const {
    return dark[static_cast<size_t>(y) * static_cast<size_t>(side) + static_cast<size_t>(x)];
  }
};

/// The smallest code of `text`, with error correction of level M (15 %). nullopt: too long for one
/// (over 2331 bytes), empty, or with a NUL.
std::optional<QrCode> qr_code(std::string_view text);

/// As large as `box` allows, at its left: dark on light whatever the theme, because readers expect
/// that, in a light margin of four modules (§6.3.8).
void draw_qr_code(Canvas& canvas, const QrCode& code, const Rect& box);

}  // namespace cress::ui
