#pragma once

#include "transport/base/time.hh"

namespace cress::control {

/// A discounted gamma belief over the rate at which a link delivers packets: its uncertainty is
/// proportional to the rate, where Sprout's Brownian step is a fixed 200 packets/s per root second.
/// Only exposure counts, that is, the time in which the bottleneck had something to deliver: an
/// idle link gives no information about its rate (docs/method.md, "The Cress forecast"). How evenly
/// a link delivers is measured, too: of a steady link more is expected with the same certainty.
/// Rates in packets of kOpportunitySize a second. A plain value. Threads: none inside; one owner.
class GammaBelief {
 public:
  struct Options {
    /// The weight of evidence halves after this much time in which the bottleneck was busy,
    Duration busy_half_life = 200ms;
    /// and after this much time in which it was idle: longer, because nothing new is observed
    /// meanwhile.
    Duration idle_half_life = 1s;
    /// Variance of deliveries over that of a Poisson process: links deliver in bursts. The most
    /// that burstiness() can be, and its value before any evidence.
    double burstiness = 1.5;
    /// The least that burstiness() can be: no link is trusted to be steadier. With the same value
    /// as `burstiness` nothing is measured.
    double burstiness_min = 0.2;
    /// The belief before any evidence: this rate, with this many packets' worth of certainty.
    double prior_rate = 40;
    double prior_packets = 1;
  };

  explicit GammaBelief(const Options& options);

  /// The bottleneck was idle for `elapsed` (>= 0).
  void pass_idle(Duration elapsed);
  /// The bottleneck was busy for `exposure` (>= 0); older evidence is discounted evenly,
  void pass_busy(Duration exposure);
  /// and delivered `packets` (>= 0, fractions count) at the end of it.
  void observe(double packets);

  double mean_rate() const { return packets_ / exposure_s_; }
  /// What variance over mean was found to be in tenths of a second, and a margin: 0.2 where the
  /// link delivers evenly, at most Options::burstiness.
  double burstiness() const;
  /// Packets delivered within `horizon` (>= 0) with probability 1 − quantile if the queue never
  /// empties: the quantile of the negative-binomial predictive distribution, by a moment-matched
  /// gamma and the Wilson-Hilferty approximation (PNAS 17, 1931). `normal` is the standard normal
  /// quantile.
  double deliveries(Duration horizon, double normal) const;

 private:
  Options options_;
  // Evidence, discounted.
  double packets_;
  double exposure_s_;
  // Squared errors of the expectation, in units of the variance that a Poisson process and the
  // belief's own uncertainty explain, and how many, discounted.
  double errors_;
  double blocks_;
  // The comparison that is under way.
  double block_rate_ = 0;
  double block_known_s_ = 0;  // exposure_s_ then
  double block_s_ = 0;
  double block_packets_ = 0;
};

}  // namespace cress::control
