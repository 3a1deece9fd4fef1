#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "media/frame/picture.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// libvpx's quantizer scale: 0 finest, 63 coarsest.
inline constexpr int kQuantizerMax = 63;

enum class RateMode {
  kQuantizer,        ///< the caller gives each frame's quantizer
  kConstantBitrate,  ///< libvpx's own rate control follows `set_target`, as WebRTC uses it
};

struct Vp8EncoderOptions {
  int width = 640;
  int height = 360;
  FrameRate frame_rate{};
  /// -16..-1; nearer to 0 is slower and better. Positive values are refused: with them libvpx
  /// adapts its effort to the clock, and the same pictures would give different bytes on a busy
  /// machine.
  int cpu_used = -8;
  /// Frames whose entropy coding does not depend on the frame before. Costs bits, and with constant
  /// bitrate libvpx also spreads key-frame refresh over several frames. With fixed quantizers it
  /// costs 8 bytes per frame, and makes libvpx follow a ReferencePlan.
  bool error_resilient = false;
  /// libvpx's adaptive noise reduction, as WebRTC sets it for cameras on desktops: the camera's
  /// noise is not encoded. The reconstruction is then closer to the scene and further from the
  /// input picture.
  bool denoise = false;
  RateMode rate_mode = RateMode::kQuantizer;

  // For constant bitrate only.
  DataRate target = DataRate::kilobits_per_second(600);
  /// Lets libvpx skip frames when its buffer runs low (below 30 %, as WebRTC sets it).
  bool drop_frames = false;
  /// WebRTC's values: below 2 bits are spent without visible gain; above 56 blocks become visible.
  int quantizer_min = 2;
  int quantizer_max = 56;
};

/// Which of VP8's three reference buffers a frame may read and which it replaces (RFC 6386 §9.7). A
/// frame that replaces none and leaves the entropy state unchanged is an attempt: it can be
/// discarded without effect on the decoder. (libvpx learns from an attempt which modes are worth
/// trying: the next frame may differ by a few bytes from what it would have been, but it decodes
/// correctly.) Without Vp8EncoderOptions::error_resilient libvpx also replaces golden by itself
/// about every 40th frame, whatever the plan says (measured with 1.12). The frame says so, so the
/// decoder stays in step; but the previous content of golden is lost.
struct ReferencePlan {
  bool read_last = true;
  bool read_golden = true;
  bool read_alternate = true;
  bool replace_last = true;
  bool replace_golden = false;
  bool replace_alternate = false;
  bool update_entropy = true;
  friend bool operator==(const ReferencePlan&, const ReferencePlan&) = default;
};

enum class ReferenceBuffer { kLast, kGolden, kAlternate };

/// The contents of one reference buffer, including borders and everything a decoder never displays.
/// Filled by Vp8Encoder::save_reference; may be filled again, and keeps its memory.
class ReferenceCopy {
 public:
  ReferenceCopy();
  ~ReferenceCopy();
  ReferenceCopy(ReferenceCopy&&) noexcept;
  ReferenceCopy& operator=(ReferenceCopy&&) noexcept;

 private:
  friend class Vp8Encoder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct EncodeOptions {
  /// 0..63, for RateMode::kQuantizer: for this frame. (libvpx may use the next coarser one, for
  /// example for frames near 500 kB; CodedPicture::quantizer reports it.)
  int quantizer = 32;
  bool key_frame = false;
  /// For constant bitrate. Without it the pictures are frame_rate apart. Must grow from frame to
  /// frame.
  std::optional<TimePoint> capture_time{};
  /// If empty libvpx decides: it replaces "last" each frame and "golden" sometimes.
  std::optional<ReferencePlan> references{};
};

struct CodedPicture {
  /// Empty if the frame was dropped (constant bitrate with drop_frames only).
  std::vector<std::byte> data;
  bool key_frame = false;
  int quantizer = 0;

  bool dropped() const { return data.empty(); }
  DataSize size() const { return DataSize{static_cast<int64_t>(data.size())}; }
  friend bool operator==(const CodedPicture&, const CodedPicture&) = default;
};

/// VP8 (RFC 6386) through libvpx, one thread, one pass, real-time effort. The same pictures and
/// calls give the same bytes. Errors: set-up that libvpx refuses, or an encode that fails, throws
/// std::runtime_error with libvpx's message. Threads: none inside; one owner.
class Vp8Encoder {
 public:
  explicit Vp8Encoder(const Vp8EncoderOptions& options);
  ~Vp8Encoder();
  Vp8Encoder(Vp8Encoder&&) noexcept;
  Vp8Encoder& operator=(Vp8Encoder&&) noexcept;

  /// `picture` has the encoder's width and height. The first frame is a key frame in any case.
  CodedPicture encode(const Picture& picture, const EncodeOptions& options = {});

  /// Constant bitrate: from the next frame on. At least 1 kbit/s.
  void set_target(DataRate target);
  /// From the next frame on, which will be a key frame. `width`, `height` in 1..kPictureSideMax.
  void set_size(int width, int height);
  /// The effort, as in Vp8EncoderOptions, from the next frame on.
  void set_cpu_used(int cpu_used);

  int width() const;
  int height() const;
  /// Copies the current contents of `buffer`: taken before an attempt, the copy undoes it.
  void save_reference(ReferenceBuffer buffer, ReferenceCopy& to) const;
  /// Puts a copy, taken from this encoder at its current size, into `buffer`. A buffer that the
  /// last frame replaced together with `buffer` shares its memory and changes too; no other does.
  /// (libvpx writes each frame to unused memory, and then lets the replaced buffers refer to it.)
  void restore_reference(ReferenceBuffer buffer, const ReferenceCopy& from);
  /// The encoder's own reconstruction in `buffer`, for tests: equal to the decoder's.
  Picture reference(ReferenceBuffer buffer) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::media
