#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/ui/kit/icons.hh"
#include "app/ui/kit/widgets.hh"
#include "app/ui/screens/person_view.hh"
#include "app/ui/screens/screens.hh"
#include "app/ui/screens/tiles.hh"

namespace cress::ui {
namespace {

constexpr float kTileRadius = 10;

Texture texture_of(const Ui& ui, const Member& member) {
  const auto at = ui.members.find(member.number);
  return at == ui.members.end() ? Texture{} : at->second;
}

void draw_tile_name(Ui& ui, const Rect& tile, NamePill name) {
  const bool tiny = tile.height < 90;
  const float height = tiny ? 20 : 26;
  const float margin = tiny ? 4 : 8;
  name.font = Font::kSmall;
  const float width = std::min(name_pill_width(ui, height, name), tile.width - 2 * margin);
  draw_name_pill(ui, {tile.x + margin, tile.bottom() - margin - height, width, height}, name);
}

void draw_frame(Ui& ui, const Rect& tile, bool speaks, bool shows_ring) {
  if (speaks) {
    ui.canvas.outline(tile.inset(1.5F), theme_of(ThemeChoice::kDark).accent_text, 3, kTileRadius);
  }
  if (shows_ring) {
    focus_ring(ui, tile.inset(4), kTileRadius);
  }
}

// The pinned member, or what a press would do.
void draw_pin(Ui& ui, const Rect& tile, bool pinned) {
  const Theme& dark = theme_of(ThemeChoice::kDark);
  const float radius = tile.height < 90 ? 10 : 14;
  const Point center{tile.right() - radius - 8, tile.y + radius + 8};
  const Color behind = pinned ? dark.text : dark.surface;
  ui.canvas.fill_circle(center, radius, behind);
  draw_icon(ui.canvas, Icon::kPin, center, radius * 1.15F, pinned ? dark.background : dark.text,
            behind);
}

void draw_member(Ui& ui, const Rect& tile, const Member& member) {
  const Room& room = *ui.view.room;
  const bool pinned = member.number == room.pinned;
  const std::string who = member.person.name.empty() ? "Somebody" : member.person.name;
  const ControlState state = ui.controls.add(
      {.id = "member-" + std::to_string(member.number),
       .label = who,
       .tip = pinned ? "Unpin " + who : "Pin " + who + ": large, and first on a bad link",
       .rect = tile});
  if (state.activated) {
    ui.ask(pinned ? UserAction{Unpin{}} : UserAction{Pin{member.number}});
  }
  ui.canvas.fill(tile, theme_of(ThemeChoice::kDark).surface, kTileRadius);
  draw_person(ui, tile,
              {.person = member.person,
               .texture = texture_of(ui, member),
               .captured_at = member.picture.captured_at},
              kTileRadius);
  const std::string words = member.is_distrusted ? "Not trusted: " + who : who;
  draw_tile_name(ui, tile,
                 {.words = with_code(ui, words, member.key_code),
                  .muted = member.person.muted,
                  .dbfs = member.level_dbfs});
  const TimePoint rests_at = ui.state.active_at + kHideAfter;
  const bool is_meant = (state.hovered && ui.now < rests_at) || state.shows_ring;
  if (pinned || is_meant) {
    draw_pin(ui, tile, pinned);
    ui.wake_at(is_meant ? rests_at : kNever);
  }
  draw_frame(ui, tile, member.number == room.speaker, state.shows_ring);
}

void draw_own_tile(Ui& ui, const Rect& tile) {
  draw_own(ui, tile, kTileRadius);
  const bool heard = !ui.view.self.muted || ui.view.push_to_talk;
  draw_tile_name(ui, tile,
                 {.words = with_code(ui, "You", ui.view.room->key_code),
                  .muted = !heard,
                  .dbfs = ui.view.microphone_dbfs});
  const bool is_alone = ui.view.room->others.empty();
  draw_frame(ui, tile, ui.view.room->self_speaks && !is_alone, false);
}

// Null: oneself, always last.
using People = std::vector<const Member*>;

void draw_tile(Ui& ui, const Rect& tile, const Member* member) {
  if (member != nullptr) {
    draw_member(ui, tile, *member);
  } else {
    draw_own_tile(ui, tile);
  }
}

// The speaker has a place in any case.
People with_a_place(const Room& room, People people, size_t places) {
  const auto speaker = std::ranges::find_if(
      people, [&](const Member* m) { return m != nullptr && m->number == room.speaker; });
  if (speaker != people.end() && speaker - people.begin() >= static_cast<ptrdiff_t>(places)) {
    std::iter_swap(speaker, people.begin() + static_cast<ptrdiff_t>(places) - 1);
  }
  people.resize(std::min(people.size(), places));
  return people;
}

void draw_left_out(Ui& ui, const Rect& large, size_t count) {
  if (count == 0) {
    return;
  }
  const std::string words = "+ " + std::to_string(count) + " more";
  const float width = ui.canvas.text_width(Font::kSmall, words) + 24;
  const Rect pill{large.right() - width - 8, large.bottom() - 34, width, 26};
  ui.canvas.fill(pill, with_alpha(ui.theme.surface, 0.94F), 13);
  ui.canvas.text(pill, Font::kSmall, ui.theme.text, words, Align::kCenter);
}

// The video's own shape: the frame is then around the video, not around the dark border.
Rect large_tile(const Ui& ui, const Rect& room, const Member& member) {
  const Texture texture = texture_of(ui, member);
  if (texture.handle == nullptr || (member.person.camera_off && !member.person.shares_screen)) {
    return fit_inside(kTileShape, 1, room);
  }
  return fit_inside(static_cast<float>(texture.width), static_cast<float>(texture.height), room);
}

void draw_alone(Ui& ui, const Rect& area) {
  const std::string words = "Nobody else is here yet.";
  constexpr float kCopyWidth = 140;
  const float text = ui.canvas.text_width(Font::kBody, words);
  const float both = text + 20 + 16 + kCopyWidth + 8;
  // In a narrow window the words stand above the button, else to its left.
  const bool is_narrow = both > area.width - 16;
  const float height = is_narrow ? 84 : 56;
  const Rect box = around({area.center().x, area.bottom() - 18 - height / 2},
                          is_narrow ? text + 32 : both, height);
  ui.canvas.fill(box, with_alpha(ui.theme.surface, 0.94F), 16);
  Rect inside = box.inset(8, 8);
  if (is_narrow) {
    ui.canvas.text(inside.cut_top(28), Font::kBody, ui.theme.text, words, Align::kCenter);
    inside = around(inside.center(), kCopyWidth, inside.height);
  }
  const bool copied = ui.state.copied_at && ui.now - *ui.state.copied_at < 3s;
  if (copied) {
    ui.wake_at(*ui.state.copied_at + 3s);
  }
  if (button(ui, inside.cut_right(kCopyWidth),
             {.id = "copy",
              .label = copied ? "Copied" : "Copy link",
              .tip = "Copy the room's link (Ctrl+C)",
              .weight = Weight::kPrimary,
              .icon = copied ? Icon::kCheck : Icon::kCopy})) {
    ui.state.copies_link = true;
  }
  inside.cut_left(12);
  if (!is_narrow) {
    ui.canvas.text(inside, Font::kBody, ui.theme.text, words);
  }
}

void tell_tiles(Ui& ui, size_t pictures, float tallest) {
  const Scale scale = ui.canvas.scale();
  const ShowTiles tiles{.pictures = static_cast<uint32_t>(pictures),
                        .height = static_cast<uint32_t>(
                            std::lround(std::max(0.0F, tallest) * scale.unit * scale.pixels))};
  if (ui.state.tiles != tiles) {
    ui.state.tiles = tiles;
    ui.ask(tiles);
  }
}

void draw_spotlight(Ui& ui, const Rect& area, const Member& large, const People& others) {
  const Room& room = *ui.view.room;
  const Spotlight spot = spotlight_of(others.size(), area);
  const Rect tile = large_tile(ui, spot.large, large);
  draw_member(ui, tile, large);
  const People shown = with_a_place(room, others, spot.strip.size());
  for (size_t i = 0; i < shown.size(); ++i) {
    draw_tile(ui, spot.strip[i], shown[i]);
  }
  draw_left_out(ui, tile, others.size() - shown.size());
  tell_tiles(ui,
             1 + static_cast<size_t>(std::ranges::count_if(
                     shown, [](const Member* member) { return member != nullptr; })),
             tile.height);
}

}  // namespace

void draw_room(Ui& ui, const Rect& area) {
  const Room& room = *ui.view.room;
  const Member* large = nullptr;
  People people;
  for (const Member& member : room.others) {
    if (member.number == room.large) {
      large = &member;
    } else {
      people.push_back(&member);
    }
  }
  people.push_back(nullptr);
  if (large != nullptr) {
    draw_spotlight(ui, area, *large, people);
    return;
  }
  const size_t places = places_in(people.size(), area);
  const size_t left_out = people.size() - places;
  if (left_out > 0) {
    people.pop_back();  // oneself has the last place
    people = with_a_place(room, std::move(people), places - 1);
    people.push_back(nullptr);
  }
  const std::vector<Rect> tiles = grid_of(people.size(), area);
  for (size_t i = 0; i < people.size(); ++i) {
    draw_tile(ui, tiles[i], people[i]);
  }
  if (room.others.empty()) {
    draw_alone(ui, area);
  }
  draw_left_out(ui, area, left_out);
  tell_tiles(ui, people.size() - 1, tiles.front().height);
}

}  // namespace cress::ui
