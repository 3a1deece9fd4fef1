#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "eval/schemes/tcp/tcp_segment.hh"
#include "transport/base/machine.hh"

namespace cress::schemes {

/// The most that one flow of an untuned Linux host keeps in flight, 2.75 MB. The receiver may
/// announce 3.1 MB (half of tcp_rmem's 6 MiB); the sender's buffer (tcp_wmem's 4 MiB) holds 2.6 MB
/// if each segment occupies the 2304 bytes that the kernel accounts for it. Measured values lie
/// around these: from the delay over a slow link, 2.6 MB for the kernel's Cubic and 2.9 MB for its
/// Reno. With this value 16 recorded flows have their delay95 within 11 % of the kernel's
/// (tcp_world_test.cc).
inline constexpr DataSize kTcpReceiveWindow = kTcpPayloadMax * 1900;

/// The receiving end of one TCP flow whose application reads at once. Like Linux in the aspects
/// that matter: an acknowledgement every second segment or after 40 ms, every segment at the start
/// and out of order; SACK (RFC 2018) and timestamps (RFC 7323). Left out: the window does not grow
/// with use (tcp_rmem's autotuning); it is there from the start, which changes only a flow's first
/// round trips. Duplicates are not reported (RFC 2883). Bounds: ranges out of order, by the window;
/// acknowledgements waiting, by kPendingAcksMax, beyond which the newest replaces the last.
/// Threads: none inside; one owner.
class TcpReceiver final : public Machine {
 public:
  struct Options {
    DataSize window = kTcpReceiveWindow;
    Duration ack_delay_max = 40ms;  ///< TCP_DELACK_MIN
    int64_t quick_acks = 16;        ///< segments acknowledged at once (TCP_MAX_QUICKACKS)
  };
  struct Stats {
    uint64_t malformed = 0;
    uint64_t segments = 0;
    uint64_t duplicates = 0;
    uint64_t beyond_window = 0;
  };
  static constexpr size_t kPendingAcksMax = 64;

  TcpReceiver() : TcpReceiver(Options{}) {}
  explicit TcpReceiver(const Options& options) : options_(options) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override { return ack_due_; }

  /// In order since the flow's start: the data that the application has read, each byte once.
  DataSize received() const { return DataSize{next_}; }
  const Stats& stats() const { return stats_; }

 private:
  /// The effect of a segment on the order.
  enum class Arrival { kInOrder, kOutOfOrder, kFilledHole, kRejected };

  Arrival take(const TcpSegment& segment);
  void note_block(int64_t sequence);
  void acknowledge(TimePoint now);

  Options options_;
  int64_t next_ = 0;
  TcpRangeSet ahead_;
  std::deque<int64_t> recent_;  // a number inside each lately changed range, newest first
  std::optional<TimePoint> echo_;
  int64_t acknowledged_ = 0;  // the number in the last acknowledgement
  int64_t unacknowledged_segments_ = 0;
  int64_t quick_acks_used_ = 0;
  TimePoint ack_due_ = kNever;
  std::deque<TcpSegment> pending_;
  Stats stats_;
};

}  // namespace cress::schemes
