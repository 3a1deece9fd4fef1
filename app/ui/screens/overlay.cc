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

float draw_newcomer(Ui& ui, const Rect& stage, float name_end) {
  constexpr float kEdge = 16;
  constexpr float kButtonHeight = 36;
  constexpr float kWidest = 460;
  // Next to an open panel in a small window the video would be covered by more words.
  const std::string words = (stage.width < 380 ? std::string{"Somebody with the link wants to take "
                                                             "the silent other end's place."}
                                               : std::string{"Nothing is heard from the other end, "
                                                             "and somebody with the link wants to "
                                                             "take its place."}) +
                            "\nCode " + ui.view.newcomer + ".";
  const float width = std::min(kWidest, stage.width - 2 * kEdge);
  const bool fits_next_to_name = stage.center().x - width / 2 >= name_end + 8;
  const float text_width = width - 28;
  const float text_height = ui.canvas.paragraph_height(Font::kBody, words, text_width);
  const Rect box{stage.center().x - width / 2, stage.y + kEdge + (fits_next_to_name ? 0.0F : 44.0F),
                 width, 12 + text_height + 10 + kButtonHeight + 12};
  ui.canvas.fill(box, ui.theme.surface, 14);
  ui.canvas.outline(box, ui.theme.border, 1, 14);
  ui.canvas.paragraph({box.x + 14, box.y + 12, text_width, text_height}, Font::kBody, ui.theme.text,
                      words);
  Rect row{box.x + 14, box.bottom() - 12 - kButtonHeight, text_width, kButtonHeight};
  const float each = (row.width - 10) / 2;
  const Rect left{row.x, row.y, each, row.height};
  const Rect right{row.right() - each, row.y, each, row.height};
  if (button(ui, left,
             {.id = "newcomer-admit",
              .label = "Let in",
              .tip = "The call goes on with the one that waits; the other is out"})) {
    ui.ask(AdmitNewcomer{ui.view.newcomer});
  }
  if (button(ui, right,
             {.id = "newcomer-refuse",
              .label = "Refuse",
              .tip = "Wait for the one before; others are refused for 10 seconds"})) {
    ui.ask(RefuseNewcomer{});
  }
  return box.bottom();
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
