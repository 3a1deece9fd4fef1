#include "media/playout/frame_clock.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

// VP8 keeps three references; the sender may hold one of them for as long as an outage lasts. Half
// a minute at 30 frames per second.
constexpr size_t kReferencesMax = 1024;

}  // namespace

FrameClock::FrameClock(const FrameClockOptions& options) : options_(options) {
  check(options.wait_max >= Duration{0} && options.held_max > 0 &&
            options.held_bytes_max >= kEncodedFrameMax,
        "FrameClock: options out of range");
}

void FrameClock::handle_frame(TimePoint now, EncodedFrame frame) {
  advance(now);
  ++stats_.received;
  if (last_decoded_ && frame.id <= *last_decoded_) {
    ++stats_.late;
    return;
  }
  if (held_.contains(frame.id)) {
    ++stats_.duplicates;
    return;
  }
  held_bytes_ += frame.size();
  const uint32_t id = frame.id;
  held_.emplace(id, Held{std::move(frame), now + options_.wait_max});
  while (held_.size() > options_.held_max || held_bytes_ > options_.held_bytes_max) {
    ++stats_.overflowed;
    needs_key_frame_ = true;
    erase(held_.begin());
  }
}

void FrameClock::handle_timeout(TimePoint now) {
  advance(now);
  for (auto it = held_.begin(); it != held_.end();) {
    const auto next = std::next(it);
    if (it->second.deadline <= now && !is_decodable(it->second.frame)) {
      ++stats_.expired;
      needs_key_frame_ = true;
      erase(it);
    }
    it = next;
  }
}

void FrameClock::handle_decode_failure(TimePoint now) {
  advance(now);
  references_.clear();
  needs_key_frame_ = true;
}

std::optional<EncodedFrame> FrameClock::poll_decode(TimePoint now) {
  advance(now);
  const auto newest_key = std::find_if(
      held_.rbegin(), held_.rend(), [](const auto& entry) { return entry.second.frame.key_frame; });
  auto chosen = held_.end();
  if (newest_key != held_.rend()) {
    chosen = std::prev(newest_key.base());
    references_.clear();
  } else {
    chosen = std::ranges::find_if(
        held_, [this](const auto& entry) { return is_decodable(entry.second.frame); });
  }
  if (chosen == held_.end()) {
    return std::nullopt;
  }
  EncodedFrame frame = std::move(chosen->second.frame);
  held_bytes_ -= frame.size();
  held_.erase(chosen);
  // Older frames that were not decodable by now are too late from here on.
  erase_before(frame.id, frame.key_frame ? stats_.superseded : stats_.late);
  references_.insert(frame.id);
  if (references_.size() > kReferencesMax) {
    references_.erase(references_.begin());
  }
  last_decoded_ = frame.id;
  needs_key_frame_ = false;
  ++stats_.decoded;
  return frame;
}

TimePoint FrameClock::poll_timeout() const {
  TimePoint first = kNever;
  for (const auto& [id, held] : held_) {
    first = std::min(first, held.deadline);
  }
  return first;
}

void FrameClock::advance(TimePoint now) {
  check(now >= last_now_, "FrameClock: time went back");
  last_now_ = now;
}

bool FrameClock::is_decodable(const EncodedFrame& frame) const {
  return frame.key_frame || references_.contains(frame.reference_id);
}

void FrameClock::erase(HeldFrames::iterator held) {
  held_bytes_ -= held->second.frame.size();
  held_.erase(held);
}

void FrameClock::erase_before(uint32_t frame_id, uint64_t& count) {
  while (!held_.empty() && held_.begin()->first < frame_id) {
    ++count;
    erase(held_.begin());
  }
}

}  // namespace cress::media
