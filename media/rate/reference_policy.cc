#include "media/rate/reference_policy.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

constexpr std::array<ReferenceBuffer, 2> kSlotBuffers{ReferenceBuffer::kGolden,
                                                      ReferenceBuffer::kAlternate};

size_t slot_of(ReferenceBuffer buffer) { return buffer == ReferenceBuffer::kGolden ? 0 : 1; }

}  // namespace

ReferencePlan ReferenceChoice::plan() const {
  return {.read_last = reads == ReferenceBuffer::kLast,
          .read_golden = reads == ReferenceBuffer::kGolden,
          .read_alternate = reads == ReferenceBuffer::kAlternate,
          .replace_last = temporal_layer == 0,
          .replace_golden = candidate_for == ReferenceBuffer::kGolden,
          .replace_alternate = candidate_for == ReferenceBuffer::kAlternate,
          .update_entropy = false};
}

ReferencePolicy::ReferencePolicy(const ReferencePolicyOptions& options) : options_(options) {
  check(options.temporal_layers >= 1 && options.temporal_layers <= kTemporalLayersMax,
        "ReferencePolicy: number of layers out of range");
  check(options.anchor_interval >= 0, "ReferencePolicy: negative interval");
}

ReferenceChoice ReferencePolicy::next() const {
  const ReferenceChoice key_frame{.key_frame = true, .anchor = options_.anchor_interval > 0};
  if (key_frame_wanted_) {
    return key_frame;
  }
  ReferenceChoice choice;
  if (last_) {
    choice.reference_id = *last_;
    choice.temporal_layer = next_layer();
  } else {
    const std::optional<size_t> slot = known_slot() ? known_slot() : newest_slot();
    if (!slot) {
      return key_frame;
    }
    choice.reads = kSlotBuffers.at(*slot);
    choice.reference_id = slots_.at(*slot)->id;
  }
  if (choice.temporal_layer == 0 && options_.anchor_interval > 0) {
    choose_anchor(choice);
  } else if (choice.temporal_layer == 0) {
    const std::optional<size_t> free = free_slot();
    // A frame that reads the oldest of two pending frames must not overwrite it.
    if (free && (choice.reads == ReferenceBuffer::kLast || slot_of(choice.reads) != *free)) {
      choice.candidate_for = kSlotBuffers.at(*free);
    }
  }
  return choice;
}

bool ReferencePolicy::anchor_is_due() const {
  const bool is_there = std::ranges::any_of(
      slots_, [this](const std::optional<Slot>& slot) { return slot && slot->id == anchor_id_; });
  return !is_there || since_anchor_ >= options_.anchor_interval;
}

// Makes `choice`, of layer 0, an anchor if it should be one.
void ReferencePolicy::choose_anchor(ReferenceChoice& choice) const {
  std::optional<size_t> free = free_slot();
  const std::optional<size_t> known = known_slot();
  // A frame that reads K (the newest slot known to be decoded) overwrites a newer candidate: later
  // anchors must not read a candidate that a receiver of this frame may never have received.
  const auto passes = [this](size_t slot) {
    const std::optional<Slot>& other = slots_.at(1 - slot);
    return other && !other->decoded && other->id > slots_.at(slot)->id;
  };
  const bool passes_candidate = !last_ && known && passes(*known);
  // A candidate whose report is that late is held back because some receiver has not got it yet.
  const bool is_held_back = known && !free && since_anchor_ >= 2 * options_.anchor_interval;
  if (passes_candidate || is_held_back) {
    free = 1 - *known;
  }
  if (!free || !(anchor_is_due() || passes_candidate)) {
    return;
  }
  const std::optional<Slot>& spare = slots_.at(1 - *free);
  if (!spare) {
    return;  // an anchor could read nothing: the next loss leads to a key frame
  }
  choice.anchor = true;
  choice.reads = kSlotBuffers.at(1 - *free);
  choice.reference_id = spare->id;
  choice.candidate_for = kSlotBuffers.at(*free);
}

void ReferencePolicy::handle_sent(uint32_t frame_id, const ReferenceChoice& choice) {
  check(sent_.empty() || frame_id > sent_.back().id, "ReferencePolicy: frame ids must grow");
  check(choice.key_frame || choice == next(), "ReferencePolicy: coded by an outdated choice");
  ++sent_count_;
  ++since_base_;
  if (choice.key_frame) {
    sent_.clear();
    forgotten_.reset();
    key_frame_wanted_ = false;
    key_frame_id_ = frame_id;
    slots_.fill(Slot{.id = frame_id, .sent_count = sent_count_});
  } else if (choice.candidate_for) {
    slots_.at(slot_of(*choice.candidate_for)) = Slot{.id = frame_id, .sent_count = sent_count_};
  }
  if (choice.temporal_layer == 0) {
    last_ = frame_id;
    since_base_ = 1;
    ++since_anchor_;
  }
  if (choice.key_frame || choice.anchor) {
    anchor_id_ = frame_id;
    since_anchor_ = 1;
  }
  if (sent_.size() == kFramesMax) {
    if (sent_.front().outcome == Outcome::kPending) {
      forgotten_ = sent_.front().id;
    }
    sent_.pop_front();
  }
  sent_.push_back(
      {.id = frame_id,
       .reference_id = choice.key_frame ? std::nullopt : std::optional{choice.reference_id}});
}

void ReferencePolicy::handle_rejected(const ReferenceChoice& choice) {
  if (!choice.key_frame && choice.candidate_for) {
    slots_.at(slot_of(*choice.candidate_for)).reset();
  }
}

void ReferencePolicy::handle_decoded(uint32_t frame_id) {
  for (Sent* sent = find(frame_id); sent != nullptr && sent->outcome == Outcome::kPending;) {
    sent->outcome = Outcome::kDecoded;
    sent = sent->reference_id ? find(*sent->reference_id) : nullptr;
  }
  for (std::optional<Slot>& slot : slots_) {
    if (slot && !slot->decoded) {
      slot->decoded = is_decoded(slot->id);
    }
  }
}

void ReferencePolicy::handle_lost(uint32_t frame_id) {
  if (Sent* sent = find(frame_id); sent != nullptr) {
    if (sent->outcome != Outcome::kPending) {
      return;
    }
    sent->outcome = Outcome::kLost;
  } else if (forgotten_ && frame_id <= *forgotten_ && frame_id >= key_frame_id_) {
    for (Sent& pending : sent_) {
      pending.outcome = pending.outcome == Outcome::kPending ? Outcome::kLost : pending.outcome;
    }
    for (std::optional<Slot>& slot : slots_) {
      if (slot && !slot->decoded) {
        slot.reset();
      }
    }
  } else {
    return;
  }
  spread_loss();
}

void ReferencePolicy::refer_to_known() {
  if (options_.anchor_interval == 0 && known_slot()) {
    last_.reset();
  }
}

bool ReferencePolicy::is_decoded(uint32_t frame_id) const {
  const Sent* sent = find(frame_id);
  return sent != nullptr && sent->outcome == Outcome::kDecoded;
}

const ReferencePolicy::Sent* ReferencePolicy::find(uint32_t frame_id) const {
  const auto at = std::ranges::lower_bound(sent_, frame_id, {}, &Sent::id);
  return at != sent_.end() && at->id == frame_id ? &*at : nullptr;
}

ReferencePolicy::Sent* ReferencePolicy::find(uint32_t frame_id) {
  const auto at = std::ranges::lower_bound(sent_, frame_id, {}, &Sent::id);
  return at != sent_.end() && at->id == frame_id ? &*at : nullptr;
}

// References are older than the frames that refer to them: one forward pass reaches all
// descendants.
void ReferencePolicy::spread_loss() {
  const auto is_lost = [&](uint32_t id) {
    const Sent* sent = find(id);
    return sent != nullptr && sent->outcome == Outcome::kLost;
  };
  for (Sent& sent : sent_) {
    if (sent.outcome == Outcome::kPending && sent.reference_id && is_lost(*sent.reference_id)) {
      sent.outcome = Outcome::kLost;
    }
  }
  for (std::optional<Slot>& slot : slots_) {
    if (slot && is_lost(slot->id)) {
      slot.reset();
    }
  }
  if (last_ && is_lost(*last_)) {
    last_.reset();
  }
}

std::optional<size_t> ReferencePolicy::known_slot() const {
  std::optional<size_t> known;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_.at(i) && slots_.at(i)->decoded &&
        (!known || slots_.at(i)->id > slots_.at(*known)->id)) {
      known = i;
    }
  }
  return known;
}

std::optional<size_t> ReferencePolicy::newest_slot() const {
  std::optional<size_t> newest;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_.at(i) && (!newest || slots_.at(i)->id > slots_.at(*newest)->id)) {
      newest = i;
    }
  }
  return newest;
}

// The one of the two that will not be read: empty, the older of two decoded frames, a copy of the
// other's frame, or a candidate without a report.
std::optional<size_t> ReferencePolicy::free_slot() const {
  const std::optional<size_t> known = known_slot();
  for (size_t i = 0; i < slots_.size(); ++i) {
    const std::optional<Slot>& slot = slots_.at(i);
    const std::optional<Slot>& other = slots_.at(1 - i);
    if (known == i) {
      continue;
    }
    if (!slot || slot->decoded || (other && other->id == slot->id) ||
        (other && sent_count_ - slot->sent_count >= kCandidateAgeMax &&
         slot->sent_count <= other->sent_count) ||
        (known && sent_count_ - slot->sent_count >= kCandidateAgeMax)) {
      return i;
    }
  }
  return std::nullopt;
}

int ReferencePolicy::next_layer() const {
  constexpr std::array<int, 4> kThreeLayers{0, 2, 1, 2};
  switch (options_.temporal_layers) {
    case 2:
      return since_base_ % 2;
    case 3:
      return kThreeLayers.at(static_cast<size_t>(since_base_ % 4));
    default:
      return 0;
  }
}

}  // namespace cress::media
