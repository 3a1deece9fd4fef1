#pragma once

#include <string>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::ui {

/// The measurements of a call at one instant: the input of plain words and the numbers of the live
/// panel. Plain data; everything is seen from this end, "up" being what it sends.
struct LinkHealth {
  /// The other person's name in sentences; empty: "them".
  std::string peer_name;
  /// The current forecast of the link, from here and to here.
  DataRate uplink_forecast = DataRate::kilobits_per_second(2000);
  DataRate downlink_forecast = DataRate::kilobits_per_second(2000);
  /// Over the last second.
  DataRate sent;
  DataRate received;
  /// The bytes that may be in flight (the window).
  DataSize window;
  /// Estimate of a datagram's one-way delay: half the smoothed round trip.
  Duration one_way_delay{};
  /// From their camera to this screen.
  Duration frame_delay{};
  /// Shares (0..1) over the last seconds.
  double loss_up = 0;
  double loss_down = 0;
  /// Time since anything was received from the other side, although something was due.
  Duration outage{};
  /// Time for which none of our frames could be sent, because the link had no room for one; 0 while
  /// frames are sent, and while the camera is off.
  Duration picture_skipped{};
  bool muted = false;
  /// The microphone picks up the user's voice; with `muted`, the others cannot hear it.
  bool speaking = false;
  bool microphone_lost = false;
  bool speaker_lost = false;
  bool camera_lost = false;
  /// Share (0..1) of own frames that were late because the computer was too slow.
  double late_pictures = 0;
  friend bool operator==(const LinkHealth&, const LinkHealth&) = default;
};

}  // namespace cress::ui
