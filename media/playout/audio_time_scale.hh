#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/time.hh"

namespace cress::media {

/// Makes audio shorter or longer without changing its pitch: one period of the voice is left out or
/// repeated, and the seam is a cross-fade over a whole period, so the waveform continues smoothly
/// (WSOLA: Verhelst and Roelands, ICASSP '93). Integer arithmetic only. Threads: pure functions.
inline constexpr size_t kPitchPeriodMin = 120;  // 2.5 ms at 48 kHz: 400 Hz
inline constexpr size_t kPitchPeriodMax = 720;  // 15 ms: 67 Hz

struct PitchPeriod {
  size_t samples = 0;
  /// Similarity of two consecutive periods: 1 identical, 0 unrelated.
  double likeness = 0;
  /// The audio is so quiet that a seam is inaudible.
  bool is_quiet = false;
};

/// The period (kPitchPeriodMin..limit) at which the beginning of `sound` is most similar to itself.
/// `limit` is at most kPitchPeriodMax and half of `sound`, at least kPitchPeriodMin.
PitchPeriod find_period(std::span<const int16_t> sound, size_t limit);

/// Cross-fades the first two periods into one: `sound` gets `period` samples shorter. The first and
/// last sample do not change. `sound`: at least 2 periods.
void leave_out_period(std::vector<int16_t>& sound, size_t period);
/// Repeats the first period: `sound` gets `period` samples longer. As above.
void repeat_period(std::vector<int16_t>& sound, size_t period);

/// Fades linearly from `from` to `to` (of the same length), written into `to`.
void cross_fade(std::span<const int16_t> from, std::span<int16_t> to);
/// Multiplies by a gain that changes linearly from `begin` to `end` (0..1).
void fade(std::span<int16_t> sound, double begin, double end);

}  // namespace cress::media
