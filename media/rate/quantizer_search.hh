#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "media/codec/vp8_encoder.hh"
#include "transport/base/units.hh"

namespace cress::media {

struct QuantizerSearchOptions {
  /// 0 <= min <= max <= kQuantizerMax.
  int quantizer_min = 2;
  int quantizer_max = kQuantizerMax;
  int attempts_max = 3;
  /// The share of the budget that an attempt aims at: the first has the model's error, the next
  /// only that of the slope.
  double first_aim = 0.97;
  double next_aim = 0.98;
  /// A frame that uses this share of its budget is not worth another attempt; the threshold falls
  /// with each attempt.
  double good_share = 0.80;
  double good_share_fall = 0.15;
};

/// Searches for the finest quantizer whose frame fits a budget, by attempts: the first from a
/// model's expectation, each later one corrected by the errors of the earlier ones. The picture is
/// the same, so the size at one quantizer predicts the size at another very well. Shape: at most
/// attempts_max attempts, no quantizer twice. Threads: none inside; one owner.
class QuantizerSearch {
 public:
  struct Attempt {
    int quantizer = 0;
    DataSize size{};
  };
  using LogSizes = std::array<double, kQuantizerMax + 1>;

  /// `expected`: log2 of the bytes at each quantizer, decreasing. `budget` > 0.
  QuantizerSearch(const QuantizerSearchOptions& options, DataSize budget, const LogSizes& expected);

  /// The next quantizer to try; nullopt: no improvement is expected.
  std::optional<int> next() const;
  /// The attempt that `next` asked for gave `size` > 0.
  void handle_attempt(int quantizer, DataSize size);
  /// Index of the finest attempt that fits, in order of trying; nullopt: none fitted.
  std::optional<size_t> best() const;

  std::span<const Attempt> attempts() const { return attempts_; }
  int attempts_max() const { return options_.attempts_max; }

 private:
  double expected_at(int quantizer) const;
  int finest_within(double log_limit) const;

  QuantizerSearchOptions options_;
  DataSize budget_;
  double log_budget_;
  LogSizes expected_;
  std::vector<Attempt> attempts_;
};

}  // namespace cress::media
