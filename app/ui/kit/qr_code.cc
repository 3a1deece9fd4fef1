#include "app/ui/kit/qr_code.hh"

#include <qrencode.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/ui/kit/theme.hh"

namespace cress::ui {
namespace {

constexpr size_t kBytesMax = 2331;  // of the largest code at level M (ISO/IEC 18004, table 7)

}  // namespace

std::optional<QrCode> qr_code(std::string_view text) {
  if (text.empty() || text.find('\0') != std::string_view::npos || text.size() > kBytesMax) {
    return std::nullopt;
  }
  const std::unique_ptr<QRcode, void (*)(QRcode*)> encoded{
      QRcode_encodeData(static_cast<int>(text.size()),
                        reinterpret_cast<const unsigned char*>(text.data()), 0, QR_ECLEVEL_M),
      &QRcode_free};
  if (encoded == nullptr) {
    return std::nullopt;
  }
  QrCode code{.side = encoded->width, .dark = {}};
  const auto modules = static_cast<size_t>(code.side) * static_cast<size_t>(code.side);
  for (size_t i = 0; i < modules; ++i) {
    code.dark.push_back((encoded->data[i] & 1U) != 0);
  }
  return code;
}

void draw_qr_code(Canvas& canvas, const QrCode& code, const Rect& box) {
  constexpr int kMargin = 4;
  constexpr Color kLight = rgb(0xffffff);
  constexpr Color kDark = rgb(0x000000);
  const auto all = static_cast<float>(code.side + 2 * kMargin);
  // Whole points, so that no hairlines appear between modules.
  const float module = std::floor(std::min(box.width, box.height) / all);
  if (module < 1) {
    return;
  }
  canvas.fill({box.x, box.y, module * all, module * all}, kLight);
  for (int y = 0; y < code.side; ++y) {
    for (int x = 0; x < code.side;) {
      int end = x;
      while (end < code.side && code.is_dark(end, y)) {
        ++end;
      }
      if (end > x) {
        canvas.fill({box.x + module * static_cast<float>(x + kMargin),
                     box.y + module * static_cast<float>(y + kMargin),
                     module * static_cast<float>(end - x), module},
                    kDark);
      }
      x = std::max(end, x + 1);
    }
  }
}

}  // namespace cress::ui
