#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "transport/base/time.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

/// Parity that leaves some time after its frame, so that one burst of losses does not take both:
/// for 10 s after frames were lost twice within 10 s, over a round trip of 100 ms or more. It is
/// worth its delay there because a loss is known late, and all frames sent until then refer to the
/// lost one (docs/experiments/0045).
/// Messages wait here because the endpoint sends in the order in which it got them. Threads: none
/// inside; one owner. `now` never goes back.
class LateParity {
 public:
  struct Fragment {
    uint32_t frame_id = 0;
    std::vector<std::byte> message;
    session::Leave leave = session::Leave::kWithinWindow;
  };

  /// A frame was lost despite its parity.
  void handle_frame_lost(TimePoint now);
  /// How long after its frame parity leaves now; zero: with it.
  Duration lateness(TimePoint now, Duration round_trip) const;

  /// Holds it until `due`, and until those held before it have left.
  void hold(TimePoint due, Fragment fragment);
  /// The next one that is due, in the order in which they came.
  std::optional<Fragment> poll_due(TimePoint now);

 private:
  struct Held {
    TimePoint due{};
    Fragment fragment;
  };
  std::optional<TimePoint> lost_at_;   // the first frame of the last group
  std::optional<TimePoint> again_at_;  // the last group that came soon after another
  std::deque<Held> held_;  // of the last frames, within the longest lateness and one picture
};

}  // namespace cress::app
