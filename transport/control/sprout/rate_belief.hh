#pragma once

#include <span>
#include <vector>

#include "transport/control/sprout/model.hh"

namespace cress::control {

/// What every belief under one model shares: transitions and likelihoods, computed once (about 5
/// ms). Immutable; any number of threads may read it.
class BeliefDynamics {
 public:
  explicit BeliefDynamics(const SproutModel& model);

  const SproutModel& model() const { return model_; }
  std::span<const TransitionRow> transitions() const { return transitions_; }
  /// P(`count` arrivals in one tick | bin), for every bin. `count` in 0..kObservedPacketsMax.
  std::span<const double> likelihoods(int count) const;

  /// Larger counts in one tick are treated as this many: beyond it every likelihood underflows to 0
  /// and the belief would be lost (the original then computes with NaN).
  static constexpr int kObservedPacketsMax = 300;

 private:
  SproutModel model_;
  std::vector<TransitionRow> transitions_;
  std::vector<double> likelihoods_;  // [count][bin]
};

/// Belief over the link's packet rate λ (Sprout, NSDI '13, §3.2).
/// Shape: bin_count(model) probabilities; sum is 1 ± 1e-9 after every call. A plain value: copy it
/// to keep it. Threads: none inside; one owner.
class RateBelief {
 public:
  /// All rates equally likely (paper §3.2: "uniform prior"). Borrows `dynamics`.
  explicit RateBelief(const BeliefDynamics& dynamics);

  /// Advances one tick: Brownian motion with sticky outages.
  void evolve();
  /// Bayes update with the whole packets observed in one tick (>= 0; see observed_packets).
  void observe(int packets);

  std::span<const double> probabilities() const { return probabilities_; }
  friend bool operator==(const RateBelief& a, const RateBelief& b) {
    return a.probabilities_ == b.probabilities_;
  }

 private:
  void normalise();

  const BeliefDynamics* dynamics_;  // never null; outlives the belief
  std::vector<double> probabilities_;
  std::vector<double> scratch_;
};

/// Whole packets from a fractional count of kModelPacketSize units: rounded half up, but anything
/// above 0 is at least 1. The fraction is not carried on.
int observed_packets(double packets);

}  // namespace cress::control
