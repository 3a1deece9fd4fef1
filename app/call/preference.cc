#include "app/call/preference.hh"

namespace cress::app {

std::optional<Preference> parse_preference(std::string_view text) {
  if (text == "motion") {
    return Preference::kMotion;
  }
  if (text == "balanced") {
    return Preference::kBalanced;
  }
  return text == "sharp" ? std::optional{Preference::kSharp} : std::nullopt;
}

MotionTrade trade_of(Preference preference) {
  switch (preference) {
    case Preference::kMotion:
      return {.frame_share = 1.0 / 3,
              .frame_share_steady = 2.0 / 3,
              .plenty = {.finest_quantizer = 5, .share = 0.22},
              .small_frame_interval = 33ms,
              .small_frame_interval_max = 132ms,
              .small_frame_unit = 100ms,
              .small_frame_length = 1500us,
              .playout = {.most = 60ms}};
    case Preference::kBalanced:
      return {.frame_share = 0.4,
              .frame_share_steady = 2.0 / 3,
              .plenty = {.finest_quantizer = 5, .share = 0.22},
              .small_frame_interval = 33ms,
              .small_frame_unit = 115ms,
              .by_square = true,
              .small_frame_length = 2ms,
              .small_frame_need = 0.1,
              .spares_sound = true,
              .playout = {.most = 90ms, .after_uneven = 3s, .after_uneven_most = 20s}};
    case Preference::kSharp:
      break;
  }
  return {};
}

}  // namespace cress::app
