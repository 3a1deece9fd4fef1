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
  /// Nothing is encoded finer than this, at 18 dB of SSIM (44 dB of PSNR) for a talking head,
  /// unless a quarter of the window is enough for it: more would wait in the queue when the link
  /// fails (docs/results.md).
  int quantizer_min = 12;
  int quantizer_min_of_plenty = 4;
};

/// The outcome of one captured picture.
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
  media::EncodedFrame frame;  ///< without data if skipped
};

/// The sending half of video: a picture and its budget -> an encoded frame that fits, or none.
/// Later reports of loss or decoding let the next frame refer only to frames that the other end
/// has. Threads: none inside; one owner.
class VideoSender {
 public:
  /// `budget_share`: of the window, at most this goes into one frame's budget.
  explicit VideoSender(const VideoSenderOptions& options, double budget_share = 1);

  /// Encodes picture number `frame_id` (ascending; of the camera's size, not null) into at most
  /// `budget` bytes.
  Encoding encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                  DataSize budget);
  /// The frame is being sent and survives the loss of as many fragments as it has parity;
  void handle_frame_sent(uint32_t frame_id, int parity) { spare_[frame_id] = parity; }
  /// a fragment of it was sent as this message of the video flow; message ids ascend without gaps.
  void handle_fragment_sent(session::MessageId message_id, uint32_t frame_id);
  void handle_outcome(const session::MessageOutcome& outcome);
  /// From a relay (with anchors): frames that it does not mention may still arrive. From the other
  /// end of a call: a frame older than the newest that was not decoded never will be.
  void handle_report(const FrameReport& report);
  /// The peer reports that it cannot display anything before a key frame.
  void handle_key_frame_request(TimePoint now) { encoder_.handle_references_lost(now); }

  const media::AdaptiveEncoderStats& stats() const { return encoder_.stats(); }

 private:
  media::AdaptiveEncoder encoder_;
  bool tells_all_;  // whether reports cover all older frames
  // The frame in each message, from first_carried_ on, until its outcome is known; bounded like the
  // endpoint's own record.
  std::deque<uint32_t> carried_;
  session::MessageId first_carried_ = 0;
  std::map<uint32_t, int> spare_;  // of the frames in carried_: fragments that may still be lost
};

}  // namespace cress::app
