#pragma once

#include <cstdint>
#include <span>

#include "eval/metrics/frames.hh"
#include "eval/metrics/window.hh"

/// How smoothly the picture moved (docs/method.md, "Motion"). Threads: pure functions.
namespace cress::metrics {

/// Freezes as the current text of W3C webrtc-stats defines them, and as its two counters would
/// differ between the window's ends: a gap counts, with its whole length, when the frame that ends
/// it is displayed in the window, and when it is at least max(3δ, δ + 150 ms), where δ is the mean
/// of the up to 30 gaps before it. A gap that no frame ends never counts, nor does the run's first
/// gap between two frames, which has no δ.
Freezes freezes_w3c(std::span<const ShownFrame> frames, Window window);

/// Gaps between displayed frames of more than `longest`, those that the window's ends cut included.
int64_t gaps_over(std::span<const ShownFrame> frames, Window window, Duration longest);

/// Frames a second, each moment weighted alike: the sum of the gaps over the sum of their squares,
/// which webrtc-stats has as totalInterFrameDelay and totalSquaredInterFrameDelay. The reciprocal
/// of the mean length of the gap that a moment lies in. Gaps are cut at the window's ends.
double harmonic_fps(std::span<const ShownFrame> frames, Window window);

}  // namespace cress::metrics
