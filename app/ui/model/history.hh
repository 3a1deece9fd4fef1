#pragma once

#include <cstddef>
#include <deque>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::ui {

/// How much the graphs of the live panel show.
inline constexpr Duration kHistorySpan = 30s;
/// One sample a tick (20 ms) over the whole span.
inline constexpr size_t kHistorySamplesMax = 1500;

/// What the graphs draw, measured at `at`.
struct LinkSample {
  TimePoint at{};
  DataRate forecast;         ///< of the uplink
  DataRate sent;             ///< over the last while, as the caller likes
  DataSize window;           ///< the safe window
  Duration one_way_delay{};  ///< of datagrams from there to here
  Duration frame_delay{};    ///< from their camera to this screen
  double loss = 0;           ///< 0..1, the worse direction
  friend bool operator==(const LinkSample&, const LinkSample&) = default;
};

/// A bounded ring of samples, times ascending. Old ones leave when they are out of the span or when
/// there are kHistorySamplesMax.
/// Threads: none inside; one owner.
class History {
 public:
  /// A sample earlier than the newest is our own bug (a check failure); an equal time is fine.
  void add(const LinkSample& sample);
  void clear() { samples_.clear(); }

  bool empty() const { return samples_.empty(); }
  size_t size() const { return samples_.size(); }
  /// 0 is the oldest.
  const LinkSample& operator[](size_t index) const { return samples_[index]; }
  const LinkSample& newest() const { return samples_.back(); }
  auto begin() const { return samples_.begin(); }
  auto end() const { return samples_.end(); }
  friend bool operator==(const History&, const History&) = default;

 private:
  std::deque<LinkSample> samples_;
};

}  // namespace cress::ui
