#include "app/room/chat_order.hh"

#include <algorithm>
#include <utility>

namespace cress::room {

std::vector<std::string> ChatOrder::add(TimePoint now, uint32_t serial, std::string line) {
  if (serial < next_ || held_.contains(serial)) {
    return {std::move(line)};  // too late to be put in order, or not of an honest writer
  }
  held_.emplace(serial, Held{std::move(line), now + kHeldMax});
  return release_up_to(held_.size() > kLinesMax ? held_.begin()->first : next_);
}

std::vector<std::string> ChatOrder::handle_timeout(TimePoint now) {
  uint64_t due = 0;
  for (const auto& [serial, held] : held_) {
    due = held.until <= now ? serial : due;
  }
  return due != 0 ? release_up_to(due) : std::vector<std::string>{};
}

TimePoint ChatOrder::poll_timeout() const {
  TimePoint next = kNever;
  for (const auto& [serial, held] : held_) {
    next = std::min(next, held.until);
  }
  return next;
}

std::vector<std::string> ChatOrder::finish() {
  return held_.empty() ? std::vector<std::string>{} : release_up_to(held_.rbegin()->first);
}

// And those that follow without a gap.
std::vector<std::string> ChatOrder::release_up_to(uint64_t serial) {
  std::vector<std::string> lines;
  while (!held_.empty() && held_.begin()->first <= std::max(serial, next_)) {
    next_ = held_.begin()->first + 1;
    lines.push_back(std::move(held_.begin()->second.line));
    held_.erase(held_.begin());
  }
  return lines;
}

}  // namespace cress::room
