#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/model/call_view.hh"
#include "transport/base/time.hh"

namespace cress::desktop {

/// More than the window shows (ui::kNoticesShown) are of no use; the oldest goes.
inline constexpr size_t kNoticesMax = 6;

/// What the person is told in passing: each stays long enough to be read, then goes by itself.
/// Threads: none inside; one owner. `now` never goes back.
class Notices {
 public:
  /// What is said already is said for longer, not twice.
  void add(TimePoint now, ui::Tone tone, const std::string& text);
  void dismiss(uint64_t id);
  /// Gives whether any has gone.
  bool update(TimePoint now);
  void clear() { entries_.clear(); }

  /// Oldest first.
  std::vector<ui::Notice> all() const;

 private:
  struct Entry {
    ui::Notice notice;
    TimePoint until{};
  };
  std::vector<Entry> entries_;
  uint64_t next_id_ = 1;
};

/// Begins with a capital and ends in a full stop (ASCII; other letters stay as they are).
std::string sentence(std::string words);

}  // namespace cress::desktop
