#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/base/time.hh"

namespace cress::room {

/// Puts the lines of one writer into the order in which it wrote them, by their serials, from 1
/// (docs/protocol/wire.md, "Chat"). A line that overtook another is held until that one is there,
/// but not longer than kHeldMax; what comes later than that is displayed when it comes. So the
/// first line that a newcomer reads of a writer is held as well. Nothing is ever dropped. Bound:
/// with more than kLinesMax held, the first of them are no longer waited for. Threads: none inside;
/// one owner. `now` never goes back.
class ChatOrder {
 public:
  /// Several losses in a row on both legs, each repeated after a round trip and a report.
  static constexpr Duration kHeldMax = 2s;
  /// As many as the relay forwards of one writer at once.
  static constexpr size_t kLinesMax = 16;

  /// Returns the lines that are to be displayed now, in order; so does handle_timeout.
  std::vector<std::string> add(TimePoint now, uint32_t serial, std::string line);
  std::vector<std::string> handle_timeout(TimePoint now);
  TimePoint poll_timeout() const;
  /// All that is held: nothing follows.
  std::vector<std::string> finish();

 private:
  struct Held {
    std::string line;
    TimePoint until{};
  };

  std::vector<std::string> release_up_to(uint64_t serial);

  uint64_t next_ = 1;              // no line with a serial below is waited for
  std::map<uint64_t, Held> held_;  // at most kLinesMax
};

}  // namespace cress::room
