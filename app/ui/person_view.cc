#include "app/ui/person_view.hh"

#include <string>

#include "app/ui/format.hh"
#include "app/ui/icons.hh"

namespace cress::ui {
namespace {

void draw_absent(Ui& ui, const Rect& stage, std::string_view words) {
  const Theme& dark = theme_of(ThemeChoice::kDark);
  const float radius = std::min(56.0F, stage.height / 6);
  const Point center{stage.center().x, stage.center().y - 24};
  ui.canvas.fill_circle(center, radius, dark.raised);
  const std::string name = ui.view.peer.name;
  ui.canvas.text(around(center, 2 * radius, 2 * radius), Font::kTitle, dark.text, initial(name),
                 Align::kCenter);
  ui.canvas.text(around({center.x, center.y + radius + 28}, stage.width - 32, 24), Font::kBody,
                 dark.text, words, Align::kCenter);
}

void draw_age(Ui& ui, const Rect& stage, const Rect& picture) {
  const auto& captured = ui.view.remote.captured_at;
  if (!captured) {
    return;
  }
  const Duration age = ui.now - *captured;
  if (age < kStaleAfter) {
    ui.wake_at(*captured + kStaleAfter);
    return;
  }
  ui.wake_at(*captured + (age / 1s + 1) * 1s);
  ui.canvas.fill(picture, with_alpha(rgb(0x000000), 0.45F));
  const std::string words =
      "Picture from " + std::to_string(age / 1s) + (age / 1s == 1 ? " second ago" : " seconds ago");
  const Theme& dark = theme_of(ThemeChoice::kDark);
  const Rect pill = around(stage.center(), ui.canvas.text_width(Font::kBody, words) + 36, 36);
  ui.canvas.fill(pill, dark.surface, 18);
  ui.canvas.text(pill, Font::kBody, dark.text, words, Align::kCenter);
}

}  // namespace

std::string_view initial(std::string_view name) {
  if (name.empty()) {
    return "?";
  }
  size_t length = 1;
  while (length < name.size() && length < 4 &&
         (static_cast<unsigned char>(name[length]) & 0xc0U) == 0x80U) {
    ++length;
  }
  return name.substr(0, length);
}

void draw_remote(Ui& ui, const Rect& stage) {
  const Theme& dark = theme_of(ThemeChoice::kDark);
  ui.canvas.fill(stage, dark.stage);
  const Person& peer = ui.view.peer;
  const std::string who = peer.name.empty() ? "The other person" : peer.name;
  if (peer.camera_off && !peer.shares_screen) {
    draw_absent(ui, stage, who + "'s camera is off");
    return;
  }
  if (ui.remote.handle == nullptr) {
    draw_absent(ui, stage, "Waiting for the first picture…");
    return;
  }
  const Rect picture =
      fit_inside(static_cast<float>(ui.remote.width), static_cast<float>(ui.remote.height), stage);
  ui.canvas.image(ui.remote, picture);
  draw_age(ui, stage, picture);
}

void draw_own(Ui& ui, const Rect& frame, float radius) {
  const Theme& dark = theme_of(ThemeChoice::kDark);
  ui.canvas.fill(frame, dark.stage, radius);
  const bool shares = ui.view.self.shares_screen;
  if (ui.own.handle != nullptr && (shares || !ui.view.self.camera_off)) {
    const Rect picture =
        fit_inside(static_cast<float>(ui.own.width), static_cast<float>(ui.own.height), frame);
    ui.canvas.image(ui.own, picture, radius, !shares);
  } else {
    const bool small = frame.height < 160;
    const Point center{frame.center().x, frame.center().y - (small ? 10.0F : 34.0F)};
    draw_icon(ui.canvas, Icon::kCameraOff, center, small ? 22 : 32, dark.text_muted, dark.stage);
    const char* words = ui.view.self.camera_off ? "Your camera is off" : "No picture yet";
    ui.canvas.text(around({center.x, center.y + (small ? 26.0F : 38.0F)}, frame.width - 8, 18),
                   Font::kSmall, dark.text_muted, words, Align::kCenter);
  }
  ui.canvas.outline(frame, ui.theme.border, 1, radius);
}

}  // namespace cress::ui
