#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "media/frame/picture.hh"
#include "transport/base/result.hh"

namespace cress::media {

enum class DecodeError {
  kEmpty,        ///< no bytes
  kNoKeyFrame,   ///< a delta frame before any key frame
  kTooLarge,     ///< a key frame of more pixels than allowed
  kUnsupported,  ///< not a VP8 frame, or a profile libvpx does not know
  kCorrupt,      ///< libvpx gave up inside the frame
};
const char* describe(DecodeError error);

struct Vp8DecoderOptions {
  /// A peer chooses the size of a key frame; this bounds the memory it may cost (6 bytes per pixel
  /// and more). Default: 4096 × 2304.
  int64_t pixels_max = int64_t{4096} * 2304;
};

/// The size of the pictures from this frame on, if it is a key frame (RFC 6386 §9.1): pixels.
/// nullopt: another frame, or no VP8.
std::optional<int64_t> key_frame_pixels(std::span<const std::byte> frame);

/// VP8 (RFC 6386) through libvpx, one thread. Errors: peer data gives a DecodeError and never
/// throws; set-up throws std::runtime_error with libvpx's message. After an error request a key
/// frame: the references may hold half a frame. Threads: none inside; one owner.
class Vp8Decoder {
 public:
  explicit Vp8Decoder(const Vp8DecoderOptions& options = {});
  ~Vp8Decoder();
  Vp8Decoder(Vp8Decoder&&) noexcept;
  Vp8Decoder& operator=(Vp8Decoder&&) noexcept;

  /// Decodes one encoded frame. Returns the picture, or null for a frame marked as not to be
  /// displayed.
  Result<PicturePtr, DecodeError> decode(std::span<const std::byte> frame);
  /// The last decoded frame's quantizer index, 0..127 (RFC 6386 §9.6); 0 before any frame.
  int quantizer_index() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::media
