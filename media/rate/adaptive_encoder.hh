#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "media/codec/vp8_encoder.hh"
#include "media/frame/encoded_frame.hh"
#include "media/frame/picture.hh"
#include "media/rate/quantizer_model.hh"
#include "media/rate/quantizer_search.hh"
#include "media/rate/reference_policy.hh"
#include "media/rate/resolution_ladder.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// Frames of at most so many pixels are small.
inline constexpr int kSmallPixels = 640 * 480;
/// A budget of at most this is scarce: 30 frames a second of it are 480 kbit/s.
inline constexpr DataSize kScarceBudget{2000};

struct AdaptiveEncoderOptions {
  /// Size of the input pictures; encoded frames may be smaller.
  int width = 640;
  int height = 360;
  FrameRate frame_rate{};
  /// libvpx's effort, as in Vp8EncoderOptions ...
  int cpu_used = -8;
  /// ... and for frames of at most kSmallPixels, which take less time to encode anyway.
  int cpu_used_small = cpu_used;
  /// ... and for small frames with a scarce budget (kScarceBudget).
  int cpu_used_scarce = cpu_used_small;
  /// How often one picture may be encoded at most. With 1, a picture whose only attempt is too
  /// large is skipped, so attempts keep a margin below the budget that makes this rare.
  int attempts_max = 3;
  /// 1..kTemporalLayersMax; see ReferencePolicy.
  int temporal_layers = 1;
  /// See ReferencePolicyOptions.
  int anchor_interval = 0;
  /// Steps down to 3/4 and 1/2 of the size when the budgets are too small for the full size.
  bool resolution_steps = true;
  /// 0..kQuantizerMax; a quantizer finer than 2 takes bits without visible gain.
  int quantizer_min = 2;
  /// Delta frames may be finer, down to this, if they are then expected to take no more than
  /// plenty_share of their budget.
  int quantizer_min_of_plenty = quantizer_min;
  double plenty_share = 0.25;
};

/// The outcome of one picture.
struct AdaptedFrame {
  /// Without data: skipped, and nothing is to be sent.
  EncodedFrame frame;
  DataSize budget{};
  /// The quantizer of the frame, or of the last attempt if it was skipped.
  int quantizer = 0;
  /// How often the picture was encoded.
  int attempts = 0;
  /// Size of the encoded frame in pixels.
  int width = 0;
  int height = 0;

  bool skipped() const { return frame.data.empty(); }
};

struct AdaptiveEncoderStats {
  uint64_t frames = 0;
  uint64_t skipped = 0;
  uint64_t attempts = 0;
  uint64_t key_frames = 0;
  /// Key frames sent although they did not fit; no other frame ever exceeds its budget.
  uint64_t over_budget = 0;
  uint64_t resolution_steps = 0;
  friend bool operator==(const AdaptiveEncoderStats&, const AdaptiveEncoderStats&) = default;
};

/// VP8 encoding in which every frame fits its budget: encodes a picture, checks the size, and if
/// that is wrong restores libvpx's reference and encodes again. A picture that is too large even at
/// the coarsest quantizer is tried with less detail: blurred where it changed, unchanged elsewhere.
/// If it still does not fit it is skipped.
///
/// After the first, a key frame is sent only when the receiver has lost every reference or when the
/// encoded size changes (ResolutionLadder). A key frame that does not fit waits for a wider window
/// for kKeyFrameWaitMax (kStepWaitMax for a smaller size), then it is sent at its smallest size.
/// All other frames always fit. After a loss the next frame refers to what is known to have been
/// decoded (ReferencePolicy). The receiver decodes frames in the order of their ids, each exactly
/// when it has decoded the one with `reference_id`. Errors: std::runtime_error with libvpx's
/// message if it fails. Threads: none inside; one owner.
class AdaptiveEncoder {
 public:
  static constexpr Duration kKeyFrameWaitMax = 300ms;
  /// A change of size is less urgent.
  static constexpr Duration kStepWaitMax = 1s;
  /// A request that crosses with the key frame it asks for is not a new one.
  static constexpr Duration kKeyFrameIntervalMin = 500ms;

  explicit AdaptiveEncoder(const AdaptiveEncoderOptions& options);
  ~AdaptiveEncoder();
  AdaptiveEncoder(AdaptiveEncoder&&) noexcept;
  AdaptiveEncoder& operator=(AdaptiveEncoder&&) noexcept;

  /// Encodes picture number `frame_id` (ascending) into at most `budget` bytes; without a budget
  /// (<= 0) it is skipped. `picture`: of the size in the options, not null. `now` never goes back.
  /// `need_weight`, 0..1: how much such a budget says about those to come; at 0 one that is too
  /// small for the picture never leads to a smaller size.
  AdaptedFrame encode(TimePoint now, uint32_t frame_id, const PicturePtr& picture, DataSize budget,
                      double need_weight = 1);

  /// From the next picture on; as quantizer_min_of_plenty and plenty_share of the options.
  void set_plenty(int quantizer_min, double share) {
    options_.quantizer_min_of_plenty = quantizer_min;
    options_.plenty_share = share;
  }

  /// The receiver has decoded this frame, and so also those that it refers to.
  void handle_decoded(uint32_t frame_id) { policy_.handle_decoded(frame_id); }
  /// A fragment of this frame was lost: the frame and its descendants cannot be used.
  void handle_lost(uint32_t frame_id) { policy_.handle_lost(frame_id); }
  /// The next frame refers to what is known to have been decoded: the frames since may be lost.
  void refer_to_known() { policy_.refer_to_known(); }
  /// The receiver has no reference at all (for example it has just joined): only a key frame helps.
  void handle_references_lost(TimePoint now);

  const AdaptiveEncoderStats& stats() const { return stats_; }
  /// The encoder's own reconstruction, for tests: equal to the receiver's.
  Picture reference(ReferenceBuffer buffer) const { return encoder_->reference(buffer); }

 private:
  // The content of one of the encoder's buffers.
  struct Reference {
    PicturePtr picture;  // the input picture, at the encoded size
    int quantizer = 0;
  };

  struct KeyFrameWish {
    int rung = 0;
    bool must_go = false;  // sent even if it does not fit
    int attempts_kept =
        0;  // attempts reserved for encoding the picture differently if it does not fit
  };

  Vp8EncoderOptions encoder_options(int rung, DataSize budget) const;
  int cpu_used(int pixels, DataSize budget) const;
  PicturePtr at_rung(const PicturePtr& picture, int rung) const;
  FrameContext context(const ReferenceChoice& choice, const Picture& picture) const;
  int finest_allowed(const FrameContext& frame, DataSize budget,
                     const QuantizerSearch::LogSizes& expected) const;
  QuantizerSearch make_search(const FrameContext& frame, const AdaptedFrame& out,
                              int attempts_kept = 0) const;
  bool key_frame_may_fit(int rung, DataSize budget) const;

  bool encode_delta(const ReferenceChoice& choice, const PicturePtr& picture, AdaptedFrame& out);
  bool encode_reduced(const ReferenceChoice& choice, const Picture& picture, double excess,
                      AdaptedFrame& out);
  bool encode_key(const PicturePtr& picture, const KeyFrameWish& wish, AdaptedFrame& out);
  bool step_down_shows_more(const PicturePtr& picture, int rung) const;
  bool step(TimePoint now, const PicturePtr& picture, AdaptedFrame& out);
  void learn_margin(bool fitted);
  void remember(const ReferenceChoice& choice, const PicturePtr& picture, int quantizer);

  AdaptiveEncoderOptions options_;
  AdaptiveEncoderStats stats_;
  std::unique_ptr<Vp8Encoder> encoder_;
  QuantizerModel model_;
  ReferencePolicy policy_;
  ResolutionLadder ladder_;
  std::array<Reference, 3> references_;  // indexed by ReferenceBuffer
  ReferenceCopy before_;                 // "last" before the attempts
  ReferenceCopy kept_;                   // "last" after the best attempt so far
  std::optional<TimePoint> key_frame_wanted_since_;
  std::optional<TimePoint> last_key_frame_at_;
  TimePoint last_now_{TimePoint::min()};
  double margin_;  // in log2 of bytes, for a single attempt
};

}  // namespace cress::media
