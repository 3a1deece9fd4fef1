#include "transport/secure/records/replay_window.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::secure {

ReplayWindow::ReplayWindow(size_t kept_max) : kept_max_(kept_max) {
  check(kept_max > 0, "ReplayWindow: keeps at least one");
}

bool ReplayWindow::is_new(uint64_t number) const {
  if (used_.empty() || number > used_.back()) {
    return true;
  }
  return number >= floor_ && !std::binary_search(used_.begin(), used_.end(), number);
}

bool ReplayWindow::insert(uint64_t number) {
  check(is_new(number), "ReplayWindow: a number is used once");
  const bool is_newest = used_.empty() || number > used_.back();
  if (is_newest) {
    used_.push_back(number);
  } else {
    used_.insert(std::lower_bound(used_.begin(), used_.end(), number), number);
  }
  if (used_.size() > kept_max_) {
    floor_ = used_.front() + 1;
    used_.pop_front();
  }
  return is_newest;
}

}  // namespace cress::secure
