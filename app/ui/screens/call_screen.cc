#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/widgets.hh"
#include "app/ui/model/format.hh"
#include "app/ui/screens/person_view.hh"
#include "app/ui/screens/screens.hh"
#include "app/ui/screens/tiles.hh"

namespace cress::ui {
namespace {

constexpr float kPitch = 76;  // from button to button
constexpr float kBarHeight = 92;
constexpr float kBarBelow = 16;
constexpr float kMargin = 16;

struct BarButton {
  RoundButton look;
  UserAction action = Quit{};
  enum class Opens { kNothing, kPanel, kChat, kDevices, kScreens } opens = Opens::kNothing;
};

BarButton mute_button(const CallView& view) {
  const bool muted = view.self.muted;
  const bool heard = !muted || view.push_to_talk;
  BarButton b;
  b.look.id = "mute";
  b.look.label = !muted ? "Mute" : heard ? "On air" : "Unmute";
  b.look.tip = muted ? "Unmute (M); hold Space to talk" : "Mute (M)";
  b.look.icon = heard ? Icon::kMicrophone : Icon::kMicrophoneOff;
  b.look.marked = !heard;
  b.look.level = heard ? level_share(view.microphone_dbfs) : 0;
  b.action = muted ? UserAction{Unmute{}} : UserAction{Mute{}};
  return b;
}

BarButton camera_button(const CallView& view) {
  const bool off = view.self.camera_off;
  BarButton b;
  b.look.id = "camera";
  b.look.label = "Camera";
  b.look.tip = off ? "Camera on (V)" : "Camera off (V)";
  b.look.icon = off ? Icon::kCameraOff : Icon::kCamera;
  b.look.marked = off;
  b.action = off ? UserAction{CameraOn{}} : UserAction{CameraOff{}};
  return b;
}

BarButton share_button(const CallView& view) {
  const bool shares = view.self.shares_screen;
  const auto& screens = view.screens.all;
  BarButton b;
  b.look.id = "share";
  b.look.label = shares ? "Stop" : "Share";
  b.look.tip = shares ? "Stop sharing the screen (S)" : "Share a screen (S)";
  b.look.icon = shares ? Icon::kScreenOff : Icon::kScreen;
  b.look.marked = shares;
  if (shares) {
    b.action = StopSharing{};
  } else if (screens.size() > 1) {
    b.opens = BarButton::Opens::kScreens;
  } else {
    b.action = ShareScreen{screens.empty() ? "" : screens.front().id};
  }
  return b;
}

BarButton plain_button(const char* id, const char* label, const char* tip, Icon icon) {
  BarButton b;
  b.look.id = id;
  b.look.label = label;
  b.look.tip = tip;
  b.look.icon = icon;
  return b;
}

std::vector<BarButton> bar_of(const Ui& ui) {
  const CallView& view = ui.view;
  std::vector<BarButton> bar{mute_button(view), camera_button(view), share_button(view)};
  BarButton devices =
      plain_button("devices", "Devices", "Camera, microphone and speaker (D)", Icon::kDevices);
  devices.opens = BarButton::Opens::kDevices;
  bar.push_back(devices);
  const bool unread = has_unread(ui);
  BarButton chat = plain_button("chat", unread ? "New text" : "Chat",
                                ui.state.chat_open ? "Close the chat (C)"
                                : unread           ? "Read what was written (C)"
                                                   : "Write to everybody here (C)",
                                Icon::kChat);
  chat.look.marked = ui.state.chat_open;
  chat.look.news = unread;
  chat.opens = BarButton::Opens::kChat;
  bar.push_back(chat);
  const bool open = ui.state.panel_open;
  BarButton panel =
      plain_button("panel", "Live", open ? "Close the live panel (P)" : "How the link is doing (P)",
                   Icon::kPanel);
  panel.look.marked = open;
  panel.opens = BarButton::Opens::kPanel;
  bar.push_back(panel);
  BarButton full =
      view.full_screen
          ? plain_button("full-screen", "Window", "Leave full screen (F or Esc)",
                         Icon::kLeaveFullScreen)
          : plain_button("full-screen", "Full screen", "Full screen (F)", Icon::kFullScreen);
  full.action = SetFullScreen{!view.full_screen};
  bar.push_back(full);
  BarButton hang_up = plain_button("hang-up", "Hang up", "Hang up (Ctrl+H)", Icon::kHangUp);
  hang_up.look.weight = Weight::kDanger;
  hang_up.action = HangUp{};
  bar.push_back(hang_up);
  return bar;
}

float bar_width(size_t buttons) { return static_cast<float>(buttons) * kPitch + 24; }

/// Those that fit, in their order: the least important ones go first, Mute and Hang up stay. What
/// is left out has a key.
std::vector<BarButton> fitting(std::vector<BarButton> bar, float width) {
  for (const std::string_view id : {"full-screen", "devices", "panel", "share", "chat", "camera"}) {
    if (bar_width(bar.size()) > width) {
      std::erase_if(bar, [id](const BarButton& button) { return button.look.id == id; });
    }
  }
  return bar;
}

void press(Ui& ui, const BarButton& b, const Rect& rect) {
  switch (b.opens) {
    case BarButton::Opens::kPanel:
      toggle_panel(ui.state);
      break;
    case BarButton::Opens::kChat:
      toggle_chat(ui.state, ui.controls, ui.controls.shows_ring());
      break;
    case BarButton::Opens::kDevices:
      toggle_menu(ui, Menu::kAllDevices, b.look.id, rect);
      break;
    case BarButton::Opens::kScreens:
      toggle_menu(ui, Menu::kScreens, b.look.id, rect);
      break;
    case BarButton::Opens::kNothing:
      ui.ask(b.action);
      break;
  }
}

void draw_bar(Ui& ui, const Rect& within) {
  const std::vector<BarButton> buttons = fitting(bar_of(ui), within.width);
  const float width = bar_width(buttons.size());
  const Rect bar{within.center().x - width / 2, within.bottom() - kBarHeight - kBarBelow, width,
                 kBarHeight};
  ui.canvas.fill(bar, with_alpha(ui.theme.surface, 0.94F), 24);
  ui.canvas.outline(bar, ui.theme.border, 1, 24);
  for (size_t i = 0; i < buttons.size(); ++i) {
    const Point center{bar.x + 12 + (static_cast<float>(i) + 0.5F) * kPitch, bar.y + 37};
    if (round_button(ui, center, buttons[i].look)) {
      press(ui, buttons[i], around(center, 60, kBarHeight - 8));
    }
  }
}

// The name, whether they are muted, and the call's duration. Returns where it ends.
float draw_name(Ui& ui, const Rect& stage, bool full) {
  const Person& peer = ui.view.peer;
  const std::string who = peer.name.empty() ? "Connected" : peer.name;
  std::string clock;
  if (ui.view.connected_at && full) {
    const Duration length = ui.now - *ui.view.connected_at;
    clock = "   " + format_clock(length);
    ui.wake_at(*ui.view.connected_at + (length / 1s + 1) * 1s);
  }
  const std::string code = with_code(ui, "", ui.view.code);
  const std::string end = clock + code;
  constexpr float kHeight = 36;
  const float room = stage.width - 2 * kMargin;
  NamePill name{.words = who, .muted = peer.muted, .dbfs = ui.view.speaker_dbfs};
  float width = 0;
  // What is longest gives way: the end of the name, then the clock to the code.
  const std::string brief = end.empty() ? who : short_name(who);
  for (const std::string& words : {who + end, brief + end, brief + (code.empty() ? clock : code)}) {
    name.words = words;
    width = name_pill_width(ui, kHeight, name);
    if (width <= room) {
      break;
    }
  }
  width = std::min(width, room);
  const Rect pill{stage.x + kMargin, stage.y + kMargin, width, kHeight};
  draw_name_pill(ui, pill, name);
  return pill.right();
}

// Centred above the video; below the name if there is no room next to it. Returns where it ends.
float draw_status(Ui& ui, const Rect& stage, float name_end) {
  const StatusLine& status = ui.view.status;
  if (status.tone == Tone::kGood || status.text.empty()) {
    return stage.y;
  }
  const float room = stage.width - 2 * kMargin;
  const float text = std::min(ui.canvas.text_width(Font::kBody, status.text), room - 50);
  const float height = ui.canvas.paragraph_height(Font::kBody, status.text, text + 1);
  const float width = text + 50;
  const bool beside = stage.center().x - width / 2 >= name_end + 8;
  const float y = stage.y + kMargin + (beside ? 0.0F : 44.0F);
  const Rect pill{stage.center().x - width / 2, y, width, height + 20};
  ui.canvas.fill(pill, ui.theme.surface, 18);
  ui.canvas.outline(pill, ui.theme.border, 1, 18);
  ui.canvas.fill_circle({pill.x + 19, pill.center().y}, 5, tone_color(ui.theme, status.tone));
  ui.canvas.paragraph({pill.x + 34, pill.y + 10, text + 1, height}, Font::kBody, ui.theme.text,
                      status.text);
  return pill.bottom();
}

Rect corner_place(const Rect& room, Corner corner, float width, float height) {
  const bool left = corner == Corner::kTopLeft || corner == Corner::kBottomLeft;
  const bool top = corner == Corner::kTopLeft || corner == Corner::kTopRight;
  return {left ? room.x : room.right() - width, top ? room.y : room.bottom() - height, width,
          height};
}

Corner corner_of(bool left, bool top) {
  if (top) {
    return left ? Corner::kTopLeft : Corner::kTopRight;
  }
  return left ? Corner::kBottomLeft : Corner::kBottomRight;
}

// Half of the distance in 40 ms, whatever the frame rate.
void glide(Ui& ui, Rect& from, const Rect& to) {
  const Duration step = ui.state.last_at ? ui.now - *ui.state.last_at : 0ms;
  const auto share = static_cast<float>(1 - std::exp2(-to_milliseconds(step) / 40));
  from.x += (to.x - from.x) * share;
  from.y += (to.y - from.y) * share;
  from.width = to.width;
  from.height = to.height;
  if (std::abs(from.x - to.x) + std::abs(from.y - to.y) < 1) {
    from = to;
  } else {
    ui.wake_at(ui.now);
  }
}

void drag(Ui& ui, const Rect& room, const ControlState& state, Rect& place) {
  const auto pointer = ui.controls.pointer();
  if (state.held && pointer) {
    if (!ui.state.own_grab) {
      ui.state.own_grab = *pointer - Point{place.x, place.y};
    }
    const Point corner = *pointer - *ui.state.own_grab;
    place.x = std::clamp(corner.x, room.x, room.right() - place.width);
    place.y = std::clamp(corner.y, room.y, room.bottom() - place.height);
  } else if (ui.state.own_grab) {
    ui.state.own_grab.reset();
    ui.state.own_corner =
        corner_of(place.center().x < room.center().x, place.center().y < room.center().y);
  }
  if (state.arrow != Point{}) {
    const Corner now = ui.state.own_corner;
    bool left = now == Corner::kTopLeft || now == Corner::kBottomLeft;
    bool top = now == Corner::kTopLeft || now == Corner::kTopRight;
    left = state.arrow.x != 0 ? state.arrow.x < 0 : left;
    top = state.arrow.y != 0 ? state.arrow.y < 0 : top;
    ui.state.own_corner = corner_of(left, top);
  }
}

void draw_inset(Ui& ui, const Rect& stage, float shown, bool lifted) {
  const float width = std::clamp(stage.width * 0.2F, 128.0F, 256.0F);
  const float height = width * 9 / 16;
  Rect room = stage.inset(kMargin);
  // Names and sentences are at the top; a row of buttons as wide as the stage at the bottom.
  room.cut_top(shown * 44);
  if (lifted) {
    room.cut_bottom(shown * (kBarHeight + kBarBelow));
  }
  const Rect home = corner_place(room, ui.state.own_corner, width, height);
  Rect place = ui.state.own_place.value_or(home);
  place.width = width;
  place.height = height;
  const ControlState state = ui.controls.add({.id = "own-picture",
                                              .label = "Your picture",
                                              .tip = "Your picture: drag it, or use the arrow keys",
                                              .rect = place,
                                              .kind = Control::Kind::kDrag});
  drag(ui, room, state, place);
  if (!ui.state.own_grab) {
    glide(ui, place, corner_place(room, ui.state.own_corner, width, height));
  }
  ui.state.own_place = place;
  draw_own(ui, place, 12);
  if (ui.view.self.muted && !ui.view.push_to_talk) {
    const Theme& dark = theme_of(ThemeChoice::kDark);
    // At the top: text is in the middle of a small picture, and reaches its sides.
    const Point sign{place.x + 20, place.y + 20};
    ui.canvas.fill_circle(sign, 12, dark.surface);
    draw_icon(ui.canvas, Icon::kMicrophoneOff, sign, 14, dark.trouble_text, dark.surface);
  }
  if (state.shows_ring) {
    focus_ring(ui, place, 12);
  }
}

// 1 while the buttons are visible, 0 when they are hidden.
float visibility(Ui& ui) {
  const bool stays = ui.state.menu != Menu::kNone || ui.controls.is_holding();
  const Duration idle = ui.now - ui.state.active_at;
  if (idle < kHideAfter) {
    ui.wake_at(ui.state.active_at + kHideAfter);
    return 1;
  }
  if (stays) {
    return 1;
  }
  if (idle >= kHideAfter + kHideFade) {
    return 0;
  }
  ui.wake_at(ui.now);
  return 1 - static_cast<float>(to_seconds(idle - kHideAfter) / to_seconds(kHideFade));
}

// The mark of an unread line is on a button that may be hidden.
void bring_back_for_news(Ui& ui) {
  const uint64_t newest = has_unread(ui) ? ui.view.chat->back().id : 0;
  if (newest > ui.state.chat_came) {
    ui.state.chat_came = newest;
    ui.state.active_at = ui.now;
  }
}

// The others, oneself, the names; returns where the name ends.
float draw_pair(Ui& ui, const Rect& stage, float shown, bool lifted) {
  ui.canvas.fill(stage, theme_of(ThemeChoice::kDark).stage);
  draw_person(
      ui, stage,
      {.person = ui.view.peer, .texture = ui.remote, .captured_at = ui.view.remote.captured_at});
  draw_inset(ui, stage, shown, lifted);
  if (shown == 0 && !ui.view.peer.muted) {
    return stage.x;
  }
  ui.canvas.set_opacity(ui.view.peer.muted ? 1 : shown);
  const float end = draw_name(ui, stage, shown > 0);
  ui.canvas.set_opacity(1);
  return end;
}

// The layout of a call; the stage is the area for video.
struct Places {
  Rect stage;
  Rect side;            // the panel or the chat; hidden: zero width
  Rect bar_room;        // where the row of buttons is centred, at the bottom
  bool lifted = false;  // the buttons need the own picture's place
};

Places places_of(const Ui& ui) {
  const Rect& area = ui.canvas.area();
  Places places{.stage = area, .side = {}, .bar_room = area};
  const float needed = bar_width(bar_of(ui).size()) + 2 * 8;
  const bool is_open = ui.state.panel_open || ui.state.chat_open;
  // If the buttons need the whole width, the side panel ends above them.
  const bool narrow = is_open && area.width - kPanelWidth < needed;
  if (is_open) {
    places.side = places.stage.cut_right(std::min(kPanelWidth, area.width * 0.55F));
    if (narrow) {
      places.side.cut_bottom(kBarHeight + 2 * kBarBelow);
    } else {
      places.bar_room = places.stage;
    }
  }
  const float inset_width = std::clamp(places.stage.width * 0.2F, 128.0F, 256.0F);
  places.lifted = places.bar_room.width < needed + 2 * (inset_width + 2 * kMargin) || narrow;
  return places;
}

// The room's name, the number of members and the duration: left of the buttons.
void draw_room_title(Ui& ui, const Rect& bar_room) {
  const Room& room = *ui.view.room;
  Rect box{bar_room.x + kMargin, bar_room.bottom() - kBarBelow - kBarHeight / 2 - 20,
           (bar_room.width - bar_width(bar_of(ui).size())) / 2 - 2 * kMargin, 40};
  constexpr float kNarrowest = 64;
  if (box.width < kNarrowest) {
    return;
  }
  const Theme& dark = theme_of(ThemeChoice::kDark);
  ui.canvas.text(box.cut_top(22), Font::kStrong, dark.text, room.name);
  const size_t people = room.others.size() + 1;
  const bool roomy = box.width > 160;
  std::string words = std::to_string(people);
  if (roomy) {
    words += people == 1 ? " person" : " people";
  }
  if (ui.view.connected_at) {
    const Duration length = ui.now - *ui.view.connected_at;
    words += (roomy ? "   " : " · ") + format_clock(length);
    ui.wake_at(*ui.view.connected_at + (length / 1s + 1) * 1s);
  }
  ui.canvas.text(box, Font::kSmall, dark.text_muted, words);
}

}  // namespace

void draw_call(Ui& ui) {
  bring_back_for_news(ui);
  const Places places = places_of(ui);
  Rect stage = places.stage;
  // A grid leaves room for the buttons, unless the video has the whole screen.
  const bool docked = ui.view.room.has_value() && !ui.view.full_screen;
  const float shown = docked ? 1 : visibility(ui);
  ui.canvas.fill(ui.canvas.area(), theme_of(ThemeChoice::kDark).stage);
  float name_end = stage.x;
  if (docked) {
    stage.cut_bottom(kBarHeight + 2 * kBarBelow - kTileGap);
    draw_room_title(ui, places.bar_room);
  }
  if (ui.view.room) {
    draw_room(ui, stage.inset(kTileGap));
  } else {
    name_end = draw_pair(ui, stage, shown, places.lifted);
  }
  // The question says what the status would.
  const float said_until = ui.view.newcomer.empty() ? draw_status(ui, stage, name_end)
                                                    : draw_newcomer(ui, stage, name_end);
  if (ui.state.panel_open) {
    draw_panel(ui, places.side);
  } else if (ui.state.chat_open) {
    draw_chat(ui, places.side);
  }
  if (shown > 0) {
    ui.canvas.set_opacity(shown);
    draw_bar(ui, places.bar_room);
    ui.canvas.set_opacity(1);
  }
  const float top = std::max(said_until + 10, stage.y + kMargin);
  draw_notices(ui, {stage.x + kMargin, top, stage.width - 2 * kMargin, stage.bottom() - top},
               Stack::kFromTopRight);
}

}  // namespace cress::ui
