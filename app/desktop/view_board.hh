#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "app/ui/model/call_view.hh"
#include "transport/base/time.hh"

namespace cress::desktop {

/// Passes the view from the call's thread to the window's thread. Pictures are shared, not copied,
/// so that neither waits for the other longer than a few words take to copy. Threads: one writes,
/// one reads and waits.
class ViewBoard {
 public:
  template <class Change>
  void change(Change&& change) {
    {
      const std::scoped_lock lock{mutex_};
      std::forward<Change>(change)(view_);
      news_ = true;
    }
    changed_.notify_one();
  }
  ui::CallView view() {
    const std::scoped_lock lock{mutex_};
    news_ = false;
    return view_;
  }
  /// Waits until something changed that `view` has not yet returned, or for `most`.
  void wait(Duration most) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, most, [this] { return news_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  ui::CallView view_;
  bool news_ = true;
};

}  // namespace cress::desktop
