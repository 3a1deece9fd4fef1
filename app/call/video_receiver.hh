#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "media/codec/vp8_decoder.hh"
#include "media/frame/assembler.hh"
#include "media/frame/picture.hh"
#include "media/playout/frame_clock.hh"
#include "transport/base/time.hh"

namespace cress::app {

/// A picture that goes to the screen.
struct ShownFrame {
  uint32_t frame_id = 0;
  TimePoint captured{};  ///< on the sender's clock
  TimePoint shown{};
  DataSize size;  ///< of the coded frame
  media::PicturePtr picture;
};

struct VideoReceiverStats {
  uint64_t fragments_malformed = 0;
  uint64_t frames_undecodable = 0;
};

/// The second half of a frame's life: fragments -> assemble -> in decodable order -> decode ->
/// show. Peer data never fails a check: what cannot be decoded is counted and a key frame asked
/// for. Threads: none inside; one owner.
class VideoReceiver {
 public:
  /// One message of the video flow.
  void handle_fragment(TimePoint now, std::span<const std::byte> message);
  /// Nothing arrived, but a frame that was waited for may be given up now.
  void handle_timeout(TimePoint now) { decode_ready(now); }
  TimePoint poll_timeout() const { return clock_.poll_timeout(); }
  std::optional<ShownFrame> poll_shown();
  /// The references are lost: nothing can be shown before a key frame comes.
  bool needs_key_frame() const { return clock_.needs_key_frame(); }
  /// Any fragment has arrived: there is somebody to ask.
  bool has_received() const { return has_received_; }
  const VideoReceiverStats& stats() const { return stats_; }

 private:
  void decode_ready(TimePoint now);

  media::Assembler assembler_;
  media::FrameClock clock_;
  media::Vp8Decoder decoder_;
  bool has_received_ = false;
  std::deque<ShownFrame> shown_;  // drained after each call: grows by what one call can bring
  VideoReceiverStats stats_;
};

}  // namespace cress::app
