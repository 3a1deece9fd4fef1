// What becomes of a leg's messages, and which of the lost ones are sent again.

#include "relay/forward/leg.hh"

namespace cress::relay {
namespace {

// A base frame older than this is not retransmitted: the next anchor arrives sooner.
constexpr Duration kRepeatBase = 400ms;
constexpr double kLossMessages = 200;

}  // namespace

bool Leg::is_worth_repeating(TimePoint now, const Stream& stream, const CachedFrame& frame) {
  if (stream.level == FrameKind::kNone) {
    return false;
  }
  switch (frame.kind) {
    case FrameKind::kAnchor:
      return stream.newest_key.value_or(0) <= frame.id();
    case FrameKind::kBase:
      return now - frame.began < kRepeatBase && stream.newest_anchor.value_or(0) < frame.id();
    default:
      return false;
  }
}

void Leg::handle_loss(TimePoint now, const Carried& carried, const Sources& sources) {
  Source* source = sources.at(carried.slot);
  CachedFrame* frame = source != nullptr && source->number == carried.source
                           ? source->cache.find(carried.frame)
                           : nullptr;
  if (frame == nullptr || frame->forwarding.at(slot_) != Forwarding::kForwarding ||
      carried.index >= frame->header.count) {  // parity was only a precaution
    return;
  }
  Stream& stream = stream_of(carried.slot);
  if (!frame->forgotten && is_worth_repeating(now, stream, *frame)) {
    push_repeat(now, stream, *frame, carried.index);
  } else {
    miss(*source, *frame);
    resume(now, *source);
  }
}

void Leg::handle_outcome(TimePoint now, const session::MessageOutcome& outcome,
                         const Sources& sources) {
  if (outcome.id < first_carried_ || outcome.id - first_carried_ >= carried_.size()) {
    return;
  }
  Carried& carried = carried_[outcome.id - first_carried_];
  carried.is_decided = true;
  const bool arrived = outcome.kind == session::MessageOutcome::Kind::kDelivered;
  if (outcome.kind != session::MessageOutcome::Kind::kDropped) {
    loss_ += ((arrived ? 0.0 : 1.0) - loss_) / kLossMessages;
  }
  if (!arrived) {
    handle_loss(now, carried, sources);
  }
  while (!carried_.empty() && carried_.front().is_decided) {
    carried_.pop_front();
    ++first_carried_;
  }
}

}  // namespace cress::relay
