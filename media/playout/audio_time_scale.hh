#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/time.hh"

namespace cress::media {

/// Sound made shorter or longer without changing its pitch: one period of the voice is left out or
/// said twice, and the seam is a cross-fade of a whole period, so the wave goes on where it was
/// (WSOLA: Verhelst and Roelands, ICASSP '93). All arithmetic is in whole numbers.
/// Threads: pure functions.
inline constexpr size_t kPitchPeriodMin = 120;  // 2.5 ms at 48 kHz: 400 Hz
inline constexpr size_t kPitchPeriodMax = 720;  // 15 ms: 67 Hz
/// What `find_period` needs to see for the longest period.
inline constexpr size_t kTimeScaleSamples = 2 * kPitchPeriodMax;

struct PitchPeriod {
  size_t samples = 0;
  /// Of the two periods side by side: 1 are the same, 0 have nothing in common.
  double likeness = 0;
  /// So quiet that nobody hears a seam.
  bool is_quiet = false;
};

/// The period (kPitchPeriodMin..limit) at which the beginning of `sound` is most like itself.
/// `limit` is at most kPitchPeriodMax and half of `sound`, at least kPitchPeriodMin.
PitchPeriod find_period(std::span<const int16_t> sound, size_t limit);

/// Cross-fades the first two periods into one: `sound` gets `period` samples shorter. The first and
/// last sample stay what they were. `sound`: at least 2 periods.
void leave_out_period(std::vector<int16_t>& sound, size_t period);
/// Says the first period twice: `sound` gets `period` samples longer. As above.
void repeat_period(std::vector<int16_t>& sound, size_t period);

/// From `from` to `to` (of the same length) in a straight line, written into `to`.
void cross_fade(std::span<const int16_t> from, std::span<int16_t> to);
/// Times a gain that goes in a straight line from `begin` to `end` (0..1).
void fade(std::span<int16_t> sound, double begin, double end);

}  // namespace cress::media
