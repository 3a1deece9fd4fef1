#include "relay/forward/frame_cache.hh"

#include <algorithm>
#include <utility>

#include "media/frame/parity.hh"
#include "transport/base/check.hh"

namespace cress::relay {
namespace {

constexpr auto kHeadBytes = static_cast<size_t>(room::kMemberHeadSize.bytes());
constexpr auto kHeaderBytes = static_cast<size_t>(media::kFragmentHeaderSize.bytes());
// The cost of a fragment in addition to its bytes.
constexpr DataSize kTableEntry{static_cast<int64_t>(sizeof(std::vector<std::byte>))};

bool same_frame(const media::FragmentHeader& a, media::FragmentHeader b) {
  b.index = a.index;
  return a == b;
}

DataSize size_of(const std::vector<std::byte>& bytes) {
  return DataSize{static_cast<int64_t>(bytes.size())};
}

}  // namespace

FrameCache::FrameCache(const FrameCacheOptions& options) : options_(options) {
  check(options_.frame_max > DataSize{} && options_.frame_max <= media::kEncodedFrameMax &&
            options_.bytes_max >= options_.frame_max,
        "FrameCache: options out of range");
}

const CachedFrame* FrameCache::find(uint32_t id) const {
  if (frames_.empty()) {
    return nullptr;
  }
  const CachedFrame& frame = frames_[id % kFramesMax];
  return frame.used && frame.id() == id ? &frame : nullptr;
}

CachedFrame* FrameCache::find(uint32_t id) {
  return const_cast<CachedFrame*>(std::as_const(*this).find(id));  // NOLINT: one look-up, not two
}

Result<FrameCache::Added, FrameCache::Refusal> FrameCache::handle_fragment(
    TimePoint now, std::vector<std::byte> message) {
  const auto parsed = message.size() < kHeadBytes
                          ? media::FragmentError::kTruncated
                          : media::parse_fragment(std::span{message}.subspan(kHeadBytes));
  if (!parsed) {
    return Refusal::kMalformed;
  }
  const media::FragmentHeader& header = parsed->header;
  if (header.frame_size > options_.frame_max || header.count > kFragmentsMax) {
    return Refusal::kTooLarge;
  }
  if (newest_ && header.frame_id < *newest_ && *newest_ - header.frame_id >= kFramesMax) {
    return Refusal::kTooOld;
  }
  CachedFrame* frame = find(header.frame_id);
  const bool is_first = frame == nullptr;
  if (is_first) {
    frame = begin_frame(now, header);
  } else if (!same_frame(frame->header, header)) {
    return Refusal::kMalformed;
  }
  if (frame->refused) {
    return Refusal::kRefused;
  }
  if (frame->whole || frame->forgotten ||
      (header.index < frame->parts.size() && !frame->parts[header.index].empty())) {
    return Refusal::kKnown;
  }
  Added added{.frame = frame, .index = header.index, .is_first = is_first};
  hold(*frame, header.index, std::move(message));
  rebuilt_.clear();
  if (--frame->missing == 0) {
    frame->whole = true;
    rebuild(*frame);
    note_decodable(*frame);
    added.became_whole = true;
    added.has_rebuilt = !rebuilt_.empty();
    if (frame->kind == FrameKind::kAnchor && frame->id() >= newest_anchor_.value_or(0)) {
      newest_anchor_ = frame->id();
    }
  }
  while (held_ > options_.bytes_max) {
    forget_oldest();
  }
  return added;
}

CachedFrame* FrameCache::begin_frame(TimePoint now, const media::FragmentHeader& header) {
  if (frames_.empty()) {
    frames_.resize(kFramesMax);
  }
  CachedFrame& frame = frames_[header.frame_id % kFramesMax];
  if (frame.used) {
    forget(frame);
  }
  frame = CachedFrame{.used = true,
                      .header = header,
                      .kind = kind_of(header),
                      .began = now,
                      .missing = header.count,
                      .parts = std::vector<std::vector<std::byte>>(header.count)};
  frame.held = kTableEntry * header.count;
  held_ += frame.held;
  (frame.kind == FrameKind::kAnchor ? anchors_ : others_).push_back(header.frame_id);
  newest_ = std::max(newest_.value_or(0), header.frame_id);
  return &frame;
}

void FrameCache::hold(CachedFrame& frame, size_t index, std::vector<std::byte> message) {
  DataSize added = size_of(message);
  if (index >= frame.parts.size()) {
    added += kTableEntry * static_cast<int64_t>(index + 1 - frame.parts.size());
    frame.parts.resize(index + 1);
  }
  frame.parts[index] = std::move(message);
  frame.held += added;
  held_ += added;
}

void FrameCache::rebuild(CachedFrame& frame) {
  const size_t count = frame.header.count;
  std::vector<media::CodedFragment> have;
  std::vector<std::pair<size_t, std::vector<std::byte>>> made;
  for (size_t index = 0; index < frame.parts.size(); ++index) {
    const std::vector<std::byte>& part = frame.parts[index];
    if (!part.empty()) {
      have.push_back({static_cast<int>(index), std::span{part}.subspan(kHeadBytes + kHeaderBytes)});
    } else if (index < count) {
      const auto payload = media::fragment_payload(
          frame.header.frame_size, static_cast<int64_t>(index), static_cast<int64_t>(count));
      made.emplace_back(index, std::vector<std::byte>(kHeadBytes + kHeaderBytes +
                                                      static_cast<size_t>(payload.bytes())));
    }
  }
  if (made.empty()) {
    return;
  }
  // The headers are those of any other part, except for the index.
  const std::vector<std::byte>& model = frame.parts[static_cast<size_t>(have[0].index)];
  std::vector<media::WantedFragment> wanted;
  for (auto& [index, message] : made) {
    std::copy_n(model.begin(), kHeadBytes + kHeaderBytes, message.begin());
    message[kHeadBytes + 2] = static_cast<std::byte>(index >> 8U);
    message[kHeadBytes + 3] = static_cast<std::byte>(index & 0xFFU);
    wanted.push_back(
        {static_cast<int>(index), std::span{message}.subspan(kHeadBytes + kHeaderBytes)});
  }
  have.resize(count);
  media::derive_fragments(static_cast<int>(count), have, wanted);
  for (auto& [index, message] : made) {
    rebuilt_.push_back(static_cast<uint16_t>(index));
    hold(frame, index, std::move(message));
  }
}

// Frames depend on older ones: one pass upward finds all that waited for this one.
void FrameCache::note_decodable(CachedFrame& whole) {
  const auto is_decodable = [this](const CachedFrame& frame) {
    const CachedFrame* reference = find(frame.reference_id());
    return frame.header.key_frame || (reference != nullptr && reference->decodable);
  };
  whole.decodable = is_decodable(whole);
  for (uint32_t id = whole.id(); whole.decodable && id < *newest_;) {
    CachedFrame* later = find(++id);
    if (later != nullptr && later->whole && !later->decodable) {
      later->decodable = is_decodable(*later);
    }
  }
}

const CachedFrame* FrameCache::anchor_of(const CachedFrame& frame) const {
  const CachedFrame* anchor = &frame;
  while (anchor != nullptr && anchor->kind != FrameKind::kAnchor) {
    anchor = find(anchor->reference_id());  // an older one: fragments are parsed so
  }
  return anchor;
}

void FrameCache::refuse(CachedFrame& frame) {
  forget(frame);
  frame.refused = true;
  frame.whole = false;
  frame.decodable = false;
}

void FrameCache::forget(CachedFrame& frame) {
  held_ -= frame.held;
  frame.held = {};
  frame.parts = {};
  frame.forgotten = true;
  if (newest_anchor_ != frame.id()) {
    return;
  }
  newest_anchor_.reset();
  for (const uint32_t id : anchors_) {
    const CachedFrame* other = find(id);
    if (other != nullptr && other->holds_all() && !other->refused) {
      newest_anchor_ = std::max(newest_anchor_.value_or(0), id);
    }
  }
}

void FrameCache::forget_oldest() {
  std::deque<uint32_t>& oldest = others_.empty() ? anchors_ : others_;
  check(!oldest.empty(), "FrameCache: bytes held by no frame");
  if (CachedFrame* frame = find(oldest.front())) {
    forget(*frame);
  }
  oldest.pop_front();
}

void FrameCache::forget_aged(TimePoint now) {
  for (const auto& [queue, age_max] :
       {std::pair{&anchors_, options_.anchor_age_max}, {&others_, options_.other_age_max}}) {
    while (!queue->empty()) {
      CachedFrame* frame = find(queue->front());
      if (frame != nullptr && now - frame->began <= age_max) {
        break;
      }
      if (frame != nullptr) {
        forget(*frame);
      }
      queue->pop_front();
    }
  }
}

std::optional<uint32_t> FrameCache::newest_anchor() const { return newest_anchor_; }

void FrameCache::reset_forwarding(size_t leg, Forwarding forwarding) {
  for (CachedFrame& frame : frames_) {
    frame.forwarding.at(leg) = forwarding;
  }
}

void FrameCache::settle_forwarding(size_t leg) {
  for (CachedFrame& frame : frames_) {
    if (frame.forwarding.at(leg) == Forwarding::kUndecided) {
      frame.forwarding[leg] = Forwarding::kLeftOut;
    }
  }
}

}  // namespace cress::relay
