#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/call/video_receiver.hh"
#include "app/call/video_sender.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

struct CallOptions {
  session::EndpointOptions endpoint;
  /// Of the own camera; empty: this end only watches.
  std::optional<VideoSenderOptions> video;
  /// Whether what a frame leaves of the safe window is filled with padding. Sprout's belief takes a
  /// tick with few arrivals for a slow link, also when only the sender had little to send
  /// (reference specification §3): without padding it falls until hardly a frame fits. Measured in
  /// docs/results.md, "A camera is not a saturating source".
  bool pads_window = true;
};

/// One end of a call: joins a Sprout session with coding and showing video, without I/O. A captured
/// picture is coded at once for what the safe window lets through now, or skipped; nothing waits
/// for a better time (DESIGN §4). After each handle_* and verb poll transmit, coded and shown until
/// empty, then sleep until poll_timeout. Threads: none inside; one owner. `now` never goes back.
class Call {
 public:
  Call(TimePoint start, CallOptions options, std::unique_ptr<sprout::Control> control);

  /// A picture of the own camera, just captured; pictures are numbered from 0.
  void capture(TimePoint now, const media::PicturePtr& picture);

  Result<Unit, wire::WireError> handle_datagram(TimePoint now, std::span<const std::byte> datagram);
  void handle_timeout(TimePoint now);
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now);
  TimePoint poll_timeout() const;

  /// What became of each captured picture, in order.
  std::optional<CodedVideo> poll_coded();
  std::optional<ShownFrame> poll_shown() { return receiver_.poll_shown(); }

  const session::Endpoint& endpoint() const { return endpoint_; }

 private:
  void pad(TimePoint now);
  void drain(TimePoint now);
  void handle_outcome(const session::MessageOutcome& outcome);
  void ask_for_key_frame(TimePoint now);

  session::Endpoint endpoint_;
  bool pads_window_;
  std::optional<VideoSender> sender_;
  VideoReceiver receiver_;
  std::deque<CodedVideo> coded_;
  uint32_t next_frame_id_ = 0;
  // The frame that each message of the video flow carries, from first_carried_ on, until its
  // outcome is known; bounded as the endpoint's own books are.
  std::deque<uint32_t> carried_;
  session::MessageId first_carried_ = 0;
  TimePoint next_key_request_ = kTimeZero;
};

}  // namespace cress::app
