#include "media/codec/opus_decoder.hh"

#include <opus/opus.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

struct Destroy {
  void operator()(::OpusDecoder* decoder) const { opus_decoder_destroy(decoder); }
};

}  // namespace

struct OpusDecoder::Impl {
  Impl() {
    int status = OPUS_OK;
    decoder.reset(opus_decoder_create(static_cast<opus_int32>(kAudioSampleRate), 1, &status));
    if (status != OPUS_OK) {
      throw std::runtime_error(std::string("Opus decoder: set-up: ") + opus_strerror(status));
    }
  }

  Result<AudioFrame, OpusError> decode(std::span<const std::byte> packet, bool fec) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(packet.data());
    AudioFrame frame;
    const int samples = opus_decode(decoder.get(), bytes, static_cast<opus_int32>(packet.size()),
                                    frame.data(), static_cast<int>(frame.size()), fec ? 1 : 0);
    if (samples != static_cast<int>(frame.size())) {
      return OpusError::kMalformed;
    }
    return frame;
  }

  std::unique_ptr<::OpusDecoder, Destroy> decoder;
};

OpusDecoder::OpusDecoder() : impl_(std::make_unique<Impl>()) {}
OpusDecoder::~OpusDecoder() = default;
OpusDecoder::OpusDecoder(OpusDecoder&&) noexcept = default;
OpusDecoder& OpusDecoder::operator=(OpusDecoder&&) noexcept = default;

Result<AudioFrame, OpusError> OpusDecoder::decode(std::span<const std::byte> packet) {
  const Result<OpusPacketInfo, OpusError> info = inspect_opus(packet);
  if (!info) {
    return info.error();
  }
  return impl_->decode(packet, false);
}

Result<AudioFrame, OpusError> OpusDecoder::decode_fec(std::span<const std::byte> next) {
  const Result<OpusPacketInfo, OpusError> info = inspect_opus(next);
  if (!info) {
    return info.error();
  }
  if (!info->has_fec) {
    return OpusError::kNoFec;
  }
  return impl_->decode(next, true);
}

AudioFrame OpusDecoder::conceal() {
  AudioFrame frame{};
  const int samples = opus_decode(impl_->decoder.get(), nullptr, 0, frame.data(),
                                  static_cast<int>(frame.size()), 0);
  check(samples == static_cast<int>(frame.size()), "OpusDecoder: libopus does not conceal");
  return frame;
}

void OpusDecoder::reset() {
  check(opus_decoder_ctl(impl_->decoder.get(), OPUS_RESET_STATE) == OPUS_OK,
        "OpusDecoder: libopus does not reset");
}

}  // namespace cress::media
