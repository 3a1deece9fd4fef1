#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "traces/saturate/measurement.hh"
#include "traces/saturate/saturator.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::traces {

/// The results of a saturated link in addition to the traces.
struct SaturateSummary {
  struct Direction {
    std::string name;  ///< "up" or "down"
    std::string file;  ///< empty if no trace was written
    bool complete = false;
    DirectionMeasurement measured;
  };
  std::string peer;
  bool separate_feedback = false;
  Duration round_trip{};
  DataSize packet_size;              ///< 0 if this end sent none
  uint64_t dropped_by_receiver = 0;  ///< at this end
  uint64_t unsent = 0;               ///< from this end
  std::vector<Direction> directions;
};

/// The requested directions, "up" first. An incomplete log is measured up to its last arrival.
std::vector<SaturateSummary::Direction> measure_directions(const SaturateMeasurement& measurement);

/// Intervals without proven saturation that a summary lists; all are counted.
inline constexpr size_t kStretchesListed = 1000;
/// One JSON object, as docs/guide/cress-trace.md describes it.
std::string format_json(const SaturateSummary& summary);
/// A few lines for display.
void print_summary(const SaturateSummary& summary, std::ostream& out);

}  // namespace cress::traces
