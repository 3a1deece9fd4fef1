#include "app/ui/kit/widgets.hh"

#include <imgui.h>
#include <imgui_internal.h>

#include <cmath>
#include <numbers>
#include <utility>

namespace cress::ui {
namespace {

constexpr float kRadius = 10;
constexpr float kIconSize = 20;
constexpr float kQuietestDbfs = -60;

struct Look {
  Color fill;
  Color hover;
  Color text;
};

Look look_of(const Theme& theme, Weight weight) {
  switch (weight) {
    case Weight::kPrimary:
      return {theme.accent, theme.accent_hover, theme.on_accent};
    case Weight::kDanger:
      return {theme.danger, theme.danger_hover, theme.on_danger};
    case Weight::kPlain:
      break;
  }
  return {theme.raised, theme.raised_hover, theme.text};
}

ImVec4 to_vec(Color c) {
  return {static_cast<float>(c.red) / 255, static_cast<float>(c.green) / 255,
          static_cast<float>(c.blue) / 255, static_cast<float>(c.alpha) / 255};
}

}  // namespace

void focus_ring(Ui& ui, const Rect& rect, float radius) {
  ui.canvas.outline(rect.inset(-2), ui.theme.background, 2, radius + 2);
  ui.canvas.outline(rect.inset(-4), ui.theme.accent_text, 2.5F, radius + 4);
}

void toggle_menu(Ui& ui, Menu menu, const std::string& owner, const Rect& anchor) {
  const bool open = ui.state.menu == Menu::kNone || ui.state.menu_owner != owner;
  ui.state.menu = open ? menu : Menu::kNone;
  ui.state.menu_owner = owner;
  ui.state.menu_anchor = anchor;
  ui.state.menu_scroll = 0;
}

bool button(Ui& ui, const Rect& rect, const Button& b) {
  const ControlState state = ui.controls.add(
      {.id = b.id, .label = b.label, .tip = b.tip, .rect = rect, .enabled = b.enabled});
  Look look = look_of(ui.theme, b.weight);
  if (!b.enabled) {
    look = {ui.theme.raised, ui.theme.raised, ui.theme.text_muted};
  }
  const Color fill = state.hovered || state.held ? look.hover : look.fill;
  ui.canvas.fill(rect, fill, kRadius);
  const float width = ui.canvas.text_width(Font::kStrong, b.label);
  Rect text = rect.inset(width + 28 <= rect.width ? 14 : 4, 0);
  const float both = kIconSize + 8 + width;
  const bool has_icon = b.icon && both + 12 <= rect.width;  // the words matter more
  if (has_icon) {
    const float x = rect.center().x - both / 2;
    draw_icon(ui.canvas, *b.icon, {x + kIconSize / 2, rect.center().y}, kIconSize, look.text, fill);
    text = {x + kIconSize + 8, rect.y, width + 1, rect.height};
  }
  ui.canvas.text(text, Font::kStrong, look.text, b.label, has_icon ? Align::kLeft : Align::kCenter);
  if (state.shows_ring) {
    focus_ring(ui, rect, kRadius);
  }
  return state.activated;
}

bool round_button(Ui& ui, Point center, const RoundButton& b) {
  const Rect rect = around(center, 2 * b.radius, 2 * b.radius);
  const ControlState state =
      ui.controls.add({.id = b.id, .label = b.label, .tip = b.tip, .rect = rect});
  Look look = look_of(ui.theme, b.weight);
  if (b.marked) {
    look = {ui.theme.text, ui.theme.text_muted, ui.theme.background};
  }
  const Color fill = state.hovered || state.held ? look.hover : look.fill;
  ui.canvas.fill_circle(center, b.radius, fill);
  if (b.level > 0) {
    // From the top in both directions, so that a louder voice closes the ring.
    const float half = std::numbers::pi_v<float> * b.level;
    constexpr float kTop = -std::numbers::pi_v<float> / 2;
    ui.canvas.arc(center, b.radius - 1.5F, kTop - half, kTop + half, ui.theme.accent_text, 3);
  }
  draw_icon(ui.canvas, b.icon, center, b.radius * 0.88F, look.text, fill);
  if (b.news) {
    const Point corner = center + Point{b.radius * 0.72F, -b.radius * 0.72F};
    ui.canvas.fill_circle(corner, 8, ui.theme.surface);
    ui.canvas.fill_circle(corner, 6, ui.theme.accent_text);
  }
  if (b.shows_label) {
    ui.canvas.text(around({center.x, center.y + b.radius + 12}, 2 * b.radius + 24, 16),
                   Font::kSmall, ui.theme.text, b.label, Align::kCenter);
  }
  if (state.shows_ring) {
    focus_ring(ui, rect, b.radius);
  }
  return state.activated;
}

bool icon_button(Ui& ui, const Rect& rect, const std::string& id, const std::string& label,
                 const std::string& tip, Icon icon) {
  const ControlState state = ui.controls.add({.id = id, .label = label, .tip = tip, .rect = rect});
  if (state.hovered || state.held) {
    ui.canvas.fill(rect, ui.theme.raised_hover, 8);
  }
  draw_icon(ui.canvas, icon, rect.center(), std::min(20.0F, rect.width * 0.6F), ui.theme.text,
            ui.theme.surface);
  if (state.shows_ring) {
    focus_ring(ui, rect, 8);
  }
  return state.activated;
}

SidePanel side_panel(Ui& ui, const Rect& box, const char* title, const char* close_id,
                     const char* close_label, const char* close_tip) {
  ui.canvas.fill(box, ui.theme.surface);
  ui.canvas.line({box.x + 0.5F, box.y}, {box.x + 0.5F, box.bottom()}, ui.theme.border);
  Rect inside = box.inset(18, 14);
  Rect head = inside.cut_top(36);
  inside.cut_top(6);
  const Rect close = head.cut_right(32);
  ui.canvas.text(head, Font::kHeading, ui.theme.text, title);
  const bool closes = icon_button(ui, around(close.center(), 32, 32), close_id, close_label,
                                  close_tip, Icon::kClose);
  return {head, inside, closes};
}

void device_box(Ui& ui, const Rect& rect, const std::string& id, std::string_view label,
                const Devices& devices, Icon icon, Menu menu) {
  std::string chosen = devices.all.empty() ? "None found" : "Choose";
  for (const Device& device : devices.all) {
    if (device.id == devices.chosen) {
      chosen = device.name;
    }
  }
  const std::string name{label};
  const ControlState state = ui.controls.add({.id = id,
                                              .label = name,
                                              .tip = name + ": " + chosen,
                                              .rect = rect,
                                              .enabled = !devices.all.empty()});
  const bool lit = state.hovered || state.held || ui.state.menu_owner == id;
  const Color fill = lit && ui.state.menu == menu ? ui.theme.raised_hover
                     : state.hovered              ? ui.theme.raised_hover
                                                  : ui.theme.raised;
  ui.canvas.fill(rect, fill, kRadius);
  Rect inside = rect.inset(12, 0);
  const Rect sign = inside.cut_left(kIconSize);
  draw_icon(ui.canvas, icon, sign.center(), kIconSize, ui.theme.text_muted, fill);
  inside.cut_left(10);
  const Rect chevron = inside.cut_right(18);
  draw_icon(ui.canvas, Icon::kChevron, chevron.center(), 16, ui.theme.text_muted, fill);
  if (inside.width > 200) {
    ui.canvas.text(inside.cut_left(96), Font::kBody, ui.theme.text_muted, label);
  }
  ui.canvas.text(inside, Font::kBody, ui.theme.text, chosen);
  if (state.shows_ring) {
    focus_ring(ui, rect, kRadius);
  }
  if (state.activated) {
    toggle_menu(ui, menu, id, rect);
  }
}

Typed text_field(Ui& ui, const Rect& rect, const std::string& id, const std::string& label,
                 const char* hint, std::span<char> text) {
  const ControlState state = ui.controls.add(
      {.id = id, .label = label, .tip = "", .rect = rect, .kind = Control::Kind::kText});
  ui.canvas.fill(rect, ui.theme.raised, kRadius);
  ui.canvas.outline(rect, state.focused ? ui.theme.accent_text : ui.theme.border,
                    state.focused ? 2.0F : 1.0F, kRadius);
  const float unit = ui.canvas.scale().unit;
  ImFont* font = ui.canvas.font(Font::kBody);
  ImGui::PushFont(font);
  const float height = ImGui::GetFontSize();
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      ImVec2{12 * unit, (rect.height * unit - height) / 2});
  ImGui::PushStyleColor(ImGuiCol_FrameBg, ImVec4{0, 0, 0, 0});
  ImGui::PushStyleColor(ImGuiCol_Text, to_vec(ui.theme.text));
  ImGui::PushStyleColor(ImGuiCol_TextDisabled, to_vec(ui.theme.text_muted));
  ImGui::PushStyleColor(ImGuiCol_TextSelectedBg,
                        to_vec(mix(ui.theme.raised, ui.theme.accent, 0.45F)));
  ImGui::PushStyleColor(ImGuiCol_NavHighlight, ImVec4{0, 0, 0, 0});
  ImGui::SetCursorScreenPos(ui.canvas.to_imgui({rect.x, rect.y}));
  ImGui::PushItemWidth(rect.width * unit);
  const std::string name = "##" + id;
  const bool active = ImGui::GetActiveID() == ImGui::GetID(name.c_str());
  if (state.focused && !active) {
    ImGui::SetKeyboardFocusHere();
    // The field becomes active in the frame after this one.
    ui.wake_at(ui.now);
  } else if (!state.focused && active) {
    ImGui::ClearActiveID();
  }
  const bool changed = ImGui::InputTextWithHint(name.c_str(), hint, text.data(), text.size());
  ImGui::PopItemWidth();
  ImGui::PopStyleColor(5);
  ImGui::PopStyleVar();
  ImGui::PopFont();
  if (state.shows_ring) {
    focus_ring(ui, rect, kRadius);
  }
  return {.changed = changed, .entered = state.activated};
}

Typed text_field(Ui& ui, const Rect& rect, const std::string& id, const std::string& label,
                 const char* hint, HiddenInput& text) {
  return text.edit(ImGui::GetID(("##" + id).c_str()), [&](std::span<char> clear) {
    return text_field(ui, rect, id, label, hint, clear);
  });
}

void clear_text(std::span<char> text) {
  text[0] = '\0';
  ImGui::ClearActiveID();  // it has a copy of its own while it is active
}

float level_share(float dbfs) {
  return std::isfinite(dbfs) ? std::clamp(1 - dbfs / kQuietestDbfs, 0.0F, 1.0F) : 0.0F;
}

void level_meter(Ui& ui, const Rect& rect, float dbfs, bool muted) {
  constexpr int kBars = 30;
  constexpr int kLoud = 27;  // of 30: the last 6 dB
  const float pitch = rect.width / kBars;
  const auto lit = static_cast<int>(std::lround(level_share(dbfs) * kBars));
  for (int i = 0; i < kBars; ++i) {
    const Color loud = i >= kLoud ? ui.theme.trouble_text : ui.theme.accent_text;
    const Color on = muted ? ui.theme.text_muted : loud;
    ui.canvas.fill({rect.x + static_cast<float>(i) * pitch, rect.y, pitch - 3, rect.height},
                   i < lit ? on : ui.theme.raised, 1.5F);
  }
}

}  // namespace cress::ui
