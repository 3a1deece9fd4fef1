#include "app/ui/screens/person_view.hh"

#include <string>

#include "app/ui/kit/icons.hh"
#include "app/ui/kit/widgets.hh"
#include "app/ui/model/format.hh"

namespace cress::ui {
namespace {

// A tile has no room for more than a sign.
bool is_small(const Rect& stage) { return stage.height < 200; }

void draw_absent(Ui& ui, const Rect& stage, std::string_view name, std::string_view words) {
  const Theme& dark = theme_of(ThemeChoice::kDark);
  const bool small = is_small(stage);
  const float radius =
      small ? std::min(36.0F, stage.height / 4) : std::min(56.0F, stage.height / 6);
  const Point center{stage.center().x, stage.center().y - (small ? 4.0F : 24.0F)};
  ui.canvas.fill_circle(center, radius, dark.raised_hover);
  ui.canvas.text(around(center, 2 * radius, 2 * radius),
                 radius < 20   ? Font::kSmall
                 : radius < 30 ? Font::kHeading
                               : Font::kTitle,
                 dark.text, initial(name), Align::kCenter);
  if (!small) {
    ui.canvas.text(around({center.x, center.y + radius + 28}, stage.width - 32, 24), Font::kBody,
                   dark.text, words, Align::kCenter);
  }
}

void draw_age(Ui& ui, const Rect& stage, const Rect& picture, float radius,
              const std::optional<TimePoint>& captured) {
  if (!captured) {
    return;
  }
  const Duration age = ui.now - *captured;
  if (age < kStaleAfter) {
    ui.wake_at(*captured + kStaleAfter);
    return;
  }
  ui.wake_at(*captured + (age / 1s + 1) * 1s);
  ui.canvas.fill(picture, with_alpha(rgb(0x000000), 0.45F), radius);
  const std::string seconds = std::to_string(age / 1s);
  const bool small = is_small(stage);
  const std::string words =
      small ? seconds + " s ago"
            : "Picture from " + seconds + (age / 1s == 1 ? " second ago" : " seconds ago");
  const Theme& dark = theme_of(ThemeChoice::kDark);
  const Font font = small ? Font::kSmall : Font::kBody;
  const float height = small ? 24 : 36;
  const Rect pill = around(stage.center(), ui.canvas.text_width(font, words) + height, height);
  ui.canvas.fill(pill, dark.surface, height / 2);
  ui.canvas.text(pill, font, dark.text, words, Align::kCenter);
}

// Three bars that follow a voice.
void draw_voice(Ui& ui, const Rect& box, float dbfs) {
  const float level = level_share(dbfs);
  const float pitch = box.width / 3;
  for (int i = 0; i < 3; ++i) {
    const float tall = i == 1 ? 1.0F : 0.65F;
    const float height = 4 + (box.height - 4) * level * tall;
    const Point center{box.x + (static_cast<float>(i) + 0.5F) * pitch, box.center().y};
    ui.canvas.fill(around(center, pitch / 2, height),
                   level > 0 ? ui.theme.accent_text : ui.theme.border, 1.5F);
  }
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

void draw_person(Ui& ui, const Rect& stage, const Portrait& portrait, float radius) {
  const Person& person = portrait.person;
  const std::string who = person.name.empty() ? "The other person" : person.name;
  if (person.camera_off && !person.shares_screen) {
    draw_absent(ui, stage, person.name, who + "'s camera is off");
    return;
  }
  const Texture& texture = portrait.texture;
  if (texture.handle == nullptr) {
    draw_absent(ui, stage, person.name, "Waiting for the first picture…");
    return;
  }
  const Rect picture =
      fit_inside(static_cast<float>(texture.width), static_cast<float>(texture.height), stage);
  ui.canvas.image(texture, picture, radius);
  draw_age(ui, stage, picture, radius, portrait.captured_at);
}

std::string with_code(const Ui& ui, const std::string& name, const std::string& code) {
  if (!ui.state.panel_open || code.empty()) {
    return name;
  }
  // Of a long name the beginning: the code is what is to be read.
  return short_name(name) + "   " + code;
}

void draw_name_pill(Ui& ui, const Rect& pill, const NamePill& name) {
  const float radius = pill.height / 2;
  ui.canvas.fill(pill, with_alpha(ui.theme.surface, 0.94F), radius);
  Rect inside = pill.inset(radius * 0.75F, 0);
  const Rect sign = inside.cut_left(radius);
  inside.cut_left(radius * 0.45F);
  if (name.muted) {
    draw_icon(ui.canvas, Icon::kMicrophoneOff, sign.center(), radius, ui.theme.trouble_text,
              ui.theme.surface);
  } else {
    draw_voice(ui, around(sign.center(), radius, radius), name.dbfs);
  }
  ui.canvas.text(inside, name.font, ui.theme.text, name.words);
}

float name_pill_width(const Ui& ui, float height, const NamePill& name) {
  return ui.canvas.text_width(name.font, name.words) + height * 1.475F + 1;
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
    // Above a name, which a room has, there may be no place for words.
    const bool tiny = frame.height < (ui.view.room ? 118.0F : 90.0F);
    const char* words = tiny                      ? ""
                        : ui.view.self.camera_off ? "Your camera is off"
                                                  : "No picture yet";
    ui.canvas.text(around({center.x, center.y + (small ? 26.0F : 38.0F)}, frame.width - 8, 18),
                   Font::kSmall, dark.text_muted, words, Align::kCenter);
  }
  ui.canvas.outline(frame, ui.theme.border, 1, radius);
}

}  // namespace cress::ui
