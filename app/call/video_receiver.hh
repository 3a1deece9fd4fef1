#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "app/call/control_message.hh"
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
/// show. Peer data never fails a check: what cannot be decoded is counted. Threads: none inside;
/// one owner. `now` never goes back.
class VideoReceiver {
 public:
  /// `stuck_max`: how long frames may come that refer to what never came, before a key frame is
  /// asked for. A Cress sender answers a loss by itself, within a round trip.
  explicit VideoReceiver(Duration stuck_max = 1s) : stuck_max_(stuck_max) {}

  /// One message of the video flow.
  void handle_fragment(TimePoint now, std::span<const std::byte> message);
  /// Nothing arrived, but a frame that was waited for may be given up now.
  void handle_timeout(TimePoint now) { decode_ready(now); }
  TimePoint poll_timeout() const;
  /// The next picture whose time to be shown has come by the last handle_*.
  std::optional<ShownFrame> poll_shown();
  /// Pictures wait this much longer than they must, for the sound (AvSync). From the next one on.
  void set_hold(Duration hold) { hold_ = hold; }

  /// What the sender should hear; nothing before the first decoded frame.
  std::optional<FrameReport> report() const { return report_; }
  /// The references are lost and the sender does not know: nothing was ever decoded, a frame broke
  /// the decoder, or frames keep coming that refer to what never came.
  bool needs_key_frame() const;
  const VideoReceiverStats& stats() const { return stats_; }

 private:
  void decode_ready(TimePoint now);
  void note_decoded(uint32_t frame_id);

  Duration stuck_max_;
  TimePoint now_ = kTimeZero;  // of the last handle_*
  // A frame cut through by an outage is completed after it: what follows refers to it.
  media::Assembler assembler_{{.age_max = 30s}};
  media::FrameClock clock_;
  media::Vp8Decoder decoder_;
  bool has_received_ = false;
  bool decoder_failed_ = false;
  std::optional<TimePoint> stuck_since_;
  std::optional<FrameReport> report_;
  Duration hold_{};
  std::deque<ShownFrame> decoded_;  // drained when due: holds what hold_ keeps back
  VideoReceiverStats stats_;
};

}  // namespace cress::app
