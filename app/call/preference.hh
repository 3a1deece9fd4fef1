#pragma once

#include <optional>
#include <string_view>

#include "transport/base/time.hh"

namespace cress::app {

/// What the viewer should have where a link does not give everything: frames that keep moving, or
/// frames that are sharp. Text: motion, balanced, sharp.
enum class Preference { kMotion, kBalanced, kSharp };
inline constexpr Preference kUsualPreference = Preference::kBalanced;

/// Errors: nullopt for another text.
std::optional<Preference> parse_preference(std::string_view text);

/// What a preference means (docs/experiments/0015-motion-for-sharpness.md). Without one, a
/// frame may fill the window, as with kSharp.
struct MotionTrade {
  /// At most this share (0..1] of the window goes into one frame. The rest lets the next frames
  /// leave when the forecast is lowered: less delay and fewer stills, for larger quantizers.
  double frame_share = 1;
  /// While the window is closed a small frame leaves this often ...
  Duration small_frame_interval = 200ms;
  /// ... and less often, down to this, the more bytes are in the network: in proportion, or to
  /// their square, so that many leave in a short pause and few into a dying link.
  Duration small_frame_interval_max = 500ms;
  bool by_square = false;
  /// As rarely as that as soon as audio itself has to wait for the window.
  bool spares_sound = false;
  /// A frame that comes early waits for display at most this long, so that frames come evenly.
  Duration playout_max{};
};

MotionTrade trade_of(Preference preference);

}  // namespace cress::app
