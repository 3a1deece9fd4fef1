#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/model/call_view.hh"
#include "transport/base/time.hh"

namespace cress::desktop {

/// More than the window shows (ui::kNoticesShown) are useless; the oldest is dropped.
inline constexpr size_t kNoticesMax = 6;

/// Temporary notices for the user: each stays long enough to be read, then disappears. Threads:
/// none inside; one owner. `now` never goes back.
class Notices {
 public:
  /// Repeating a notice prolongs it instead of showing it twice.
  void add(TimePoint now, ui::Tone tone, const std::string& text);
  void dismiss(uint64_t id);
  /// Returns whether any has disappeared.
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

/// Starts with a capital letter and ends in a full stop (ASCII; other letters are unchanged).
std::string sentence(std::string words);

}  // namespace cress::desktop
