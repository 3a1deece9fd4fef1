#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string>

#include "app/ui/kit/widgets.hh"
#include "app/ui/model/format.hh"
#include "app/ui/screens/lobby_parts.hh"
#include "app/ui/screens/person_view.hh"
#include "app/ui/screens/screens.hh"

namespace cress::ui {
namespace {

constexpr float kRelayAreaMin =
    480;  // of the window's height: below, the relay stays as it was set

void draw_name(Ui& ui, Rect& column) {
  Rect row = column.cut_top(40);
  column.cut_top(kGap);
  ui.canvas.text(row.cut_left(96), Font::kBody, ui.theme.text_muted, "Your name");
  show_known(ui, "name", ui.view.self.name, ui.state.name);
  if (text_field(ui, row, "name", "Your name", "What the other person sees", ui.state.name)
          .changed) {
    ui.ask(ChooseName{std::string{trimmed(ui.state.name.data())}});
  }
}

void draw_join(Ui& ui, Rect& column) {
  Rect box = card(ui, column, is_low(ui) ? 112 : 134);
  ui.canvas.text(box.cut_top(20), Font::kStrong, ui.theme.text, "Join a call or a room");
  box.cut_top(12);
  Rect row = box.cut_top(kField);
  const Rect press = row.cut_right(92);
  row.cut_right(10);
  const bool entered =
      text_field(ui, row, "link", "Link of the call or room", "cress://…", ui.state.link).entered;
  const runtime::HiddenText link = typed_link(ui.state);
  const bool joined = button(ui, press,
                             {.id = "join",
                              .label = "Join",
                              .tip = "Join the call or room of this link (Enter)",
                              .weight = Weight::kPrimary,
                              .enabled = !link.empty()});
  if ((entered || joined) && !link.empty()) {
    ui.ask(Join{link});
  }
  const bool odd = link.empty() && !trimmed(ui.state.link.reveal().view()).empty();
  if (!is_low(ui) || odd) {
    box.cut_top(6);
    ui.canvas.text(box.cut_top(18), Font::kSmall, odd ? ui.theme.warning_text : ui.theme.text_muted,
                   odd ? "A link begins with cress://" : "Paste the link you were sent (Ctrl+V)");
  }
}

void draw_begin(Ui& ui, Rect& column) {
  const bool has_relay = ui.canvas.area().height >= kRelayAreaMin;
  Rect box = card(ui, column, (is_low(ui) ? 112.0F : 134.0F) + (has_relay ? 48.0F : 0.0F));
  ui.canvas.text(box.cut_top(20), Font::kStrong, ui.theme.text, "Start a call or a room");
  box.cut_top(12);
  Rect row = box.cut_top(kField);
  const Rect room = row.cut_right(112);
  row.cut_right(10);
  if (button(ui, row,
             {.id = "start",
              .label = "Start a call",
              .tip = "Start a call; you get a link to send (Ctrl+N)",
              .weight = typed_link(ui.state).empty() ? Weight::kPrimary : Weight::kPlain,
              .icon = Icon::kCamera})) {
    ui.ask(StartListening{});
  }
  if (button(ui, room,
             {.id = "new-room",
              .label = "New room",
              .tip = "Make a room for many people at a relay (Ctrl+R)"})) {
    ui.ask(PlanRoom{});
  }
  if (has_relay) {
    box.cut_top(10);
    relay_field(ui, box.cut_top(38), "HOST:PORT, if any");
  }
  if (!is_low(ui)) {
    box.cut_top(6);
    ui.canvas.text(box.cut_top(18), Font::kSmall, ui.theme.text_muted,
                   "Whoever has the link can join. Nobody else can.");
  }
}

void draw_start(Ui& ui, Rect column) {
  if (!is_low(ui)) {
    heading(ui, column, "Video calls that hold on bad links");
    column.cut_top(10);
  }
  draw_name(ui, column);
  draw_join(ui, column);
  draw_begin(ui, column);
}

void draw_waiting(Ui& ui, Rect column) {
  heading(ui, column, "Send this link");
  lead(ui, column,
       "The call begins when the other person opens it in Cress. Whoever has the link can join, so "
       "send it to that person only.");
  if (!ui.view.link_warning.empty()) {
    const float height =
        ui.canvas.paragraph(column, Font::kBody, ui.theme.warning_text, ui.view.link_warning);
    column.cut_top(height + kGap);
  }
  Rect box = card(ui, column, 136);
  link_box(ui, box.cut_top(kField), ui.view.link.reveal().view());
  box.cut_top(12);
  Rect row = box.cut_top(kField);
  const Rect cancel = row.cut_right(104);
  row.cut_right(10);
  if (copy_button(ui, row,
                  {.id = "copy",
                   .label = "Copy link",
                   .tip = "Copy the link (Ctrl+C)",
                   .weight = Weight::kPrimary,
                   .enabled = !ui.view.link.empty()},
                  ui.state.copied_at)) {
    ui.state.copies_link = true;
  }
  if (button(ui, cancel, {.id = "hang-up", .label = "Cancel", .tip = "Stop waiting (Esc)"})) {
    ui.ask(HangUp{});
  }
  const Rect line = column.cut_top(24);
  ui.canvas.fill_circle({line.x + 6, line.center().y}, 5, ui.theme.accent_text);
  ui.canvas.text({line.x + 20, line.y, line.width - 20, line.height}, Font::kBody,
                 ui.theme.text_muted, "Waiting for the other person…");
  column.cut_top(12);
  draw_link_code(ui, column);
}

void draw_spinner(Ui& ui, Point center, float radius) {
  constexpr Duration kTurn = 1200ms;
  // 15 steps per second look like motion and cost little.
  constexpr Duration kStep = 66ms;
  const Duration within = ui.now.time_since_epoch() % kTurn;
  const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(within.count()) /
                      static_cast<float>(kTurn.count());
  ui.canvas.outline_circle(center, radius, ui.theme.raised, 4);
  ui.canvas.arc(center, radius, angle, angle + 1.6F, ui.theme.accent_text, 4);
  ui.wake_at(ui.now + kStep);
}

void draw_connecting(Ui& ui, Rect column) {
  const Rect spinner = column.cut_top(72);
  draw_spinner(ui, {spinner.x + 28, spinner.y + 28}, 24);
  heading(ui, column, "Connecting…");
  lead(ui, column,
       ui.view.status.text.empty() ? "Reaching the other side and agreeing on keys."
                                   : ui.view.status.text);
  if (button(ui, {column.x, column.y, 120, kField},
             {.id = "hang-up", .label = "Cancel", .tip = "Stop connecting (Esc)"})) {
    ui.ask(HangUp{});
  }
}

void draw_ended(Ui& ui, Rect column) {
  heading(ui, column, ui.view.room ? "You are out of the room" : "The call has ended");
  if (!ui.view.ended_reason.empty()) {
    lead(ui, column, ui.view.ended_reason);
  }
  if (button(ui, {column.x, column.y, 168, kField},
             {.id = "back",
              .label = "Back to start",
              .tip = "Back to the start (Esc)",
              .weight = Weight::kPrimary})) {
    ui.ask(BackToStart{});
  }
  if (button(ui, {column.x + 180, column.y, 96, kField},
             {.id = "quit", .label = "Quit", .tip = "Close Cress (Ctrl+Q)"})) {
    ui.ask(Quit{});
  }
}

void draw_header(Ui& ui, Rect header) {
  const Rect sign = header.cut_left(36);
  draw_icon(ui.canvas, Icon::kLogo, sign.center(), 34, ui.theme.accent_text, ui.theme.background);
  header.cut_left(6);
  const Rect theme = header.cut_right(36);
  ui.canvas.text(header, Font::kHeading, ui.theme.text, "Cress");
  const bool dark = ui.view.theme == ThemeChoice::kDark;
  if (icon_button(ui, around(theme.center(), 36, 36), "theme", dark ? "Light theme" : "Dark theme",
                  dark ? "Light theme (T)" : "Dark theme (T)", dark ? Icon::kSun : Icon::kMoon)) {
    ui.ask(ChooseTheme{dark ? ThemeChoice::kLight : ThemeChoice::kDark});
  }
}

// The own picture as the other person will see it, but mirrored.
void draw_self(Ui& ui, Rect column) {
  const float boxes = 3 * 42 + 2 * 8;
  const float meter = 34;
  const float height =
      std::min(column.width * 9 / 16, std::max(120.0F, column.height - boxes - meter - kGap));
  const Rect frame = column.cut_top(height);
  draw_own(ui, frame, 14);
  const Point middle{frame.center().x, frame.bottom() - 38};
  const bool muted = ui.view.self.muted;
  const bool off = ui.view.self.camera_off;
  if (round_button(ui, middle + Point{-32, 0},
                   {.id = "mute",
                    .label = muted ? "Unmute" : "Mute",
                    .tip = muted ? "Unmute (M)" : "Mute (M)",
                    .icon = muted ? Icon::kMicrophoneOff : Icon::kMicrophone,
                    .marked = muted,
                    .shows_label = false,
                    .radius = 24})) {
    ui.ask(muted ? UserAction{Unmute{}} : UserAction{Mute{}});
  }
  if (round_button(ui, middle + Point{32, 0},
                   {.id = "camera",
                    .label = off ? "Camera on" : "Camera off",
                    .tip = off ? "Camera on (V)" : "Camera off (V)",
                    .icon = off ? Icon::kCameraOff : Icon::kCamera,
                    .marked = off,
                    .shows_label = false,
                    .radius = 24})) {
    ui.ask(off ? UserAction{CameraOn{}} : UserAction{CameraOff{}});
  }
  Rect row = column.cut_top(meter);
  draw_icon(ui.canvas, muted ? Icon::kMicrophoneOff : Icon::kMicrophone, row.cut_left(26).center(),
            16, ui.theme.text_muted, ui.theme.background);
  level_meter(ui, around(row.center(), row.width, 8), ui.view.microphone_dbfs, muted);
  const auto box = [&](const char* id, const char* label, const Devices& devices, Icon icon,
                       Menu menu) {
    device_box(ui, column.cut_top(42), id, label, devices, icon, menu);
    column.cut_top(8);
  };
  box("choose-camera", "Camera", ui.view.cameras, Icon::kCamera, Menu::kCameras);
  box("choose-microphone", "Microphone", ui.view.microphones, Icon::kMicrophone,
      Menu::kMicrophones);
  box("choose-speaker", "Speaker", ui.view.speakers, Icon::kSpeaker, Menu::kSpeakers);
}

}  // namespace

runtime::HiddenText typed_link(const UiState& state) {
  const runtime::ClearText clear = state.link.reveal();
  const std::string_view text = trimmed(clear.view());
  constexpr std::string_view kScheme = "cress://";
  const bool is_link = text.starts_with(kScheme) && text.size() > kScheme.size();
  return is_link ? runtime::HiddenText{text} : runtime::HiddenText{};
}

void draw_lobby(Ui& ui) {
  const Rect& area = ui.canvas.area();
  ui.canvas.fill(area, ui.theme.background);
  const float width = std::min(1060.0F, area.width - (area.width < 720 ? 32.0F : 56.0F));
  const float header_height = is_low(ui) ? 48 : 72;
  Rect page{(area.width - width) / 2, 0, width, area.height};
  draw_header(ui, page.cut_top(header_height));
  const float height = std::min(page.height - 12, is_low(ui) ? 420.0F : 490.0F);
  if (ui.view.screen == Screen::kEnded) {
    draw_ended(ui, around({area.width / 2, area.height * 0.47F}, std::min(480.0F, width), 220));
    draw_notices(ui, {page.x, 0, page.width, area.height - 16}, Stack::kFromBottomLeft);
    return;
  }
  // Slightly above the middle looks centred.
  page = {page.x, page.y + (page.height - height) * 0.38F, page.width, height};
  const float between = area.width < 720 ? 16 : 40;
  const Rect left = page.cut_left((width - between) * 0.5F);
  page.cut_left(between);
  switch (ui.view.screen) {
    case Screen::kWaiting:
      draw_waiting(ui, left);
      break;
    case Screen::kConnecting:
      draw_connecting(ui, left);
      break;
    case Screen::kNewRoom:
      draw_new_room(ui, left);
      break;
    default:
      draw_start(ui, left);
      break;
  }
  draw_self(ui, page);
  // As many as fit below the devices.
  draw_notices(ui, {page.x, 0, page.width, area.height - 16}, Stack::kFromBottomLeft,
               is_low(ui) ? 1 : 2);
}

}  // namespace cress::ui
