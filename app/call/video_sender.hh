#pragma once

#include <cstdint>
#include <optional>

#include "media/codec/vp8_encoder.hh"
#include "media/frame/encoded_frame.hh"
#include "media/rate/frame_budget.hh"
#include "media/rate/quantizer_model.hh"
#include "transport/base/time.hh"

namespace cress::app {

struct VideoSenderOptions {
  int width = 640;
  int height = 360;
  media::FrameRate frame_rate{};
};

/// What became of one captured picture.
struct CodedVideo {
  uint32_t frame_id = 0;
  TimePoint captured{};
  DataSize budget{};  ///< bytes the frame was allowed
  DataSize size{};    ///< 0: skipped, because nothing useful would have fitted
  int quantizer = 0;
  bool key_frame = false;
};

struct Encoding {
  CodedVideo summary;
  media::EncodedFrame frame;  ///< without data when skipped
};

/// The first half of a frame's life: a picture and what may be spent on it -> a coded frame, or
/// none. Threads: none inside; one owner.
class VideoSender {
 public:
  explicit VideoSender(const VideoSenderOptions& options);

  /// `picture` has the camera's size and is not null.
  /// Codes picture number `frame_id` (ascending) at the finest quantizer that should fit `budget`.
  Encoding encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                  DataSize budget);
  /// A fragment of `frame_id` did not arrive: what followed cannot be decoded. A frame older than
  /// the newest key frame does not matter any more.
  void handle_frame_lost(uint32_t frame_id);
  /// The peer says that it cannot show anything before a key frame.
  void handle_key_frame_request(TimePoint now);

 private:
  media::Vp8Encoder encoder_;
  media::QuantizerModel model_;
  std::optional<uint32_t> last_coded_;
  media::PicturePtr last_picture_;  // the one last coded: what the next one is compared with
  std::optional<uint32_t> last_key_frame_;
  TimePoint last_key_frame_at_{};
  std::optional<TimePoint> key_frame_wanted_since_;
};

}  // namespace cress::app
