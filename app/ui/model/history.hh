#pragma once

#include <cstddef>
#include <deque>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::ui {

/// The time span of the live panel's graphs.
inline constexpr Duration kHistorySpan = 30s;
/// One sample per tick (20 ms) over the whole span.
inline constexpr size_t kHistorySamplesMax = 1500;

/// The values of the graphs, measured at `at`.
struct LinkSample {
  TimePoint at{};
  DataRate forecast;         ///< of the uplink
  DataRate sent;             ///< over a recent period that the caller chooses
  DataSize window;           ///< the bytes that may be in flight
  Duration one_way_delay{};  ///< half the smoothed round trip
  Duration frame_delay{};    ///< camera to screen: p95 of a second
  double loss = 0;           ///< 0..1, the worse direction
  friend bool operator==(const LinkSample&, const LinkSample&) = default;
};

/// A bounded ring of samples, times ascending. Samples are removed when they are older than the
/// span or there are more than kHistorySamplesMax. Threads: none inside; one owner.
class History {
 public:
  /// A sample earlier than the newest is our own bug (a check failure); an equal time is allowed.
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
