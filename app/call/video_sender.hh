#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/call/control_message.hh"
#include "app/call/encode_work.hh"
#include "app/call/preference.hh"
#include "app/call/sent_frames.hh"
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
  /// unless a part of the window is enough for it (Plenty): more would wait in the queue when the
  /// link fails (docs/results.md).
  int quantizer_min = 12;
  int quantizer_min_of_plenty = 4;
  /// libvpx's effort for small frames (media::kSmallPixels): -4 takes 1.6 times the time of -8, for
  /// 0.2 dB of SSIM (docs/experiments/0034-effort-for-small-frames.md).
  int cpu_used_small = -4;
  /// The same with a scarce budget (media::kScarceBudget): -3 takes 1.3 to 1.8 times the time of
  /// -4, for another 0.3 dB (docs/experiments/0036-unevenness-and-effort.md).
  int cpu_used_scarce = -3;
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
/// has. Threads: none inside; one owner, but begin()'s work may run in another.
class VideoSender {
 public:
  /// `budget_share`: of the window, at most this goes into one frame's budget.
  explicit VideoSender(const VideoSenderOptions& options, double budget_share = 1);

  /// Encodes picture number `frame_id` (ascending; of the camera's size, not null) into at most
  /// `budget` bytes; `need_weight` as AdaptiveEncoder's.
  Encoding encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                  DataSize budget, double need_weight = 1);
  /// The same in two steps, between which the work is run once, at any time and in any thread. What
  /// is reported meanwhile counts from the next picture on. No picture begins before the one before
  /// it was finished.
  std::shared_ptr<EncodeWork> begin(TimePoint now, uint32_t frame_id, media::PicturePtr picture,
                                    DataSize budget, double need_weight = 1);
  Encoding finish(EncodeWork& work);
  /// From the next picture on; but never finer than the options allow.
  void set_plenty(const Plenty& plenty);
  /// Whether lost fragments are sent again: they need not be kept otherwise.
  bool repairs_losses() const { return sent_.repairs(); }
  /// As SentFrames's `begin` and `add`.
  void handle_frame_sent(TimePoint now, uint32_t frame_id, int parity) {
    sent_.begin(now, frame_id, parity);
  }
  void handle_fragment_sent(session::MessageId message_id, uint32_t frame_id,
                            std::vector<std::byte> fragment) {
    sent_.add(message_id, frame_id, std::move(fragment));
  }
  /// As SentFrames's; the encoder knows of a lost frame from then on.
  SentFrames::Consequence handle_outcome(TimePoint now, const session::MessageOutcome& outcome,
                                         DataSize room);
  /// From a relay (with anchors): frames that it does not mention may still arrive. From the other
  /// end of a call: a frame older than the newest that was not decoded never will be.
  void handle_report(const FrameReport& report);
  /// From the next picture on: frames of which nothing is reported may be lost.
  void refer_to_known() {
    tell([](media::AdaptiveEncoder& encoder) { encoder.refer_to_known(); });
  }
  /// The peer reports that it cannot display anything before a key frame.
  void handle_key_frame_request(TimePoint now) {
    tell([now](media::AdaptiveEncoder& encoder) { encoder.handle_references_lost(now); });
  }

  /// Not while a picture is being encoded.
  const media::AdaptiveEncoderStats& stats() const { return encoder_->stats(); }

 private:
  using Fact = std::function<void(media::AdaptiveEncoder&)>;

  /// At once, or as soon as the picture that is being encoded has been.
  void tell(Fact fact);
  void pass_on(const FrameReport& report, media::AdaptiveEncoder& encoder) const;

  std::shared_ptr<media::AdaptiveEncoder> encoder_;
  bool is_encoding_ = false;  // then encoder_ is left alone
  std::vector<Fact> untold_;  // at most kUntoldMax
  double budget_share_;
  int quantizer_min_of_plenty_;
  bool tells_all_;  // whether reports cover all older frames
  SentFrames sent_;
};

}  // namespace cress::app
