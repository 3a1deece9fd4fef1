#include "media/frame/assembler.hh"

#include <algorithm>
#include <utility>

#include "media/frame/parity.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

// Eight seconds at 30 frames per second: longer than any reordering that AssemblerOptions::age_max
// allows.
constexpr size_t kFinishedMax = 256;

// Those of a frame's bytes that data fragment `index` carries.
std::span<std::byte> part_of(std::span<std::byte> data, const FragmentHeader& header, int index) {
  const int64_t at = fragment_offset(header.frame_size, index, header.count).bytes();
  const int64_t size = fragment_payload(header.frame_size, index, header.count).bytes();
  return data.subspan(static_cast<size_t>(at), static_cast<size_t>(size));
}

}  // namespace

Assembler::Assembler(AssemblerOptions options) : options_(options) {
  check(options_.frames_max > 0 && options_.bytes_max >= kEncodedFrameMax &&
            options_.age_max > Duration{0},
        "Assembler: options out of range");
}

Result<std::optional<EncodedFrame>, FragmentError> Assembler::handle_fragment(
    TimePoint now, std::span<const std::byte> message) {
  check(now >= last_now_, "Assembler: time went back");
  last_now_ = now;
  ++stats_.fragments;
  const Result<Fragment, FragmentError> parsed = parse_fragment(message);
  if (!parsed) {
    ++stats_.malformed;
    return parsed.error();
  }
  const FragmentHeader& header = parsed->header;
  auto found = partial_.find(header.frame_id);
  if (found != partial_.end() && !same_frame(found->second.header, header)) {
    ++stats_.malformed;
    return FragmentError::kConflict;
  }
  drop_aged(now);
  found = partial_.find(header.frame_id);
  if (found == partial_.end()) {
    if (is_finished(header.frame_id)) {
      ++(header.frame_id < finished_below_ ? stats_.too_old : stats_.duplicates);
      return std::optional<EncodedFrame>{};
    }
    if (!make_room(header.frame_id, header.frame_size)) {
      ++stats_.frames_dropped;
      finish(header.frame_id);
      return std::optional<EncodedFrame>{};
    }
    found = begin_frame(now, header);
  }
  Partial& partial = found->second;
  if (partial.present[header.index]) {
    ++stats_.duplicates;
    return std::optional<EncodedFrame>{};
  }
  if (!hold(partial, *parsed)) {
    ++stats_.parity_ignored;
    return std::optional<EncodedFrame>{};
  }
  if (--partial.missing > 0) {
    return std::optional<EncodedFrame>{};
  }
  return std::optional<EncodedFrame>{take(found)};
}

void Assembler::discard_through(uint32_t frame_id) {
  while (!partial_.empty() && partial_.begin()->first <= frame_id) {
    drop(partial_.begin());
  }
  finished_below_ = std::max(finished_below_, uint64_t{frame_id} + 1);
  finished_.erase(finished_.begin(), finished_.upper_bound(frame_id));
}

Assembler::Partials::iterator Assembler::begin_frame(TimePoint now, const FragmentHeader& header) {
  const bool may_have_parity = header.count < kCodedFragmentsMax;
  Partial fresh{.header = header,
                .first_arrival = now,
                .data = std::vector<std::byte>(static_cast<size_t>(header.frame_size.bytes())),
                .parity = {},
                .present = std::vector<bool>(may_have_parity ? kCodedFragmentsMax : header.count),
                .missing = header.count};
  reserved_ += reserved_for(fresh);
  return partial_.emplace(header.frame_id, std::move(fresh)).first;
}

// False: it is parity without room.
bool Assembler::hold(Partial& partial, const Fragment& fragment) {
  const FragmentHeader& header = fragment.header;
  if (header.is_parity()) {
    const DataSize size{static_cast<int64_t>(fragment.payload.size())};
    if (reserved_ + size > options_.bytes_max) {
      return false;
    }
    reserved_ += size;
    partial.parity.push_back({header.index, {fragment.payload.begin(), fragment.payload.end()}});
  } else {
    std::ranges::copy(fragment.payload,
                      part_of(partial.data, partial.header, header.index).begin());
  }
  partial.present[header.index] = true;
  return true;
}

// The share of bytes_max used by the frame and its parity.
DataSize Assembler::reserved_for(const Partial& partial) {
  const FragmentHeader& header = partial.header;
  const auto parity = static_cast<int64_t>(partial.parity.size());
  return header.frame_size +
         parity * fragment_payload(header.frame_size, header.count, header.count);
}

bool Assembler::same_frame(const FragmentHeader& a, const FragmentHeader& b) {
  FragmentHeader b_as_a = b;
  b_as_a.index = a.index;
  return a == b_as_a;
}

bool Assembler::is_finished(uint32_t frame_id) const {
  return frame_id < finished_below_ || finished_.contains(frame_id);
}

void Assembler::finish(uint32_t frame_id) {
  if (frame_id < finished_below_) {
    return;
  }
  finished_.insert(frame_id);
  if (finished_.size() > kFinishedMax) {
    finished_below_ = uint64_t{*finished_.begin()} + 1;
    finished_.erase(finished_.begin());
  }
}

void Assembler::drop(Partials::iterator partial) {
  const uint32_t frame_id = partial->first;
  reserved_ -= reserved_for(partial->second);
  partial_.erase(partial);
  ++stats_.frames_dropped;
  finish(frame_id);
}

void Assembler::drop_aged(TimePoint now) {
  for (auto it = partial_.begin(); it != partial_.end();) {
    const auto next = std::next(it);
    if (now - it->second.first_arrival > options_.age_max) {
      drop(it);
    }
    it = next;
  }
}

// Discards older frames, oldest first, until one more of `size` fits. False: the new frame itself
// would be the oldest.
bool Assembler::make_room(uint32_t frame_id, DataSize size) {
  while (partial_.size() >= options_.frames_max || reserved_ + size > options_.bytes_max) {
    if (partial_.begin()->first > frame_id) {
      return false;
    }
    drop(partial_.begin());
  }
  return true;
}

// Reconstructs the missing parts from the others and the parity.
void Assembler::rebuild(Partial& partial) {
  const int count = partial.header.count;
  std::vector<CodedFragment> have;
  std::vector<WantedFragment> wanted;
  for (int index = 0; index < count; ++index) {
    const std::span<std::byte> part = part_of(partial.data, partial.header, index);
    if (partial.present[static_cast<size_t>(index)]) {
      have.push_back({index, part});
    } else {
      wanted.push_back({index, part});
    }
  }
  for (const Partial::Parity& parity : partial.parity) {
    have.push_back({parity.index, parity.bytes});
  }
  derive_fragments(count, have, wanted);
}

EncodedFrame Assembler::take(Partials::iterator partial) {
  if (!partial->second.parity.empty()) {
    rebuild(partial->second);
    ++stats_.frames_rebuilt;
  }
  const FragmentHeader& header = partial->second.header;
  EncodedFrame frame{.id = header.frame_id,
                     .reference_id = header.frame_id - header.reference_distance,
                     .capture_time = header.capture_time,
                     .key_frame = header.key_frame,
                     .temporal_layer = header.temporal_layer,
                     .anchor = header.anchor,
                     .data = std::move(partial->second.data)};
  reserved_ -= reserved_for(partial->second);
  partial_.erase(partial);
  ++stats_.frames_completed;
  finish(frame.id);
  return frame;
}

}  // namespace cress::media
