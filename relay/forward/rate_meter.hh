#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::relay {

/// A rate over the last kSteps complete steps, or since the first. Call step() every kStep.
/// Threads: none inside; a plain value.
class RateMeter {
 public:
  static constexpr Duration kStep = 100ms;
  static constexpr size_t kSteps = 20;

  void add(DataSize size) { running_ += size; }
  void step() {
    total_ += running_ - past_[next_];
    past_[next_] = running_;
    running_ = {};
    next_ = (next_ + 1) % kSteps;
    known_ = std::min(known_ + 1, kSteps);
  }
  DataRate rate() const {
    return known_ == 0 ? DataRate{} : DataRate::from(total_, static_cast<int64_t>(known_) * kStep);
  }

 private:
  std::array<DataSize, kSteps> past_{};
  DataSize running_;
  DataSize total_;
  size_t next_ = 0;
  size_t known_ = 0;
};

}  // namespace cress::relay
