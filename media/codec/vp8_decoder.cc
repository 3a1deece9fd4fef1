#include "media/codec/vp8_decoder.hh"

#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>

#include <stdexcept>
#include <string>

#include "media/codec/vpx_image.hh"
#include "media/frame/encoded_frame.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

struct FrameTag {
  bool key_frame = false;
  int width = 0;   // key frames only
  int height = 0;  // key frames only
};

// The uncompressed data chunk, RFC 6386 §9.1.
Result<FrameTag, DecodeError> parse_tag(std::span<const std::byte> frame) {
  const auto byte_at = [&](size_t i) { return std::to_integer<int>(frame[i]); };
  if (frame.empty()) {
    return DecodeError::kEmpty;
  }
  if (frame.size() < 3 || static_cast<int64_t>(frame.size()) > kEncodedFrameMax.bytes()) {
    return DecodeError::kUnsupported;
  }
  FrameTag tag{.key_frame = (byte_at(0) & 1) == 0};
  if (!tag.key_frame) {
    return tag;
  }
  if (frame.size() < 10 || byte_at(3) != 0x9D || byte_at(4) != 0x01 || byte_at(5) != 0x2A) {
    return DecodeError::kUnsupported;
  }
  tag.width = (byte_at(6) | byte_at(7) << 8) & 0x3FFF;
  tag.height = (byte_at(8) | byte_at(9) << 8) & 0x3FFF;
  if (tag.width == 0 || tag.height == 0) {
    return DecodeError::kUnsupported;
  }
  return tag;
}

}  // namespace

std::optional<int64_t> key_frame_pixels(std::span<const std::byte> frame) {
  const Result<FrameTag, DecodeError> tag = parse_tag(frame);
  return tag && tag->key_frame ? std::optional{int64_t{tag->width} * tag->height} : std::nullopt;
}

const char* describe(DecodeError error) {
  switch (error) {
    case DecodeError::kEmpty:
      return "empty frame";
    case DecodeError::kNoKeyFrame:
      return "delta frame before any key frame";
    case DecodeError::kTooLarge:
      return "picture too large";
    case DecodeError::kUnsupported:
      return "not a VP8 frame";
    case DecodeError::kCorrupt:
      return "corrupt VP8 frame";
  }
  return "unknown decode error";
}

struct Vp8Decoder::Impl {
  explicit Impl(const Vp8DecoderOptions& from) : options(from) {
    vpx_codec_dec_cfg_t config{};
    config.threads = 1;
    if (vpx_codec_dec_init(&context, vpx_codec_vp8_dx(), &config, 0) != VPX_CODEC_OK) {
      throw std::runtime_error(std::string("VP8 decoder: set-up: ") + vpx_codec_error(&context));
    }
  }
  ~Impl() { vpx_codec_destroy(&context); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Vp8DecoderOptions options;
  vpx_codec_ctx_t context{};
  bool has_key_frame = false;
};

Vp8Decoder::Vp8Decoder(const Vp8DecoderOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Vp8Decoder::~Vp8Decoder() = default;
Vp8Decoder::Vp8Decoder(Vp8Decoder&&) noexcept = default;
Vp8Decoder& Vp8Decoder::operator=(Vp8Decoder&&) noexcept = default;

int Vp8Decoder::quantizer_index() const {
  int index = 0;
  if (!impl_->has_key_frame ||
      vpx_codec_control(&impl_->context, VPXD_GET_LAST_QUANTIZER, &index) != VPX_CODEC_OK) {
    return 0;
  }
  return index;
}

Result<PicturePtr, DecodeError> Vp8Decoder::decode(std::span<const std::byte> frame) {
  const Result<FrameTag, DecodeError> tag = parse_tag(frame);
  if (!tag) {
    return tag.error();
  }
  if (tag->key_frame &&
      static_cast<int64_t>(tag->width) * tag->height > impl_->options.pixels_max) {
    return DecodeError::kTooLarge;
  }
  if (!tag->key_frame && !impl_->has_key_frame) {
    return DecodeError::kNoKeyFrame;
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(frame.data());
  const vpx_codec_err_t status =
      vpx_codec_decode(&impl_->context, bytes, static_cast<unsigned>(frame.size()), nullptr, 0);
  vpx_codec_iter_t position = nullptr;
  const vpx_image_t* image = vpx_codec_get_frame(&impl_->context, &position);
  if (status != VPX_CODEC_OK) {
    return status == VPX_CODEC_UNSUP_BITSTREAM ? DecodeError::kUnsupported : DecodeError::kCorrupt;
  }
  impl_->has_key_frame = true;
  int corrupted = 0;
  if (vpx_codec_control(&impl_->context, VP8D_GET_FRAME_CORRUPTED, &corrupted) == VPX_CODEC_OK &&
      corrupted != 0) {
    return DecodeError::kCorrupt;
  }
  if (image == nullptr) {
    return PicturePtr{};
  }
  if (image->fmt != VPX_IMG_FMT_I420) {
    return DecodeError::kUnsupported;
  }
  return PicturePtr{std::make_shared<const Picture>(to_picture(*image))};
}

}  // namespace cress::media
