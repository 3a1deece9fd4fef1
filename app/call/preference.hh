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

/// How long a frame that comes early waits for display, so that frames come evenly. If frames may
/// wait (`most` > 0), then for 5 s after a pause the newest also waits until the next one comes, at
/// most until 120 ms after the frame before it was displayed.
struct PlayoutWait {
  /// Longer than any call.
  static constexpr Duration kAlways = std::chrono::hours{24 * 365};

  /// At most so long; zero: no frame waits.
  Duration most{};
  /// Frames wait only for so long after an uneven one, which the link held up for longer than the
  /// one before it (VideoReceiver). Where frames come evenly, none is delayed.
  Duration after_uneven = kAlways;
  /// Where frames come unevenly again and again, the times after them add up to at most this.
  Duration after_uneven_most = kAlways;
};

/// How fine a frame gets where there is more window than it needs. Finer frames are sharper, and
/// take longer to pass: quantizer 4 has 1.5 times the bytes of 5, for 0.9 dB of SSIM.
struct Plenty {
  /// Not finer than this (VP8 quantizer, 0 finest).
  int finest_quantizer = 4;
  /// Finer than VideoSenderOptions::quantizer_min only if expected to take at most this share of
  /// the window.
  double share = 0.25;
};

/// What a preference means; the numbers are in preference.cc, how they were found in
/// docs/experiments/0015-motion-for-sharpness.md, 0016, 0018, 0022, 0023, 0029, 0034 and 0035.
/// Without one, a frame may fill the window, as with kSharp.
struct MotionTrade {
  /// At most this share (0..1] of the window goes into one frame. The rest lets the next frames
  /// leave when the forecast is lowered: less delay and fewer stills, for larger quantizers. The
  /// share grows while no frame leaves.
  double frame_share = 1;
  /// The same where the link delivers evenly (control::Control::steadiness), at least as much.
  double frame_share_steady = 1;
  Plenty plenty{};
  /// The same where the link delivers evenly, or others would take what is left of it.
  Plenty plenty_steady{};
  /// While the window is closed a small frame leaves this often ...
  Duration small_frame_interval = 200ms;
  /// ... or less often, at most this far apart: the interval grows in proportion to the bytes in
  /// the network, in units of small_frame_unit, or to their square (by_square). So many leave in a
  /// short pause and few into a dying link.
  Duration small_frame_interval_max = 500ms;
  /// The unit: what the link usually carries in this time, at least 1500 bytes.
  Duration small_frame_unit{};
  bool by_square = false;
  /// A small frame may take what the link usually carries in this time, at least 300 bytes.
  Duration small_frame_length{};
  /// How much a frame that is too coarse, or skipped, counts as a need for a smaller size while the
  /// window is closed, 0..1: silences end, and then the link carries what it did before. It counts
  /// more where the window is often closed.
  double small_frame_need = 1;
  /// small_frame_interval_max as soon as audio itself has to wait for the window.
  bool spares_sound = false;
  PlayoutWait playout{};
};

MotionTrade trade_of(Preference preference);

}  // namespace cress::app
