#include <string>
#include <vector>

#include "app/ui/kit/icons.hh"
#include "app/ui/kit/widgets.hh"
#include "app/ui/screens/screens.hh"

namespace cress::ui {
namespace {

constexpr float kLine = 38;
constexpr float kHead = 30;
constexpr float kPadding = 8;
constexpr size_t kLinesMax = 64;  // more devices than anybody has; further ones are not listed

struct Line {
  std::string id;  // empty: a heading
  std::string label;
  bool chosen = false;
  UserAction action = Quit{};
  float height() const { return id.empty() ? kHead : kLine; }
};

void list(std::vector<Line>& lines, const char* kind_name, DeviceKind kind,
          const Devices& devices) {
  for (const Device& device : devices.all) {
    if (lines.size() == kLinesMax) {
      return;
    }
    const bool chosen = device.id == devices.chosen;
    UserAction action = ChooseDevice{kind, device.id};
    if (kind == DeviceKind::kScreen) {
      action = ShareScreen{device.id};
    }
    lines.push_back({std::string("menu-") + kind_name + "-" + device.id, device.name, chosen,
                     std::move(action)});
  }
}

std::vector<Line> lines_of(const CallView& view, Menu menu) {
  std::vector<Line> lines;
  const bool all = menu == Menu::kAllDevices;
  const auto group = [&](const char* title, const char* name, DeviceKind kind,
                         const Devices& devices) {
    if (all) {
      lines.push_back({"", devices.all.empty() ? std::string(title) + ": none found" : title});
    }
    list(lines, name, kind, devices);
  };
  if (all || menu == Menu::kCameras) {
    group("Camera", "camera", DeviceKind::kCamera, view.cameras);
  }
  if (all || menu == Menu::kMicrophones) {
    group("Microphone", "microphone", DeviceKind::kMicrophone, view.microphones);
  }
  if (all || menu == Menu::kSpeakers) {
    group("Speaker", "speaker", DeviceKind::kSpeaker, view.speakers);
  }
  if (menu == Menu::kScreens) {
    lines.push_back({"", "Share a screen"});
    group("Screen", "screen", DeviceKind::kScreen, view.screens);
  }
  return lines;
}

// Below the control that opened it if there is room, otherwise above.
Rect place(const Ui& ui, float width, float height) {
  const Rect& area = ui.canvas.area();
  const Rect& anchor = ui.state.menu_anchor;
  const float x = std::clamp(anchor.x, 8.0F, std::max(8.0F, area.width - width - 8));
  if (anchor.bottom() + 6 + height <= area.height - 8) {
    return {x, anchor.bottom() + 6, width, height};
  }
  return {x, std::max(8.0F, anchor.y - 6 - height), width, height};
}

void close(Ui& ui) {
  ui.state.menu = Menu::kNone;
  ui.state.menu_owner.clear();
}

// `box`: the visible part of the list. The keyboard also reaches hidden lines, and scrolls to them.
bool draw_line(Ui& ui, const Rect& rect, const Rect& box, const Line& line) {
  const float top = std::clamp(rect.y, box.y, box.bottom());
  const float bottom = std::clamp(rect.bottom(), box.y, box.bottom());
  const ControlState state = ui.controls.add({.id = line.id,
                                              .label = line.label,
                                              .tip = "",
                                              .rect = {rect.x, top, rect.width, bottom - top}});
  if (state.shows_ring && bottom - top < rect.height - 0.5F) {
    ui.state.menu_scroll += rect.y < box.y ? rect.y - box.y : rect.bottom() - box.bottom();
    ui.wake_at(ui.now);
  }
  if (state.hovered || state.held || state.shows_ring) {
    ui.canvas.fill(rect, ui.theme.raised_hover, 8);
  }
  Rect inside = rect.inset(10, 0);
  const Rect sign = inside.cut_left(20);
  inside.cut_left(8);
  if (line.chosen) {
    draw_icon(ui.canvas, Icon::kCheck, sign.center(), 16, ui.theme.accent_text, ui.theme.raised);
  }
  ui.canvas.text(inside, Font::kBody, ui.theme.text, line.label);
  if (state.shows_ring) {
    ui.canvas.outline(rect, ui.theme.accent_text, 2, 8);
  }
  return state.activated;
}

}  // namespace

void draw_menu(Ui& ui) {
  if (ui.state.menu == Menu::kNone) {
    return;
  }
  const std::vector<Line> lines = lines_of(ui.view, ui.state.menu);
  float height = 2 * kPadding;
  float width = ui.state.menu_anchor.width;
  for (const Line& line : lines) {
    height += line.height();
    width = std::max(width, ui.canvas.text_width(Font::kBody, line.label) + 64);
  }
  width = std::min(std::max(width, 220.0F), std::min(420.0F, ui.canvas.area().width - 16));
  const float shown = std::min(height, ui.canvas.area().height - 120);
  const Rect box = place(ui, width, shown);
  ui.state.menu_scroll =
      std::clamp(ui.state.menu_scroll - ui.state.wheel * kLine, 0.0F, height - shown);

  ui.controls.begin_modal(box);
  ui.canvas.fill({box.x + 2, box.y + 4, box.width, box.height}, with_alpha(rgb(0x000000), .3F), 12);
  ui.canvas.fill(box, ui.theme.surface, 12);
  ui.canvas.outline(box, ui.theme.border, 1, 12);
  ui.canvas.push_clip(box.inset(0, kPadding));
  float y = box.y + kPadding - ui.state.menu_scroll;
  const Line* activated = nullptr;
  for (const Line& line : lines) {
    const Rect rect{box.x + kPadding, y, box.width - 2 * kPadding, line.height()};
    y += line.height();
    if (line.id.empty()) {
      ui.canvas.text(rect.inset(10, 0), Font::kSmall, ui.theme.text_muted, line.label);
    } else if (draw_line(ui, rect, box.inset(0, kPadding), line)) {
      activated = &line;
    }
  }
  ui.canvas.pop_clip();
  if (activated != nullptr) {
    ui.ask(activated->action);
    close(ui);
  }
}

}  // namespace cress::ui
