#include "app/ui/screens/lobby_parts.hh"

#include <algorithm>
#include <utility>

namespace cress::ui {

bool is_low(const Ui& ui) { return ui.canvas.area().height < 560; }

Rect card(Ui& ui, Rect& column, float height) {
  const Rect box = column.cut_top(height);
  column.cut_top(kGap);
  ui.canvas.fill(box, ui.theme.surface, 14);
  ui.canvas.outline(box, ui.theme.border, 1, 14);
  return box.inset(kCardSide, 18);
}

void heading(Ui& ui, Rect& column, const char* text) {
  const float height = ui.canvas.paragraph_height(Font::kTitle, text, column.width);
  ui.canvas.paragraph(column, Font::kTitle, ui.theme.text, text);
  column.cut_top(height + 10);
}

void lead(Ui& ui, Rect& column, const std::string& text) {
  const float height = ui.canvas.paragraph(column, Font::kBody, ui.theme.text_muted, text);
  column.cut_top(height + 20);
}

void show_known(const Ui& ui, const char* id, const std::string& known, std::span<char> field) {
  const Control* focused = ui.controls.focused();
  if (focused == nullptr || focused->id != id) {
    const size_t length = std::min(known.size(), field.size() - 1);
    std::copy_n(known.begin(), length, field.begin());
    field[length] = '\0';
  }
}

void relay_field(Ui& ui, Rect row, const char* hint) {
  show_known(ui, "relay", ui.view.relay, ui.state.relay);
  ui.canvas.text(row.cut_left(56), Font::kSmall, ui.theme.text_muted, "Relay");
  if (text_field(ui, row, "relay", "Relay at which calls begin", hint, ui.state.relay).changed) {
    ui.ask(ChooseRelay{std::string{trimmed(ui.state.relay.data())}});
  }
}

void link_box(Ui& ui, const Rect& rect, std::string_view text) {
  ui.canvas.fill(rect, ui.theme.raised, 10);
  ui.canvas.text(rect.inset(12, 0), Font::kBody, ui.theme.text, text);
}

bool copy_button(Ui& ui, const Rect& rect, Button look, const std::optional<TimePoint>& copied) {
  const bool is_new = copied && ui.now - *copied < 3s;
  if (is_new) {
    ui.wake_at(*copied + 3s);
    look.label = "Copied";
  }
  look.icon = is_new ? Icon::kCheck : Icon::kCopy;
  return button(ui, rect, look);
}

void draw_link_code(Ui& ui, const Rect& box) {
  constexpr float kReadable = 120;
  if (ui.state.code_text != ui.view.link) {
    ui.state.code_text = ui.view.link;
    ui.state.code = qr_code(ui.view.link.reveal().view());
  }
  if (ui.state.code && box.height >= kReadable) {
    draw_qr_code(ui.canvas, *ui.state.code, box);
  }
}

}  // namespace cress::ui
