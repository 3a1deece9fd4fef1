#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// A frozen picture must be older than this before that is displayed.
inline constexpr Duration kStaleAfter = 1s;

/// Another person.
struct Portrait {
  const Person& person;
  Texture texture;
  std::optional<TimePoint> captured_at;
};
/// Their video with its aspect ratio kept, or the reason why there is none; marks a frozen picture.
/// Corners are rounded.
void draw_person(Ui& ui, const Rect& stage, const Portrait& portrait, float radius = 0);

struct NamePill {
  std::string words;
  bool muted = false;
  float dbfs = kSilenceDbfs;  ///< how loud they are
  Font font = Font::kBody;
};
/// While the panel is open, the name with the code that people read to each other.
std::string with_code(const Ui& ui, const std::string& name, const std::string& code);
/// A name that is readable on any picture, and whether they are muted. Text wider than it is
/// truncated.
void draw_name_pill(Ui& ui, const Rect& pill, const NamePill& name);
float name_pill_width(const Ui& ui, float height, const NamePill& name);

/// The own picture, mirrored (a shared screen is not), or that the camera is off. Corners are
/// rounded.
void draw_own(Ui& ui, const Rect& frame, float radius);

/// The first letter of a name, in any alphabet; "?" if it is empty.
std::string_view initial(std::string_view name);

}  // namespace cress::ui
