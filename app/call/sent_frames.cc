#include "app/call/sent_frames.hh"

#include <utility>

namespace cress::app {
namespace {

// A fragment of an older frame is not sent again: it would arrive after the frame that the encoder
// makes in its place.
constexpr Duration kRepairAgeMax = 120ms;

}  // namespace

void SentFrames::begin(TimePoint captured, uint32_t frame_id, int parity) {
  frames_[frame_id] = {.captured = captured, .spare = parity};
}

void SentFrames::add(session::MessageId message_id, uint32_t frame_id,
                     std::vector<std::byte> fragment) {
  if (carried_.empty()) {
    first_carried_ = message_id;
  }
  ++frames_[frame_id].carried;
  carried_.push_back({frame_id, std::move(fragment)});
}

SentFrames::Consequence SentFrames::handle_outcome(TimePoint now,
                                                   const session::MessageOutcome& outcome,
                                                   DataSize room) {
  using Kind = session::MessageOutcome::Kind;
  Consequence consequence;
  if (outcome.id < first_carried_ || outcome.id - first_carried_ >= carried_.size()) {
    return consequence;
  }
  if (outcome.kind != Kind::kDelivered) {
    consequence =
        handle_loss(now, carried_[outcome.id - first_carried_], room, outcome.kind == Kind::kLost);
  }
  if (outcome.kind != Kind::kDropped) {
    // Outcomes of sent messages arrive in order; messages dropped from the queue are younger.
    for (; first_carried_ <= outcome.id; ++first_carried_) {
      const uint32_t frame_id = carried_.front().frame_id;
      const bool goes_on = consequence.again && consequence.again->frame_id == frame_id;
      if (--frames_[frame_id].carried == 0 && !goes_on) {
        frames_.erase(frame_id);
      }
      carried_.pop_front();
    }
  }
  return consequence;
}

SentFrames::Consequence SentFrames::handle_loss(TimePoint now, Carried& carried, DataSize room,
                                                bool in_network) {
  Frame& frame = frames_[carried.frame_id];
  if (frame.spare > 0) {
    --frame.spare;
    return {};
  }
  Consequence consequence;
  if (!std::exchange(frame.is_lost, true)) {
    consequence.lost = carried.frame_id;
  }
  const DataSize size{static_cast<int64_t>(carried.fragment.size())};
  if (repairs_ && in_network && now - frame.captured <= kRepairAgeMax && size <= room) {
    consequence.again = Fragment{carried.frame_id, std::move(carried.fragment)};
  }
  return consequence;
}

}  // namespace cress::app
