#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cress::compare {

enum class Better { kHigher, kLower };

/// How much a number may differ without counting as a change.
struct Tolerance {
  double absolute = 0;
  double relative = 0;  ///< as a share of the old value
  /// The larger of both.
  double of(double value) const;
  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

/// One key of results.json for which larger or smaller is better.
struct Measure {
  std::string_view key;
  std::string_view unit;
  Better better = Better::kHigher;
  Tolerance tolerance;  ///< for one or two seeds: an imperceptible difference
  int decimals = 0;
};

/// In the order of a table.
std::span<const Measure> measures();

/// What --noise says about one measure, or about all.
struct NoiseRule {
  std::string measure;  ///< empty: every one
  Tolerance tolerance;
};

/// The definition of noise.
struct Noise {
  bool use_seeds = true;  ///< if there are kSeedsMin of them
  std::vector<NoiseRule>
      rules{};  ///< tolerances set for measures, with or without seeds; the last one applies

  /// nullopt if the rules leave `measure` to seeds and defaults.
  std::optional<Tolerance> rule_of(std::string_view measure) const;
};
inline constexpr size_t kSeedsMin = 3;

/// "seeds", "default", "none", or rules like "delay95_ms=10,ssim_db=2%,1%"; throws
/// std::invalid_argument with one clear line.
Noise parse_noise(std::string_view text);

}  // namespace cress::compare
