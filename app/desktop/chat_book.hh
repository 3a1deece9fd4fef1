#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "app/ui/model/call_view.hh"

namespace cress::desktop {

/// The lines of one call's text chat, for display: nobody else keeps them, and clear() forgets
/// them. Threads: none inside; one owner.
class ChatBook {
 public:
  /// Beyond it the oldest are forgotten.
  static constexpr size_t kLinesMax = 200;

  void add(const std::string& writer, const std::string& text);
  /// `taken`: it is being sent; otherwise it is marked as failed.
  void add_own(const std::string& text, bool taken);
  /// Of the own lines that wait, all but the newest `waiting` have arrived. Returns whether any
  /// line changed.
  bool settle(size_t waiting);
  /// The connection is lost: marks all waiting lines as failed. Returns whether there were any.
  bool fail_waiting();
  void clear() { lines_.clear(); }

  ui::ChatLines lines() const;

 private:
  void push(ui::ChatLine line);

  uint64_t next_id_ = 1;
  std::deque<ui::ChatLine> lines_;  // at most kLinesMax
};

}  // namespace cress::desktop
