#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::schemes {

/// A packet waiting to be sent.
struct GccPaced {
  uint32_t media_sequence = 0;
  bool sent_again = false;
  std::vector<std::byte> fragment;
  DataSize wire_size;  ///< the whole IP packet
};

/// Shape: factor >= 1, burst and drain > 0.
struct GccPacerOptions {
  double factor = 2.5;  ///< times the target: libwebrtc
  /// Packets are sent in bursts of this much time at the paced rate. The draft, §4: 5 ms.
  Duration burst = 5ms;
  /// The queue shall be empty within this, whatever the target: libwebrtc.
  Duration drain = 2s;
};

/// Spreads a frame's packets over time (draft-ietf-rmcat-gcc-02, §4). Retransmissions are sent
/// first. The queue has at most kQueueMax packets; one more is refused, and the peer will request
/// it. Threads: none inside; one owner. `now` never goes back.
class GccPacer {
 public:
  static constexpr size_t kQueueMax = 4096;

  explicit GccPacer(const GccPacerOptions& options = {});

  void set_target(TimePoint now, DataRate target);
  /// False if it was refused.
  bool push(TimePoint now, GccPaced packet);
  /// The next packet that may be sent now.
  std::optional<GccPaced> poll_packet(TimePoint now);
  /// The next packet whether it may be sent or not: a probe sends faster than the paced rate.
  std::optional<GccPaced> take_packet(TimePoint now);
  /// When the next one may be sent; kNever if nothing waits.
  TimePoint poll_timeout() const;
  /// Something was sent past the queue (padding).
  void handle_sent(TimePoint now, DataSize size);

  DataSize queued() const { return queued_; }
  size_t queued_packets() const { return first_.size() + second_.size(); }

 private:
  DataRate rate() const;
  void pay(TimePoint now);
  bool is_open() const;

  GccPacerOptions options_;
  DataRate target_ = DataRate::kilobits_per_second(300);
  std::deque<GccPaced> first_;   // retransmissions
  std::deque<GccPaced> second_;  // new
  DataSize queued_;
  double debt_bits_ = 0;  // sent, and not yet covered by the paced rate
  TimePoint paid_{};
};

}  // namespace cress::schemes
