#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "eval/schemes/tcp/tcp_congestion.hh"
#include "eval/schemes/tcp/tcp_receiver.hh"
#include "eval/schemes/tcp/tcp_scoreboard.hh"
#include "eval/schemes/tcp/tcp_segment.hh"
#include "transport/base/machine.hh"

namespace cress::schemes {

/// Retransmission timeout (RFC 6298), in Linux's form: the variation is the maximum of the last
/// window, never under 200 ms, and falls slowly; so the timeout is at least 200 ms above the
/// smoothed round trip. Threads: none inside; one owner.
class TcpRoundTrip {
 public:
  static constexpr Duration kVariationMin = 200ms;  // TCP_RTO_MIN
  static constexpr Duration kTimeoutInitial = 1s;   // RFC 6298 §2.1
  static constexpr Duration kTimeoutMax = 120s;     // TCP_RTO_MAX

  /// `window_over`: a window's worth has been acknowledged since this was last true.
  void observe(Duration sample, bool window_over);
  std::optional<Duration> smoothed() const { return smoothed_; }
  /// Doubled `backoffs` times, bounded by kTimeoutMax.
  Duration timeout(int backoffs) const;

 private:
  std::optional<Duration> smoothed_;
  Duration deviation_{};      // mean, RFC 6298's RTTVAR
  Duration deviation_max_{};  // four times the mean's maximum in this window
  Duration variation_{};      // what the timeout adds
};

/// The sending end of one TCP flow with endless data. Like Linux in the aspects that matter: IW10,
/// losses found by SACK and time order (RACK, RFC 8985; new data goes out on the first duplicates,
/// as RFC 3042), repaired under PRR (RFC 6937), spurious timeouts and recoveries undone by
/// timestamps (RFC 3522, RFC 4015). Left out: the handshake (the flow starts with its window open),
/// the tail loss probe, ECN, F-RTO (timestamps give the same information here), duplicate SACK.
/// Bounds: segments outstanding, by both windows, the receiver's at most kTcpWindowMax. Threads:
/// none inside; one owner.
class TcpSender final : public Machine {
 public:
  struct Options {
    /// Assumed before the first acknowledgement.
    DataSize peer_window{65'535};
    /// What the application has to send, rounded up to whole segments; it has no end by default.
    DataSize data{kTcpSequenceMax};
  };
  struct Stats {
    uint64_t malformed = 0;   ///< not a segment
    uint64_t unexpected = 0;  ///< acknowledges data never sent
    uint64_t segments = 0;    ///< all transmissions
    uint64_t retransmissions = 0;
    uint64_t recoveries = 0;
    uint64_t timeouts = 0;
    uint64_t undone = 0;  ///< recoveries and timeouts that were spurious
  };

  explicit TcpSender(std::unique_ptr<CongestionControl> control)
      : TcpSender(std::move(control), Options{}) {}
  TcpSender(std::unique_ptr<CongestionControl> control, const Options& options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  /// What may be in flight now: the controller's window, or PRR's during a recovery.
  DataSize window() const;
  /// Everything was acknowledged.
  bool finished() const { return board_.first() >= data_end_; }
  DataSize in_flight() const { return kTcpPayloadMax * board_.in_flight(); }
  const CongestionControl& control() const { return *control_; }
  const TcpRoundTrip& round_trip() const { return round_trip_; }
  const Stats& stats() const { return stats_; }

 private:
  enum class State { kOpen, kRecovery, kLoss };

  void handle_ack(TimePoint now, const TcpSegment& ack);
  void sample_round_trip(TimePoint now, const TcpSegment& ack, bool advanced);
  void undo_if_spurious(TimePoint now, const TcpSegment& ack, bool advanced);
  void report(TimePoint now, const TcpSegment& ack, const TcpScoreboard::Delivery& delivery,
              DataSize in_flight_before, int64_t lost);
  bool may_send() const;
  void leave_repair(TimePoint now);
  void begin_repair();
  void enter_recovery(TimePoint now);
  void reduce_proportionally(int64_t delivered, bool progress);
  void restart_timer(TimePoint now);
  Transmit make_segment(TimePoint now, int64_t number);

  std::unique_ptr<CongestionControl> control_;
  TcpScoreboard board_;
  TcpRoundTrip round_trip_;
  bool started_ = false;  // requests one time-out at the start, because nothing else sends first
  State state_ = State::kOpen;
  int64_t data_end_;               // in segments
  int64_t peer_limit_;             // the byte after the last that the peer lets in
  std::optional<TimePoint> echo_;  // the peer's newest timestamp
  int64_t round_end_ = 0;          // in segments, for the round-trip variation
  int64_t repair_end_ = 0;         // in segments: recovery or loss ends when this is acknowledged
  std::optional<TimePoint> first_retransmission_;  // of those still out
  // PRR, in segments (RFC 6937 §3).
  int64_t flight_at_loss_ = 0;
  int64_t delivered_in_recovery_ = 0;
  int64_t sent_in_recovery_ = 0;
  int64_t recovery_window_ = 0;
  int backoffs_ = 0;
  TimePoint timeout_at_ = kNever;
  TimePoint paced_until_ = kTimeZero;
  bool waits_for_pace_ = false;
  Stats stats_;
};

}  // namespace cress::schemes
