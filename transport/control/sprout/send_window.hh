#pragma once

#include <cstdint>

#include "transport/control/sprout/forecaster.hh"

namespace cress::control {

/// How many bytes may be sent now so that they leave the bottleneck's queue within the delay target
/// with high probability (paper §3.5). Threads: none inside; one owner. `now` never goes back.
class SendWindow {
 public:
  struct Options {
    Duration tick = kTickLength;
    int delay_target_ticks = kDelayTargetTicks;
    DataSize packet_size = kModelPacketSize;
    /// How the peer's counts are credited. The original adds up cumulative counts as ticks pass,
    /// which is too optimistic when feedback is older than two ticks.
    bool drain_cumulative_counts = true;
  };

  explicit SendWindow(Options options) : options_(options) {}

  /// A forecast arrived. `next_sequence`: the byte sequence after everything sent so far;
  /// `received_or_lost`: the bytes that the peer reports as no longer in flight (clamped to what
  /// was sent).
  void handle_forecast(TimePoint now, ForecastCounts counts, uint64_t next_sequence,
                       uint64_t received_or_lost);
  /// `size` of payload was just sent.
  void on_sent(TimePoint now, DataSize size);

  /// Bytes that may be sent now; never negative. 0 until the first forecast.
  DataSize window(TimePoint now) const;
  /// Estimate of the bytes in the network: sent, neither received nor lost, nor forecast to have
  /// drained.
  DataSize in_network(TimePoint now) const;
  /// Bytes that the current forecast promises over its whole life: bounds the sender's own queues
  /// (paper §4.3).
  DataSize forecast_total() const;
  /// When the window next grows by itself; kNever if it will not.
  TimePoint next_change(TimePoint now) const;
  const ForecastCounts& counts() const { return counts_; }

 private:
  int tick_at(TimePoint now) const;
  int last_tick() const { return static_cast<int>(counts_.size()) - 1; }
  /// Bytes credited as drained when stepping from forecast tick `from` to `to`, starting with
  /// `queue`.
  DataSize drained_to(DataSize queue, int from, int to) const;

  Options options_;
  ForecastCounts counts_;
  TimePoint received_{};
  // The queue estimate as of forecast tick tick_.
  int tick_ = 0;
  DataSize queue_;
};

}  // namespace cress::control
