#include "relay/forward/leg.hh"

#include <algorithm>
#include <bit>
#include <utility>

#include "relay/forward/slot_bits.hh"
#include "transport/base/check.hh"

namespace cress::relay {
namespace {

using session::Leave;

// Video leaves this much of the window for audio: the amount of audio in such a period, as in a
// call of two.
constexpr Duration kSoundReserve = 60ms;
// With more than this in the network audio waits for the window, which it may use first.
constexpr DataSize kSoundBacklogMax{1500};
// Audio of several members; older audio is not worth sending.
constexpr DataSize kSoundQueueMax{2400};
// When a frame has waited longer than this for the window, all of it is dropped.
constexpr Duration kWaitLayer = 100ms;
constexpr Duration kWaitBase = 250ms;
constexpr Duration kWaitAnchor = 2500ms;
// No video can be displayed without it, and the next would not be smaller.
constexpr Duration kWaitKeyFrame = 5s;
// The longest chain of anchors that is retransmitted to a receiver that missed it: a key frame is
// smaller than a longer one.
constexpr size_t kChainMax = 8;
// Parity is forwarded to legs with enough loss.
constexpr double kParityLoss = 0.02;
// Added to the size of each waiting item, so that the limit in bytes also limits their number.
constexpr DataSize kItemOverhead{64};
const std::vector<uint16_t> kNone;
// A receiver repeats its request every 300 ms, before the answer can have arrived.
constexpr Duration kRestartInterval = 1s;
// A request this soon after a key frame arrived is taken to have crossed with it.
constexpr Duration kKeyFrameCrossed = 500ms;

DataSize size_of(std::span<const std::byte> bytes) {
  return DataSize{static_cast<int64_t>(bytes.size())};
}

bool is_essential(FrameKind kind) { return kind <= FrameKind::kBase; }

}  // namespace

Leg::Leg(TimePoint now, size_t slot, const RoomOptions& options, RoomStats& stats)
    : slot_(slot),
      options_(options),
      stats_(stats),
      endpoint_(now, options.endpoint, std::make_unique<control::CressControl>(options.control)) {
  endpoint_.open_flow(session::kAudioFlow, {.priority = session::Priority::kAudio,
                                            .report_outcomes = false,
                                            .queue_max = kSoundQueueMax});
  endpoint_.open_flow(session::kControlFlow, {.priority = session::Priority::kControl});
  endpoint_.open_flow(session::kVideoFlow, {.priority = session::Priority::kVideo});
}

void Leg::send_sound(TimePoint now, std::span<const std::byte> message, bool is_silent) {
  (void)sound_reserve(now);
  const DataSize cost = size_of(message) + endpoint_.control().message_overhead();
  sound_[0] += cost;
  carried_rate_.add(cost);
  // Audio below the speaking floor may wait for the window; speech does not, unless the link is
  // full.
  const bool waits = is_silent || endpoint_.control().outstanding(now) > kSoundBacklogMax;
  const Leave leave = waits ? Leave::kWithinWindow : Leave::kNow;
  endpoint_.send_copy(now, session::kAudioFlow, message, leave);
  ++stats_.sounds_out;
}

DataSize Leg::sound_reserve(TimePoint now) {
  if (now - sound_since_ >= kSoundReserve) {
    sound_[1] = now - sound_since_ < 2 * kSoundReserve ? sound_[0] : DataSize{};
    sound_[0] = {};
    sound_since_ = now;
  }
  return sound_[1];
}

Leg::Stream& Leg::stream_of(size_t source) {
  std::unique_ptr<Stream>& stream = streams_.at(source);
  if (!stream) {
    stream = std::make_unique<Stream>();
  }
  return *stream;
}

bool Leg::holds_back(const Source& source, const CachedFrame& anchor) const {
  if (sparse_ != source.slot || anchor.header.key_frame) {
    return false;
  }
  const Lane& lane = streams_.at(source.slot)->essential;
  return anchor.forwarding.at(slot_) != Forwarding::kForwarding ||
         std::ranges::any_of(lane, [&](const Item& item) { return item.frame == anchor.id(); });
}

TimePoint Leg::lowered_at(size_t source) const {
  return streams_.at(source) ? streams_[source]->lowered_at : kTimeZero - 1h;
}

Leg::Carriage Leg::step_carriage() {
  carried_rate_.step();
  steps_waiting_ = waiting_ > DataSize{} ? steps_waiting_ + 1 : 0;
  return {carried_rate_.rate(), steps_waiting_ >= RateMeter::kSteps};
}

FrameKind Leg::level(size_t source) const {
  return streams_.at(source) ? streams_[source]->level : FrameKind::kNone;
}

Forwarding Leg::decide(const Source& source, const CachedFrame& frame) const {
  if (frame.kind > level(source.slot)) {
    return Forwarding::kLeftOut;
  }
  if (frame.header.key_frame) {
    return Forwarding::kForwarding;
  }
  const CachedFrame* reference = source.cache.find(frame.reference_id());
  if (reference == nullptr) {
    return Forwarding::kLeftOut;
  }
  const Forwarding forwarding = reference->forwarding.at(slot_);
  if (forwarding == Forwarding::kForwarding) {
    return reference->whole ? Forwarding::kForwarding : Forwarding::kUndecided;
  }
  return forwarding == Forwarding::kUndecided ? Forwarding::kUndecided : Forwarding::kLeftOut;
}

void Leg::handle_fragment(TimePoint now, Source& source, const FrameCache::Added& added) {
  CachedFrame& frame = *added.frame;
  const Forwarding forwarding = frame.forwarding.at(slot_);
  if (forwarding == Forwarding::kUndecided) {
    reconsider(now, source, frame);
  } else if (forwarding == Forwarding::kForwarding && !frame.forgotten) {
    push(now, source, frame, added.index);
    for (const uint16_t index : added.has_rebuilt ? source.cache.rebuilt() : kNone) {
      push(now, source, frame, index);
    }
  }
}

void Leg::reconsider(TimePoint now, Source& source, CachedFrame& frame) {
  Forwarding& forwarding = frame.forwarding.at(slot_);
  if (forwarding != Forwarding::kUndecided) {
    return;
  }
  const Forwarding decided = decide(source, frame);
  if (decided == Forwarding::kForwarding && sparse_ == source.slot &&
      !streams_.at(source.slot)->essential.empty()) {
    // Until the lane is empty: feed() then takes the newest anchor.
    forwarding = Forwarding::kLeftOut;
    return;
  }
  if (decided == Forwarding::kForwarding &&
      waiting_ + frame.header.frame_size > options_.leg_queue_max) {
    ++overruns_;
    forwarding = Forwarding::kMissed;
  } else if (decided == Forwarding::kForwarding) {
    forward(now, source, frame);
  } else {
    forwarding = decided;
  }
  stats_.frames_left_out += forwarding == Forwarding::kLeftOut ? 1 : 0;
  if (frame.kind == FrameKind::kAnchor && forwarding != Forwarding::kForwarding &&
      forwarding != Forwarding::kUndecided && level(source.slot) >= FrameKind::kAnchor) {
    wants_key_frame_ |= bit(source.slot);  // until resume() finds an anchor
  }
}

void Leg::forward(TimePoint now, Source& source, CachedFrame& frame) {
  frame.forwarding.at(slot_) = Forwarding::kForwarding;
  Stream& stream = stream_of(source.slot);
  if (frame.kind == FrameKind::kAnchor) {
    stream.newest_anchor = std::max(stream.newest_anchor.value_or(0), frame.id());
    wants_key_frame_ &= ~bit(source.slot);
  }
  if (frame.header.key_frame) {
    stream.newest_key = std::max(stream.newest_key.value_or(0), frame.id());
  }
  for (size_t index = 0; index < frame.parts.size(); ++index) {
    if (!frame.parts[index].empty()) {
      push(now, source, frame, static_cast<uint16_t>(index));
    }
  }
}

void Leg::push(TimePoint now, Source& source, const CachedFrame& frame, uint16_t index) {
  if (index >= frame.header.count && (loss_ < kParityLoss || !is_essential(frame.kind))) {
    return;
  }
  Stream& stream = stream_of(source.slot);
  const DataSize size = kItemOverhead + size_of(frame.parts[index]);
  (is_essential(frame.kind) ? stream.essential : stream.extra)
      .push_back(
          {.frame = frame.id(), .index = index, .is_repeat = false, .since = now, .size = size});
  waiting_ += size;
  mark(stream);
}

void Leg::push_repeat(TimePoint now, Stream& stream, const CachedFrame& frame, uint16_t index) {
  const DataSize size = kItemOverhead + size_of(frame.parts[index]);
  stream.essential.push_front(
      {.frame = frame.id(), .index = index, .is_repeat = true, .since = now, .size = size});
  waiting_ += size;
  mark(stream);
}

void Leg::mark(const Stream& stream) {
  const uint64_t rank = bit(stream.rank);
  essential_ = stream.essential.empty() ? essential_ & ~rank : essential_ | rank;
  extra_ = stream.extra.empty() ? extra_ & ~rank : extra_ | rank;
}

// The frame will be incomplete at the other end, and frames that depend on it useless there.
void Leg::miss(Source& source, CachedFrame& frame) {
  frame.forwarding.at(slot_) = Forwarding::kMissed;
  ++stats_.frames_missed;
  bool lost_anchor = frame.kind == FrameKind::kAnchor;
  const uint32_t newest = source.cache.newest().value_or(0);
  for (uint32_t id = frame.id(); is_essential(frame.kind) && id != newest;) {
    ++id;
    CachedFrame* later = source.cache.find(id);
    if (later == nullptr || later->header.key_frame ||
        later->forwarding.at(slot_) != Forwarding::kForwarding) {
      continue;
    }
    const CachedFrame* reference = source.cache.find(later->reference_id());
    if (reference != nullptr && reference->forwarding.at(slot_) == Forwarding::kMissed) {
      later->forwarding.at(slot_) = Forwarding::kMissed;
      ++stats_.frames_missed;
      lost_anchor = lost_anchor || later->kind == FrameKind::kAnchor;
    }
  }
  if (lost_anchor) {
    wants_key_frame_ |= bit(source.slot);  // until resume() finds an anchor
  }
}

void Leg::set_plan(TimePoint now, std::span<const Place> ranked, const Sources& sources) {
  std::array<FrameKind, kLegsMax> before{};
  for (size_t slot = 0; slot < kLegsMax; ++slot) {
    if (streams_.at(slot)) {
      before.at(slot) = std::exchange(streams_[slot]->level, FrameKind::kNone);
    }
  }
  essential_ = 0;
  extra_ = 0;
  sparse_.reset();
  size_t rank = 0;
  for (const Place& place : ranked) {
    Stream& stream = stream_of(place.slot);
    stream.level = place.level;
    stream.lowered_at = place.level < before.at(place.slot) ? now : stream.lowered_at;
    stream.rank = rank;
    if (place.is_sparse) {
      sparse_ = place.slot;
    }
    slot_at_rank_.at(rank++) = static_cast<uint8_t>(place.slot);
    mark(stream);
  }
  for (size_t slot = 0; slot < kLegsMax; ++slot) {
    Source* source = sources.at(slot);
    if (!streams_.at(slot) || source == nullptr) {
      continue;
    }
    const FrameKind level = streams_[slot]->level;
    if (level == FrameKind::kNone) {
      source->watchers &= ~bit(slot_);
      wants_key_frame_ &= ~bit(slot);
      clear(source, *streams_[slot]);
    } else {
      source->watchers |= bit(slot_);
      if (before.at(slot) == FrameKind::kNone) {
        source->cache.settle_forwarding(slot_);
        resume(now, *source);
      }
    }
  }
}

void Leg::forget_source(size_t source) {
  if (!streams_.at(source)) {
    return;
  }
  const size_t rank = streams_[source]->rank;
  if (streams_[source]->level != FrameKind::kNone) {
    essential_ &= ~bit(rank);
    extra_ &= ~bit(rank);
  }
  if (sparse_ == source) {
    sparse_.reset();
  }
  clear(nullptr, *streams_[source]);
  streams_[source].reset();
  wants_key_frame_ &= ~bit(source);
}

void Leg::restart(TimePoint now, Source& source) {
  if (level(source.slot) == FrameKind::kNone) {
    return;
  }
  Stream& stream = stream_of(source.slot);
  const CachedFrame* key = source.cache.find(stream.newest_key.value_or(0));
  if (now - stream.restarted_at < kRestartInterval ||
      (key != nullptr && key->header.key_frame && now - key->began < kKeyFrameCrossed)) {
    return;
  }
  stream.restarted_at = now;
  // A key frame from memory did not help: it may be sealed for those who were in the room before.
  stream.useless_until = std::exchange(stream.resumed_from, std::nullopt);
  source.cache.reset_forwarding(slot_, Forwarding::kLeftOut);
  wants_key_frame_ |= bit(source.slot);
}

void Leg::resume(TimePoint now, Source& source) {
  const auto newest_anchor = source.cache.newest_anchor();
  if (level(source.slot) == FrameKind::kNone) {
    return;
  }
  wants_key_frame_ |= bit(source.slot);
  if (!newest_anchor || waiting_ > options_.leg_queue_max) {
    return;
  }
  Stream& stream = stream_of(source.slot);
  std::vector<CachedFrame*> chain;
  for (CachedFrame* frame = source.cache.find(*newest_anchor);;) {
    if (frame == nullptr) {
      return;
    }
    if (frame->forwarding.at(slot_) == Forwarding::kForwarding && frame->whole) {
      break;
    }
    if (!frame->holds_all() || chain.size() == kChainMax) {
      return;
    }
    chain.push_back(frame);
    if (frame->header.key_frame) {
      if (stream.useless_until && frame->id() <= *stream.useless_until) {
        return;
      }
      stream.resumed_from = frame->id();
      break;
    }
    frame = source.cache.find(frame->reference_id());
  }
  for (auto frame = chain.rbegin(); frame != chain.rend(); ++frame) {
    forward(now, source, **frame);
  }
  wants_key_frame_ &= ~bit(source.slot);
  // Later frames that were left out because of it.
  const uint32_t newest = source.cache.newest().value_or(0);
  for (uint32_t id = *newest_anchor; id != newest;) {
    ++id;
    CachedFrame* frame = source.cache.find(id);
    if (frame == nullptr || !is_essential(frame->kind) ||
        frame->forwarding.at(slot_) != Forwarding::kLeftOut) {
      continue;
    }
    const Forwarding forwarding = decide(source, *frame);
    if (forwarding == Forwarding::kForwarding && frame->holds_all()) {
      forward(now, source, *frame);
    } else if (forwarding != Forwarding::kLeftOut && !frame->forgotten) {
      frame->forwarding.at(slot_) =
          Forwarding::kUndecided;  // it is still arriving, or its reference is
    }
  }
}

bool Leg::is_too_late(TimePoint now, const Item& item, const CachedFrame& frame) {
  const Duration wait_max = frame.header.key_frame             ? kWaitKeyFrame
                            : frame.kind == FrameKind::kAnchor ? kWaitAnchor
                            : frame.kind == FrameKind::kBase   ? kWaitBase
                                                               : kWaitLayer;
  return now - item.since > wait_max;
}

void Leg::pop(Lane& lane) {
  waiting_ -= lane.front().size;
  lane.pop_front();
}

// No further frame of this sender is sent: frames in progress are not finished.
void Leg::clear(Source* source, Stream& stream) {
  for (Lane* lane : {&stream.essential, &stream.extra}) {
    while (!lane->empty()) {
      CachedFrame* frame = source != nullptr ? source->cache.find(lane->front().frame) : nullptr;
      if (frame != nullptr && frame->forwarding.at(slot_) == Forwarding::kForwarding) {
        miss(*source, *frame);
      }
      pop(*lane);
    }
  }
}

// Removes messages from the head of the lane that need not or cannot be sent any more.
void Leg::tidy(TimePoint now, Source* source, Stream& stream, Lane& lane) {
  while (!lane.empty()) {
    const Item& item = lane.front();
    CachedFrame* frame = source != nullptr ? source->cache.find(item.frame) : nullptr;
    const bool goes = frame != nullptr && frame->forwarding.at(slot_) == Forwarding::kForwarding &&
                      item.index < frame->parts.size() && !frame->parts[item.index].empty();
    const bool is_wanted = is_essential(frame != nullptr ? frame->kind : FrameKind::kNone) ||
                           (frame != nullptr && frame->kind <= stream.level);
    if (goes && is_wanted && !is_too_late(now, item, *frame)) {
      return;
    }
    if (frame != nullptr && frame->forwarding.at(slot_) == Forwarding::kForwarding) {
      overruns_ += is_essential(frame->kind) ? 1 : 0;
      miss(*source, *frame);
    }
    pop(lane);
  }
}

std::optional<Leg::Next> Leg::next(TimePoint now, const Sources& sources) {
  while ((essential_ | extra_) != 0) {
    const bool is_extra = essential_ == 0;
    const size_t slot =
        slot_at_rank_.at(static_cast<size_t>(std::countr_zero(is_extra ? extra_ : essential_)));
    Stream& stream = stream_of(slot);
    Lane& lane = is_extra ? stream.extra : stream.essential;
    tidy(now, sources.at(slot), stream, lane);
    if (!lane.empty()) {
      const Item& item = lane.front();
      return Next{slot, &lane, &sources[slot]->cache.find(item.frame)->parts[item.index]};
    }
    mark(stream);
  }
  return std::nullopt;
}

void Leg::feed(TimePoint now, const Sources& sources) {
  if (sparse_ && streams_.at(*sparse_)->essential.empty() && sources.at(*sparse_) != nullptr) {
    Source& source = *sources[*sparse_];
    const CachedFrame* newest = source.cache.find(source.cache.newest_anchor().value_or(0));
    if (newest != nullptr && newest->forwarding.at(slot_) == Forwarding::kLeftOut) {
      resume(now, source);
    }
  }
  if ((essential_ | extra_) == 0) {
    return;
  }
  DataSize room = endpoint_.available_window(now) - sound_reserve(now);
  const DataSize overhead = endpoint_.control().message_overhead();
  while (const auto next_up = next(now, sources)) {
    const DataSize cost = size_of(*next_up->message) + overhead;
    if (cost > room && endpoint_.queued(session::kVideoFlow) > DataSize{}) {
      return;
    }
    room -= cost;
    carried_rate_.add(cost);
    const Item item = next_up->lane->front();
    Stream& stream = *streams_[next_up->slot];
    const session::MessageId id = endpoint_.send_copy(now, session::kVideoFlow, *next_up->message);
    check(id == first_carried_ + carried_.size(), "Leg: message ids have holes");
    carried_.push_back({.source = sources[next_up->slot]->number,
                        .slot = static_cast<uint8_t>(next_up->slot),
                        .is_decided = false,
                        .index = item.index,
                        .frame = item.frame});
    ++stats_.fragments_out;
    stats_.fragments_repeated += item.is_repeat ? 1 : 0;
    pop(*next_up->lane);
    mark(stream);
  }
}

void Leg::expire(TimePoint now, const Sources& sources) {
  for (size_t slot = 0; slot < kLegsMax; ++slot) {
    if (!streams_.at(slot)) {
      continue;
    }
    Stream& stream = *streams_[slot];
    tidy(now, sources.at(slot), stream, stream.essential);
    tidy(now, sources.at(slot), stream, stream.extra);
    if (stream.level != FrameKind::kNone) {
      mark(stream);
    }
  }
}

}  // namespace cress::relay
