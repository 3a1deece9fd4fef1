#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "eval/schemes/like/like_controller.hh"
#include "transport/base/address.hh"

namespace cress::schemes {

/// One end's rate control and datagrams, for any media: RTP-like, with a report every
/// kReportInterval; layout in like_peer.cc. Errors: invalid datagrams are dropped. Threads: none
/// inside; one owner.
class LikePeer {
 public:
  static constexpr Duration kReportInterval = 200ms;
  static constexpr DataSize kDatagramMax{1200};
  static constexpr DataSize kMediaHeaderSize{13};
  /// A piece of media is no longer than this.
  static constexpr DataSize kMediaMax = kDatagramMax - kMediaHeaderSize;

  LikePeer(TimePoint start, const LikeOptions& options);

  /// The media in it; empty for a report and for invalid data.
  std::span<const std::byte> handle_datagram(TimePoint now, std::span<const std::byte> datagram);
  /// `needs_key_frame`: whether a report shall ask the other end for one.
  void handle_timeout(TimePoint now, bool needs_key_frame);
  /// A piece of media, sent at once.
  void send(TimePoint now, std::span<const std::byte> media);
  std::optional<Transmit> poll_transmit();
  TimePoint poll_timeout() const;
  /// Whether the other end has asked for a key frame since the last call.
  bool take_key_frame_wanted();
  /// The target rate of media; always within the options' floor and ceiling.
  DataRate target() const { return controller_.target(); }

 private:
  void send_report(TimePoint now, bool needs_key_frame);
  void handle_report(TimePoint now, std::span<const std::byte> datagram);

  bool reports_silence_;
  LikeController controller_;
  ArrivalBooks books_;
  std::deque<std::vector<std::byte>> outgoing_;  // drained after each call: one frame and a report
  bool key_frame_wanted_ = false;
  uint32_t next_sequence_ = 0;
  TimePoint next_report_;
};

}  // namespace cress::schemes
