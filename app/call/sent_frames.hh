#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

/// The frames whose fragments are in the network, and what follows from the loss of one. Losses up
/// to a frame's parity cost nothing; beyond it each lost fragment is given out to be sent again,
/// while it may still arrive before the frames after it have been given up (media::FrameClock).
/// Bounded like the endpoint's own record of messages. Threads: none inside; one owner.
class SentFrames {
 public:
  /// `repairs`: whether lost fragments are sent again.
  explicit SentFrames(bool repairs) : repairs_(repairs) {}
  bool repairs() const { return repairs_; }

  /// The frame is being sent and survives the loss of as many fragments as it has parity. Ids
  /// ascend.
  void begin(TimePoint captured, uint32_t frame_id, int parity);
  /// A fragment of the frame was sent as this message of the video flow; message ids ascend without
  /// gaps. `fragment`: its bytes; without repairs they are not needed.
  void add(session::MessageId message_id, uint32_t frame_id, std::vector<std::byte> fragment);

  struct Fragment {
    uint32_t frame_id = 0;
    std::vector<std::byte> message;
  };
  struct Consequence {
    /// The frame cannot be rebuilt from what has arrived.
    std::optional<uint32_t> lost{};
    /// To be sent now, and reported with add().
    std::optional<Fragment> again{};
  };
  /// `room`: what may be sent at once.
  Consequence handle_outcome(TimePoint now, const session::MessageOutcome& outcome, DataSize room);
  /// Frames of which a message's outcome is unknown.
  size_t frames() const { return frames_.size(); }

 private:
  struct Frame {
    TimePoint captured{};
    int spare = 0;  // fragments that may still be lost
    bool is_lost = false;
    size_t carried = 0;  // messages whose outcome is unknown
  };
  struct Carried {
    uint32_t frame_id = 0;
    std::vector<std::byte> fragment;  // empty if it is never sent again
  };
  Consequence handle_loss(TimePoint now, Carried& carried, DataSize room, bool in_network);

  bool repairs_;
  // What each message carries, from first_carried_ on, until its outcome is known.
  std::deque<Carried> carried_;
  session::MessageId first_carried_ = 0;
  std::map<uint32_t, Frame> frames_;  // those in carried_
};

}  // namespace cress::app
