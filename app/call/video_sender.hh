#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "app/call/control_message.hh"
#include "media/frame/encoded_frame.hh"
#include "media/rate/adaptive_encoder.hh"
#include "transport/base/time.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

struct VideoSenderOptions {
  int width = 640;
  int height = 360;
  media::FrameRate frame_rate{};
  /// 1..3: layers that a relay may drop (media::ReferencePolicy). A call of two needs none.
  int temporal_layers = 1;
  /// With a relay: see media::ReferencePolicyOptions.
  int anchor_interval = 0;
  /// Nothing is coded finer than this, at 18 dB of SSIM (44 dB of PSNR) for a talking head, unless
  /// a quarter of the budget is enough for it: more would wait in the queue when the link dies
  /// (docs/results.md).
  int quantizer_min = 12;
  int quantizer_min_of_plenty = 4;
};

/// What became of one captured picture.
struct CodedVideo {
  uint32_t frame_id = 0;
  TimePoint captured{};
  DataSize budget{};  ///< bytes the frame was allowed
  DataSize size{};    ///< 0: skipped, because nothing useful would have fitted
  int quantizer = 0;
  int attempts = 0;
  bool key_frame = false;
};

struct Encoding {
  CodedVideo summary;
  media::EncodedFrame frame;  ///< without data when skipped
};

/// The first half of a frame's life: a picture and what may be spent on it -> a coded frame that
/// fits, or none; and what is heard of it later: lost or decoded, so that the next one refers only
/// to what the other end has. Threads: none inside; one owner.
class VideoSender {
 public:
  explicit VideoSender(const VideoSenderOptions& options);

  /// Codes picture number `frame_id` (ascending; of the camera's size, not null) into at most
  /// `budget` bytes.
  Encoding encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                  DataSize budget);
  /// The frame is being sent and survives the loss of as many fragments as it has parity;
  void handle_frame_sent(uint32_t frame_id, int parity) { spare_[frame_id] = parity; }
  /// a fragment of it left as this message of the video flow; message ids ascend without holes.
  void handle_fragment_sent(session::MessageId message_id, uint32_t frame_id);
  void handle_outcome(const session::MessageOutcome& outcome);
  /// Of a relay (with anchors): what it does not tell of may yet come; of the other end of a call:
  /// what is older than the newest and was not decoded never will be.
  void handle_report(const FrameReport& report);
  /// The peer says that it cannot show anything before a key frame.
  void handle_key_frame_request(TimePoint now) { encoder_.handle_references_lost(now); }

  const media::AdaptiveEncoderStats& stats() const { return encoder_.stats(); }

 private:
  media::AdaptiveEncoder encoder_;
  bool tells_all_;  // of reports
  // The frame that each message carries, from first_carried_ on, until its outcome is known;
  // bounded as the endpoint's own books are.
  std::deque<uint32_t> carried_;
  session::MessageId first_carried_ = 0;
  std::map<uint32_t, int> spare_;  // of the frames in carried_: fragments that may yet be lost
};

}  // namespace cress::app
