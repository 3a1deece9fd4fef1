#include "media/codec/opus_encoder.hh"

#include <opus/opus.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

// A packet that only means "silence" is its first byte, with or without a second (libopus, DTX).
constexpr int kSilenceBytesMax = 2;

// Like libopus's own speech layer: after 200 ms without speech only every twentieth packet is sent,
// to describe the background. libopus (1.3) at our complexity must have received speech before it
// classifies anything as silence; a microphone without speech would send all of its noise.
constexpr int kHangoverFrames = 10;
constexpr int kRefreshFrames = 20;

struct Destroy {
  void operator()(::OpusEncoder* encoder) const { opus_encoder_destroy(encoder); }
};

[[noreturn]] void fail(const std::string& doing, int status) {
  throw std::runtime_error("Opus encoder: " + doing + ": " + opus_strerror(status));
}

}  // namespace

struct OpusEncoder::Impl {
  explicit Impl(const OpusEncoderOptions& options) {
    int status = OPUS_OK;
    encoder.reset(opus_encoder_create(static_cast<opus_int32>(kAudioSampleRate), 1,
                                      OPUS_APPLICATION_VOIP, &status));
    if (status != OPUS_OK) {
      fail("set-up", status);
    }
    set(OPUS_SET_COMPLEXITY(options.complexity));
    set(OPUS_SET_SIGNAL(OPUS_SIGNAL_VOICE));  // keeps the speech layer, which has FEC and DTX
    set(OPUS_SET_VBR(1));
    set(OPUS_SET_VBR_CONSTRAINT(1));
    set(OPUS_SET_DTX(options.dtx ? 1 : 0));
    dtx = options.dtx;
  }

  void set(int request, opus_int32 value) const {
    const int status = opus_encoder_ctl(encoder.get(), request, value);
    if (status != OPUS_OK) {
      fail("control " + std::to_string(request) + " = " + std::to_string(value), status);
    }
  }

  // True for a packet of background that need not be sent.
  bool leaves_out(const OpusPacketInfo& info) {
    inactive_run = info.active ? 0 : inactive_run + 1;
    return dtx && inactive_run > kHangoverFrames &&
           (inactive_run - kHangoverFrames) % kRefreshFrames != 0;
  }

  std::unique_ptr<::OpusEncoder, Destroy> encoder;
  bool dtx = true;
  int inactive_run = 0;
  DataRate target;
};

OpusEncoder::OpusEncoder(const OpusEncoderOptions& options) {
  check(options.complexity >= 0 && options.complexity <= 10, "OpusEncoder: complexity");
  impl_ = std::make_unique<Impl>(options);
  set_target(options.target);
}
OpusEncoder::~OpusEncoder() = default;
OpusEncoder::OpusEncoder(OpusEncoder&&) noexcept = default;
OpusEncoder& OpusEncoder::operator=(OpusEncoder&&) noexcept = default;

CodedSound OpusEncoder::encode(const AudioFrame& frame) {
  std::array<unsigned char, kOpusPacketMax> bytes;
  const int size = opus_encode(impl_->encoder.get(), frame.data(), static_cast<int>(frame.size()),
                               bytes.data(), static_cast<opus_int32>(bytes.size()));
  if (size < 0) {
    fail("encode", size);
  }
  CodedSound coded;
  if (size <= kSilenceBytesMax) {
    impl_->inactive_run = 0;  // libopus does it itself
    return coded;
  }
  const auto data = std::as_bytes(std::span{bytes}.first(static_cast<size_t>(size)));
  const Result<OpusPacketInfo, OpusError> info = inspect_opus(data);
  check(info.has_value(), "OpusEncoder: libopus made a packet that is not ours");
  if (!impl_->leaves_out(*info)) {
    coded.data.assign(data.begin(), data.end());
    coded.info = *info;
  }
  return coded;
}

void OpusEncoder::set_target(DataRate target) {
  target = std::clamp(target, kOpusRateMin, kOpusRateMax);
  if (target != impl_->target) {
    impl_->target = target;
    impl_->set(OPUS_SET_BITRATE(narrow<opus_int32>(target.bits_per_second())));
  }
}

void OpusEncoder::set_expected_loss(double share) {
  check(share >= 0.0 && share <= 1.0, "OpusEncoder: a share out of range");
  const auto percent = static_cast<opus_int32>(std::lround(100.0 * share));
  impl_->set(OPUS_SET_INBAND_FEC(percent > 0 ? 1 : 0));
  impl_->set(OPUS_SET_PACKET_LOSS_PERC(percent));
}

Duration OpusEncoder::delay() const {
  opus_int32 samples = 0;
  const int status = opus_encoder_ctl(impl_->encoder.get(), OPUS_GET_LOOKAHEAD(&samples));
  check(status == OPUS_OK, "OpusEncoder: libopus does not tell its delay");
  return audio_duration(samples);
}

DataRate OpusEncoder::target() const { return impl_->target; }

}  // namespace cress::media
