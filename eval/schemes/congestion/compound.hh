#pragma once

#include <optional>

#include "eval/schemes/tcp/tcp_congestion.hh"

namespace cress::schemes {

// draft-sridharan-tcpm-ctcp-02; windows in segments.
inline constexpr double kCompoundAlpha = 0.125;  // the delay window grows by alpha * win^k
inline constexpr double kCompoundBeta = 0.5;     // a loss reduces the window to this share
inline constexpr double kCompoundEta = 1.0;      // the delay window falls by eta * backlog
inline constexpr double kCompoundGammaMin = 5.0;
inline constexpr double kCompoundGammaMax = 30.0;  // also the initial value
inline constexpr double kCompoundGammaWeight = 0.8;

/// The gain of the delay window in a round trip without a queue: max(alpha * window^0.75 - 1, 0).
/// By square roots, which IEEE 754 rounds identically everywhere.
double compound_increase(double window);

/// Compound TCP (Tan, Song, Zhang, Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02): Reno's
/// window plus a second one that grows fast while the backlog is under gamma and shrinks by the
/// backlog above it. Gamma follows the backlog that Reno's window alone had when a packet was lost.
/// Differs from the draft as the Linux port does: a backlog of gamma ends slow start, which nothing
/// else would in an unlimited queue; a round is judged by its least round trip. Units: a fractional
/// number of segments inside, whole ones outside. Threads: none inside; one owner.
class Compound final : public CongestionControl {
 public:
  void on_ack(const AckEvent& ack) override;
  void on_loss(TimePoint now) override;
  void on_timeout(TimePoint now, bool repeated) override;
  void on_spurious_loss(TimePoint now) override;
  DataSize window() const override;

  bool in_slow_start() const { return total() < state_.threshold; }
  double loss_window() const { return state_.loss; }
  double delay_window() const { return state_.delay; }
  double gamma() const { return state_.gamma; }

 private:
  struct State {
    double loss = 10.0;         // segments (kTcpInitialWindow)
    double delay = 0;           // segments
    double threshold = 1.0e12;  // no loss yet
    double gamma = kCompoundGammaMax;
  };
  double total() const { return state_.loss + state_.delay; }
  void judge_round();
  void retune_gamma();

  State state_;
  State before_loss_;
  std::optional<Duration> base_;
  std::optional<Duration> smoothed_;
  std::optional<Duration> least_this_round_;
  std::optional<double> reno_backlog_;
  int samples_ = 0;
  DataSize round_end_;
};

}  // namespace cress::schemes
