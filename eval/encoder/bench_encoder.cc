#include "eval/encoder/bench_encoder.hh"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "media/codec/vp8_encoder.hh"
#include "media/frame/encoded_frame.hh"
#include "media/rate/adaptive_encoder.hh"

namespace cress::encoder_bench {
namespace {

constexpr std::array kEncoders{
    EncoderInfo{"cress",
                "Cress: up to three attempts a frame, smaller pictures when budgets are "
                "small, skips what fits nothing"},
    EncoderInfo{"cress-1", "the same with one attempt a frame"},
    EncoderInfo{"cress-full", "as cress, and always at the full size"},
    EncoderInfo{"cbr",
                "libvpx's constant bitrate as WebRTC sets it, told each frame's budget as a "
                "rate; it skips nothing"},
    EncoderInfo{"cbr-drop", "the same, and libvpx may skip pictures when its buffer runs dry"},
    EncoderInfo{"quantizer", "libvpx with one quantizer throughout, blind to budgets"},
};

BenchFrame to_frame(media::CodedPicture coded) {
  return {.data = std::move(coded.data),
          .key_frame = coded.key_frame,
          .quantizer = coded.quantizer,
          .attempts = 1};
}

media::Vp8EncoderOptions codec_options(const BenchEncoderOptions& options) {
  return {.width = options.width,
          .height = options.height,
          .frame_rate = options.frame_rate,
          .cpu_used = options.cpu_used};
}

class ConstantBitrate final : public BenchEncoder {
 public:
  ConstantBitrate(const BenchEncoderOptions& options, bool drop_frames)
      : interval_(options.frame_rate.time_of(1)), options_(codec_options(options)) {
    options_.rate_mode = media::RateMode::kConstantBitrate;
    options_.drop_frames = drop_frames;
  }

  BenchFrame encode(TimePoint now, uint32_t, const media::PicturePtr& picture,
                    std::optional<DataSize> budget) override {
    if (budget) {
      options_.target = std::max(DataRate::from(*budget, interval_), kTargetMin);
    }
    // Created with the first budget, so that its buffer is filled at that rate.
    if (!encoder_) {
      encoder_.emplace(options_);
    }
    encoder_->set_target(options_.target);
    return to_frame(encoder_->encode(*picture, {.capture_time = now}));
  }

 private:
  static constexpr DataRate kTargetMin = DataRate::kilobits_per_second(1);
  Duration interval_;
  media::Vp8EncoderOptions options_;
  std::optional<media::Vp8Encoder> encoder_;
};

class Cress final : public BenchEncoder {
 public:
  Cress(const BenchEncoderOptions& options, int attempts_max, bool resolution_steps)
      : encoder_({.width = options.width,
                  .height = options.height,
                  .frame_rate = options.frame_rate,
                  .cpu_used = options.cpu_used,
                  .attempts_max = attempts_max,
                  .resolution_steps = resolution_steps}) {}

  BenchFrame encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                    std::optional<DataSize> budget) override {
    media::AdaptedFrame adapted =
        encoder_.encode(now, frame_id, picture, budget.value_or(media::kEncodedFrameMax));
    return {.data = std::move(adapted.frame.data),
            .key_frame = adapted.frame.key_frame,
            .quantizer = adapted.quantizer,
            .attempts = adapted.attempts};
  }
  void handle_decoded(uint32_t frame_id) override { encoder_.handle_decoded(frame_id); }

 private:
  media::AdaptiveEncoder encoder_;
};

class FixedQuantizer final : public BenchEncoder {
 public:
  explicit FixedQuantizer(const BenchEncoderOptions& options)
      : quantizer_(options.quantizer), encoder_(codec_options(options)) {}

  BenchFrame encode(TimePoint, uint32_t, const media::PicturePtr& picture,
                    std::optional<DataSize>) override {
    return to_frame(encoder_.encode(*picture, {.quantizer = quantizer_}));
  }

 private:
  int quantizer_;
  media::Vp8Encoder encoder_;
};

}  // namespace

std::span<const EncoderInfo> encoders() { return kEncoders; }

std::unique_ptr<BenchEncoder> make_encoder(std::string_view name,
                                           const BenchEncoderOptions& options) {
  if (name == "cbr" || name == "cbr-drop") {
    return std::make_unique<ConstantBitrate>(options, name == "cbr-drop");
  }
  if (name == "quantizer") {
    return std::make_unique<FixedQuantizer>(options);
  }
  if (name == "cress" || name == "cress-1" || name == "cress-full") {
    const int attempts_max = name == "cress-1" ? 1 : media::AdaptiveEncoderOptions{}.attempts_max;
    return std::make_unique<Cress>(options, attempts_max, name != "cress-full");
  }
  std::string names;
  for (const EncoderInfo& info : kEncoders) {
    names += (names.empty() ? "" : ", ") + std::string{info.name};
  }
  throw std::invalid_argument("no encoder \"" + std::string{name} + "\"; there are " + names);
}

}  // namespace cress::encoder_bench
