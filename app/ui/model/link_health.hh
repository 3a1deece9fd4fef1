#pragma once

#include <string>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::ui {

/// What a call measures about itself, at one instant: the input of plain words and the numbers of
/// the live panel. Plain data; everything is seen from this end, "up" being what it sends.
struct LinkHealth {
  /// What the other person is called in sentences; empty: "them".
  std::string peer_name;
  /// What the link is forecast to carry now, from here and to here.
  DataRate uplink_forecast = DataRate::kilobits_per_second(2000);
  DataRate downlink_forecast = DataRate::kilobits_per_second(2000);
  /// Over the last second.
  DataRate sent;
  DataRate received;
  /// What may be on its way at once (the safe window).
  DataSize window;
  /// Of a datagram from there to here, queues included.
  Duration one_way_delay{};
  /// From their camera to this screen.
  Duration frame_delay{};
  /// Shares (0..1) over the last seconds.
  double loss_up = 0;
  double loss_down = 0;
  /// Time since anything was heard from the other side, though something was due.
  Duration outage{};
  /// Time for which no picture of ours could go, because the link had no room for one; 0 while they
  /// go, and while the camera is off.
  Duration picture_skipped{};
  bool muted = false;
  /// The own voice is heard by the microphone; with `muted`, the person talks to nobody.
  bool speaking = false;
  bool microphone_lost = false;
  bool speaker_lost = false;
  bool camera_lost = false;
  /// Share (0..1) of own pictures that were not ready in time because the computer was too slow.
  double late_pictures = 0;
  friend bool operator==(const LinkHealth&, const LinkHealth&) = default;
};

}  // namespace cress::ui
