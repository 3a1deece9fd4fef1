#include <algorithm>
#include <string>

#include "app/ui/model/format.hh"
#include "app/ui/screens/lobby_parts.hh"
#include "app/ui/screens/screens.hh"

namespace cress::ui {
namespace {

constexpr float kCopyWidth = 104;

/// Of an error below its field: at least one line, so that nothing jumps.
float error_height(const Ui& ui, const std::string& error, float width) {
  return std::max(22.0F, ui.canvas.paragraph_height(Font::kSmall, error, width) + 8);
}

/// What is wrong with the field above it.
void field_error(Ui& ui, Rect& column, const std::string& error) {
  const Rect row = column.cut_top(error_height(ui, error, column.width));
  ui.canvas.paragraph({row.x, row.y + 4, row.width, row.height}, Font::kSmall,
                      ui.theme.warning_text, error);
}

void draw_plan(Ui& ui, Rect column) {
  heading(ui, column, "New room");
  lead(ui, column,
       "For up to 41 people, through a relay. The room's key is made on this computer; the relay "
       "and its operator cannot see or hear what is said.");
  const NewRoom& room = ui.view.new_room;
  const float inside = column.width - 2 * kCardSide;
  Rect box = card(
      ui, column,
      160 + error_height(ui, room.name_error, inside) + error_height(ui, room.relay_error, inside));
  Rect row = box.cut_top(38);
  ui.canvas.text(row.cut_left(56), Font::kSmall, ui.theme.text_muted, "Name");
  const bool entered =
      text_field(ui, row, "room-name", "Name of the room", "such as kitchen", ui.state.room_name)
          .entered;
  field_error(ui, box, room.name_error);
  relay_field(ui, box.cut_top(38), "HOST:PORT");
  field_error(ui, box, room.relay_error);
  Rect press = box.cut_top(kField);
  const Rect back = press.cut_right(88);
  press.cut_right(10);
  const std::string name{trimmed(ui.state.room_name.data())};
  const bool pressed = button(ui, press,
                              {.id = "make-room",
                               .label = "Make the room",
                               .tip = "Make the room's link (Enter in its name)",
                               .weight = name.empty() ? Weight::kPlain : Weight::kPrimary,
                               .enabled = !name.empty()});
  if ((entered || pressed) && !name.empty()) {
    ui.ask(MakeRoom{name, std::string{trimmed(ui.state.relay.data())}});
  }
  if (button(ui, back, {.id = "back", .label = "Back", .tip = "Back to the start (Esc)"})) {
    ui.ask(BackToStart{});
  }
}

/// A title, a text, and a button that copies the text. True when it was pressed.
bool draw_text(Ui& ui, Rect& box, const char* title, std::string_view text, Button copy,
               const std::optional<TimePoint>& copied) {
  ui.canvas.text(box.cut_top(20), Font::kStrong, ui.theme.text, title);
  box.cut_top(4);
  Rect row = box.cut_top(40);
  const Rect press = row.cut_right(kCopyWidth);
  row.cut_right(8);
  link_box(ui, row, text);
  return copy_button(ui, press, std::move(copy), copied);
}

void draw_made(Ui& ui, Rect column) {
  const NewRoom& room = ui.view.new_room;
  heading(ui, column, ("Room " + short_name(room.name)).c_str());
  if (!ui.view.link_warning.empty()) {
    const float height =
        ui.canvas.paragraph(column, Font::kSmall, ui.theme.warning_text, ui.view.link_warning);
    column.cut_top(height + 8);
  }
  constexpr const char* kWhatFor =
      "They give it to cress-relay room add. It lets members in, but opens nothing that they say. "
      "Send it in private.";
  const float words =
      ui.canvas.paragraph_height(Font::kSmall, kWhatFor, column.width - 2 * kCardSide);
  Rect box = card(ui, column, 182 + words);
  if (draw_text(ui, box, "Its link, for the members alone", ui.view.link.reveal().view(),
                {.id = "copy", .label = "Copy", .tip = "Copy the link (Ctrl+C)"},
                ui.state.copied_at)) {
    ui.state.copies_link = true;
  }
  box.cut_top(10);
  if (draw_text(ui, box, "For the relay's operator", room.access,
                {.id = "copy-access", .label = "Copy", .tip = "Copy what the relay needs"},
                ui.state.access_copied_at)) {
    ui.state.copies_access = true;
  }
  box.cut_top(4);
  ui.canvas.paragraph(box, Font::kSmall, ui.theme.text_muted, kWhatFor);
  Rect row = column.cut_top(kField);
  column.cut_top(12);
  const Rect back = row.cut_right(88);
  row.cut_right(10);
  if (button(ui, row,
             {.id = "join-room",
              .label = "Join the room",
              .tip = "Once the relay has it: join your room",
              .weight = Weight::kPrimary})) {
    ui.ask(Join{ui.view.link});
  }
  if (button(ui, back,
             {.id = "back", .label = "Back", .tip = "Forget this room: back to the start (Esc)"})) {
    ui.ask(BackToStart{});
  }
  draw_link_code(ui, column);
}

}  // namespace

void draw_new_room(Ui& ui, Rect column) {
  if (ui.view.new_room.access.empty()) {
    draw_plan(ui, column);
  } else {
    draw_made(ui, column);
  }
}

}  // namespace cress::ui
