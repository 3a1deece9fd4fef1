#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "transport/base/rng.hh"
#include "transport/sim/queue.hh"

namespace cress::harness {

/// The queue at the bottleneck, in the syntax of the command line: `infinite`, `droptail:N`,
/// `codel`, `fq-codel`, `pie`, `dualpi2` or `red:MIN,MAX,P` (N, MIN, MAX in packets of 1500 bytes,
/// counted in bytes; P in (0, 1]).
struct QueueSpec {
  enum class Kind { kInfinite, kDropTail, kCodel, kRed, kFqCodel, kPie, kDualPi2 };
  Kind kind = Kind::kInfinite;
  int64_t packets = 0;
  int64_t red_min = 0;
  int64_t red_max = 0;
  double red_chance = 0;

  /// Throws std::invalid_argument with one clear line.
  static QueueSpec parse(std::string_view text);
  /// What parse() reads as this.
  std::string text() const;
  std::unique_ptr<sim::Queue> make(const Rng& rng) const;
  friend bool operator==(const QueueSpec&, const QueueSpec&) = default;
};

}  // namespace cress::harness
