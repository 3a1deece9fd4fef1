#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/ui/kit/ui.hh"

namespace cress::ui {

/// How old the picture that stands still must be before this is said.
inline constexpr Duration kStaleAfter = 1s;

/// Somebody else.
struct Portrait {
  const Person& person;
  Texture texture;
  std::optional<TimePoint> captured_at;
};
/// Their picture with its aspect kept, or why there is none; says when it stands. Corners are
/// rounded.
void draw_person(Ui& ui, const Rect& stage, const Portrait& portrait, float radius = 0);

struct NamePill {
  std::string words;
  bool muted = false;
  float dbfs = kSilenceDbfs;  ///< how loud they are
  Font font = Font::kBody;
};
/// A name that can be read on any picture, and whether they are heard. What does not fit its width
/// is cut.
void draw_name_pill(Ui& ui, const Rect& pill, const NamePill& name);
float name_pill_width(const Ui& ui, float height, const NamePill& name);

/// Oneself, mirrored (a shared screen is not), or that the camera is off. Corners are rounded.
void draw_own(Ui& ui, const Rect& frame, float radius);

/// The first letter of a name, any alphabet; "?" of none.
std::string_view initial(std::string_view name);

}  // namespace cress::ui
