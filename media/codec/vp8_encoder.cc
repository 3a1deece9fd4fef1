#include "media/codec/vp8_encoder.hh"

#include <vpx/vp8cx.h>
#include <vpx/vpx_encoder.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "media/codec/vpx_image.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

constexpr int kTimebasePerSecond = 1'000'000;

[[noreturn]] void fail(vpx_codec_ctx_t* context, const std::string& doing) {
  const char* detail = vpx_codec_error_detail(context);
  throw std::runtime_error("VP8 encoder: " + doing + ": " + vpx_codec_error(context) +
                           (detail != nullptr ? std::string(" (") + detail + ")" : ""));
}

unsigned to_kilobits(DataRate rate) {
  return std::max(1U, narrow<unsigned>(rate.kilobits_per_second()));
}

// Even between equal limits libvpx's control sometimes takes the next coarser index, as its buffer
// fills and drains against the target. So the target is more than frames take, and small enough for
// its 32-bit arithmetic with a key frame's boost.
DataRate plenty(FrameRate frame_rate) {
  constexpr int64_t kFrameBits = 4'000'000;
  return DataRate::bits_per_second(std::max<int64_t>(
      1000, kFrameBits * std::min<int64_t>(120 * frame_rate.denominator, frame_rate.numerator) /
                frame_rate.denominator));
}

void check_options(const Vp8EncoderOptions& options) {
  check(options.width > 0 && options.height > 0 && options.width <= kPictureSideMax &&
            options.height <= kPictureSideMax,
        "Vp8Encoder: size out of range");
  check(options.frame_rate.numerator > 0 && options.frame_rate.denominator > 0,
        "Vp8Encoder: frame rate out of range");
  check(options.cpu_used < 0 && options.cpu_used >= -16, "Vp8Encoder: cpu_used out of range");
  check(0 <= options.quantizer_min && options.quantizer_min <= options.quantizer_max &&
            options.quantizer_max <= kQuantizerMax,
        "Vp8Encoder: quantizers out of range");
}

vpx_codec_enc_cfg_t make_config(const Vp8EncoderOptions& options) {
  vpx_codec_enc_cfg_t config{};
  check(vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &config, 0) == VPX_CODEC_OK,
        "Vp8Encoder: libvpx without VP8");
  config.g_w = static_cast<unsigned>(options.width);
  config.g_h = static_cast<unsigned>(options.height);
  config.g_timebase = {1, kTimebasePerSecond};
  config.g_threads = 1;
  config.g_pass = VPX_RC_ONE_PASS;
  config.g_lag_in_frames = 0;
  config.g_error_resilient = options.error_resilient ? VPX_ERROR_RESILIENT_DEFAULT : 0;
  config.kf_mode = VPX_KF_DISABLED;  // key frames are expensive in a call: only on request
  config.rc_end_usage = VPX_CBR;
  config.rc_resize_allowed = 0;
  config.rc_target_bitrate = to_kilobits(  // libvpx: kbit/s
      options.rate_mode == RateMode::kQuantizer ? plenty(options.frame_rate) : options.target);
  // The settings of WebRTC's encoder; with a fixed quantizer none of them matters.
  config.rc_undershoot_pct = 100;
  config.rc_overshoot_pct = 15;
  config.rc_buf_initial_sz = 500;
  config.rc_buf_optimal_sz = 600;
  config.rc_buf_sz = 1000;
  config.rc_dropframe_thresh =
      options.rate_mode == RateMode::kConstantBitrate && options.drop_frames ? 30 : 0;
  config.rc_min_quantizer = static_cast<unsigned>(options.quantizer_min);
  config.rc_max_quantizer = static_cast<unsigned>(options.quantizer_max);
  return config;
}

// libvpx's levels: 1 luma, 2 colour too, 3 strongly, 4 chosen by the noise it finds.
constexpr int kDenoiseOff = 0;
constexpr int kDenoiseAdaptive = 4;

// A key frame may take what half the optimal buffer holds, in per cent of an average frame, but at
// least three frames: WebRTC's rule.
int max_intra_percent(const vpx_codec_enc_cfg_t& config, FrameRate frame_rate) {
  const double frames_per_second =
      static_cast<double>(frame_rate.numerator) / static_cast<double>(frame_rate.denominator);
  const double percent = config.rc_buf_optimal_sz * 0.5 * frames_per_second / 10.0;
  return std::max(300, static_cast<int>(percent));
}

vpx_enc_frame_flags_t flags_of(const EncodeOptions& options) {
  vpx_enc_frame_flags_t flags = options.key_frame ? VPX_EFLAG_FORCE_KF : 0;
  if (!options.references) {
    return flags;
  }
  const ReferencePlan& plan = *options.references;
  flags |= plan.read_last ? 0 : VP8_EFLAG_NO_REF_LAST;
  flags |= plan.read_golden ? 0 : VP8_EFLAG_NO_REF_GF;
  flags |= plan.read_alternate ? 0 : VP8_EFLAG_NO_REF_ARF;
  flags |= plan.replace_last ? 0 : VP8_EFLAG_NO_UPD_LAST;
  flags |= plan.replace_golden ? VP8_EFLAG_FORCE_GF : VP8_EFLAG_NO_UPD_GF;
  flags |= plan.replace_alternate ? VP8_EFLAG_FORCE_ARF : VP8_EFLAG_NO_UPD_ARF;
  flags |= plan.update_entropy ? 0 : VP8_EFLAG_NO_UPD_ENTROPY;
  return flags;
}

vpx_ref_frame_type_t to_vpx(ReferenceBuffer buffer) {
  switch (buffer) {
    case ReferenceBuffer::kLast:
      return VP8_LAST_FRAME;
    case ReferenceBuffer::kGolden:
      return VP8_GOLD_FRAME;
    case ReferenceBuffer::kAlternate:
      return VP8_ALTR_FRAME;
  }
  return VP8_LAST_FRAME;
}

}  // namespace

struct Vp8Encoder::Impl {
  explicit Impl(const Vp8EncoderOptions& from) : options(from), config(make_config(from)) {
    if (vpx_codec_enc_init(&context, vpx_codec_vp8_cx(), &config, 0) != VPX_CODEC_OK) {
      fail(&context, "set-up");
    }
    set_control(VP8E_SET_CPUUSED, options.cpu_used);
    set_control(VP8E_SET_NOISE_SENSITIVITY, options.denoise ? kDenoiseAdaptive : kDenoiseOff);
    set_control(VP8E_SET_STATIC_THRESHOLD, 1);
    set_control(VP8E_SET_TOKEN_PARTITIONS, VP8_ONE_TOKENPARTITION);
    set_control(VP8E_SET_ENABLEAUTOALTREF, 0);
    if (options.rate_mode == RateMode::kConstantBitrate) {
      set_control(VP8E_SET_MAX_INTRA_BITRATE_PCT, max_intra_percent(config, options.frame_rate));
    }
  }
  ~Impl() { vpx_codec_destroy(&context); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void set_control(int id, int value) {
    if (vpx_codec_control_(&context, id, value) != VPX_CODEC_OK) {
      fail(&context, "control " + std::to_string(id) + " = " + std::to_string(value));
    }
  }
  void apply_config(const char* doing) {
    if (vpx_codec_enc_config_set(&context, &config) != VPX_CODEC_OK) {
      fail(&context, doing);
    }
  }
  void fix_quantizer(int quantizer) {
    check(quantizer >= 0 && quantizer <= kQuantizerMax, "Vp8Encoder: quantizer out of range");
    const unsigned wanted = static_cast<unsigned>(quantizer);
    if (config.rc_min_quantizer != wanted || config.rc_max_quantizer != wanted) {
      config.rc_min_quantizer = wanted;
      config.rc_max_quantizer = wanted;
      apply_config("quantizer");
    }
  }
  // Microseconds since the first frame, strictly growing.
  int64_t next_pts(const EncodeOptions& frame) {
    int64_t pts = last_pts + duration();
    // The time matters only to rate control.
    if (frame.capture_time && options.rate_mode == RateMode::kConstantBitrate) {
      origin = origin.value_or(*frame.capture_time);
      pts = (*frame.capture_time - *origin).count() / 1000;
    }
    check(pts > last_pts, "Vp8Encoder: capture time does not grow");
    last_pts = pts;
    return pts;
  }
  int64_t duration() const {
    return std::max<int64_t>(1, options.frame_rate.time_of(1).count() / 1000);
  }

  Vp8EncoderOptions options;
  vpx_codec_enc_cfg_t config;
  vpx_codec_ctx_t context{};
  std::optional<TimePoint> origin;
  int64_t last_pts = -1;
};

Vp8Encoder::Vp8Encoder(const Vp8EncoderOptions& options) {
  check_options(options);
  impl_ = std::make_unique<Impl>(options);
}
Vp8Encoder::~Vp8Encoder() = default;
Vp8Encoder::Vp8Encoder(Vp8Encoder&&) noexcept = default;
Vp8Encoder& Vp8Encoder::operator=(Vp8Encoder&&) noexcept = default;

CodedPicture Vp8Encoder::encode(const Picture& picture, const EncodeOptions& options) {
  check(picture.width == width() && picture.height == height(),
        "Vp8Encoder: picture of another size than the encoder's");
  const bool fixed = impl_->options.rate_mode == RateMode::kQuantizer;
  if (fixed) {
    impl_->fix_quantizer(options.quantizer);
  }
  vpx_codec_ctx_t* context = &impl_->context;
  const vpx_image_t image = view_of(picture);
  if (vpx_codec_encode(context, &image, impl_->next_pts(options),
                       static_cast<unsigned long>(impl_->duration()), flags_of(options),
                       VPX_DL_REALTIME) != VPX_CODEC_OK) {
    fail(context, "encode");
  }
  CodedPicture coded;
  vpx_codec_iter_t position = nullptr;
  while (const vpx_codec_cx_pkt_t* packet = vpx_codec_get_cx_data(context, &position)) {
    if (packet->kind != VPX_CODEC_CX_FRAME_PKT) {
      continue;
    }
    const auto* bytes = static_cast<const std::byte*>(packet->data.frame.buf);
    coded.data.insert(coded.data.end(), bytes, bytes + packet->data.frame.sz);
    coded.key_frame = (packet->data.frame.flags & VPX_FRAME_IS_KEY) != 0;
  }
  if (vpx_codec_control(context, VP8E_GET_LAST_QUANTIZER_64, &coded.quantizer) != VPX_CODEC_OK) {
    fail(context, "last quantizer");
  }
  check(!fixed || !coded.dropped(), "Vp8Encoder: libvpx dropped a picture it must not");
  return coded;
}

void Vp8Encoder::set_target(DataRate target) {
  check(impl_->options.rate_mode == RateMode::kConstantBitrate,
        "Vp8Encoder: a target needs constant bitrate");
  const unsigned kilobits = to_kilobits(target);
  if (kilobits != impl_->config.rc_target_bitrate) {
    impl_->config.rc_target_bitrate = kilobits;
    impl_->apply_config("target rate");
  }
}

void Vp8Encoder::set_size(int width, int height) {
  check(width > 0 && height > 0 && width <= kPictureSideMax && height <= kPictureSideMax,
        "Vp8Encoder: size out of range");
  if (width == this->width() && height == this->height()) {
    return;
  }
  // libvpx refuses sizes beyond those it was set up with, so a change is a new encoder. It begins
  // with a key frame, which a new size needs anyway.
  Vp8EncoderOptions options = impl_->options;
  options.width = width;
  options.height = height;
  options.target = DataRate::kilobits_per_second(impl_->config.rc_target_bitrate);
  impl_ = std::make_unique<Impl>(options);
}

void Vp8Encoder::set_cpu_used(int cpu_used) {
  if (cpu_used == impl_->options.cpu_used) {
    return;
  }
  Vp8EncoderOptions options = impl_->options;
  options.cpu_used = cpu_used;
  check_options(options);
  impl_->set_control(VP8E_SET_CPUUSED, cpu_used);
  impl_->options = options;
}

int Vp8Encoder::width() const { return impl_->options.width; }
int Vp8Encoder::height() const { return impl_->options.height; }

struct ReferenceCopy::Impl {
  // libvpx copies whole macroblocks and expects a larger stride for a border, which it may also
  // fill above the first row: the image must have room for the one and no sign of the other.
  Impl(int width, int height) {
    const auto rounded = [](int side) { return (static_cast<unsigned>(side) + 15U) & ~15U; };
    check(vpx_img_alloc(&image, VPX_IMG_FMT_I420, rounded(width), rounded(height), 1) != nullptr,
          "ReferenceCopy: no memory");
  }
  ~Impl() { vpx_img_free(&image); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  vpx_ref_frame_t frame(ReferenceBuffer buffer) const { return {to_vpx(buffer), image}; }

  vpx_image_t image{};
};

ReferenceCopy::ReferenceCopy() = default;
ReferenceCopy::~ReferenceCopy() = default;
ReferenceCopy::ReferenceCopy(ReferenceCopy&&) noexcept = default;
ReferenceCopy& ReferenceCopy::operator=(ReferenceCopy&&) noexcept = default;

void Vp8Encoder::save_reference(ReferenceBuffer buffer, ReferenceCopy& to) const {
  const auto covers = [](unsigned have, int side) {
    return have == ((static_cast<unsigned>(side) + 15U) & ~15U);
  };
  if (to.impl_ == nullptr || !covers(to.impl_->image.w, width()) ||
      !covers(to.impl_->image.h, height())) {
    to.impl_ = std::make_unique<ReferenceCopy::Impl>(width(), height());
  }
  vpx_ref_frame_t frame = to.impl_->frame(buffer);
  if (vpx_codec_control(&impl_->context, VP8_COPY_REFERENCE, &frame) != VPX_CODEC_OK) {
    fail(&impl_->context, "copy of a reference");
  }
}

void Vp8Encoder::restore_reference(ReferenceBuffer buffer, const ReferenceCopy& from) {
  check(from.impl_ != nullptr, "Vp8Encoder: a reference copy without content");
  vpx_ref_frame_t frame = from.impl_->frame(buffer);
  if (vpx_codec_control(&impl_->context, VP8_SET_REFERENCE, &frame) != VPX_CODEC_OK) {
    fail(&impl_->context, "restoring a reference");
  }
}

Picture Vp8Encoder::reference(ReferenceBuffer buffer) const {
  ReferenceCopy copy;
  save_reference(buffer, copy);
  vpx_image_t shown = copy.impl_->image;
  shown.d_w = static_cast<unsigned>(width());
  shown.d_h = static_cast<unsigned>(height());
  return to_picture(shown);
}

}  // namespace cress::media
