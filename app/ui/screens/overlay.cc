#include <string>

#include "app/ui/kit/icons.hh"
#include "app/ui/kit/widgets.hh"
#include "app/ui/screens/screens.hh"

namespace cress::ui {

void draw_notices(Ui& ui, const Rect& area, Stack stack, size_t count) {
  const auto& notices = ui.view.notices;
  const size_t first = notices.size() > count ? notices.size() - count : 0;
  const bool down = stack == Stack::kFromTopRight;
  const float width = std::min(360.0F, area.width);
  // Where they are as wide as the video, next to a panel in a small window, fewer.
  const float height_max = area.height * (area.width < 400 ? 0.3F : 0.5F);
  float y = down ? area.y : area.bottom();
  float used = 0;
  for (size_t i = notices.size(); i-- > first;) {
    const Notice& notice = notices[i];
    const float text_width = width - 92;
    const float text_height = ui.canvas.paragraph_height(Font::kBody, notice.text, text_width);
    const float height = std::max(48.0F, text_height + 26);
    used += height + 8;
    if (used > height_max && i + 1 < notices.size()) {
      return;
    }
    const Rect box{down ? area.right() - width : area.x, down ? y : y - height, width, height};
    y += down ? height + 8 : -height - 8;
    ui.canvas.fill(box, ui.theme.surface, 12);
    ui.canvas.outline(box, ui.theme.border, 1, 12);
    const Color color = tone_color(ui.theme, notice.tone);
    const Point sign{box.x + 26, box.center().y};
    if (notice.tone == Tone::kNote) {
      ui.canvas.fill_circle(sign, 5, color);
    } else {
      draw_icon(ui.canvas, notice.tone == Tone::kGood ? Icon::kCheck : Icon::kWarning, sign, 20,
                color, ui.theme.surface);
    }
    ui.canvas.paragraph({box.x + 48, box.center().y - text_height / 2, text_width, text_height},
                        Font::kBody, ui.theme.text, notice.text);
    const std::string id = "notice-" + std::to_string(notice.id);
    if (icon_button(ui, around({box.right() - 24, box.center().y}, 32, 32), id, "Dismiss",
                    "Dismiss: " + notice.text, Icon::kClose)) {
      ui.ask(DismissNotice{notice.id});
    }
  }
}

void draw_tip(Ui& ui) {
  const Control* control = ui.controls.tip_at(ui.now);
  if (control == nullptr) {
    ui.wake_at(ui.controls.tip_due(ui.now));
    return;
  }
  // A user without input has read it, and looks at what is below.
  const TimePoint read_at = ui.state.active_at + kHideAfter;
  if (ui.now >= read_at) {
    return;
  }
  ui.wake_at(read_at);
  const float width =
      std::min(ui.canvas.text_width(Font::kSmall, control->tip) + 24, ui.canvas.area().width - 16);
  const float height = 30;
  const Rect& at = control->rect;
  const Rect& area = ui.canvas.area();
  const float x = std::clamp(at.center().x - width / 2, 8.0F, area.width - width - 8);
  const float above = at.y - height - 10;
  const Rect box{x, above >= 8 ? above : at.bottom() + 10, width, height};
  ui.canvas.fill(box, ui.theme.background, 8);
  ui.canvas.outline(box, ui.theme.border, 1, 8);
  ui.canvas.text(box.inset(12, 0), Font::kSmall, ui.theme.text, control->tip);
}

}  // namespace cress::ui
