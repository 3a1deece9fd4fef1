#include "app/call/video_sender.hh"

#include <algorithm>
#include <utility>

namespace cress::app {
namespace {

// A frame that even at the coarsest quantizer is expected to be this much larger than its budget is
// not worth its delay: the next picture will find a wider window.
constexpr double kOvershootMax = 1.3;
// A key frame cannot be skipped for ever: nothing is shown without it. After this long it goes, too
// large or not.
constexpr Duration kKeyFrameWaitMax = 300ms;
// A request that crosses the key frame it asks for on the way is no new one.
constexpr Duration kKeyFrameIntervalMin = 500ms;

}  // namespace

VideoSender::VideoSender(const VideoSenderOptions& options)
    : encoder_({.width = options.width,
                .height = options.height,
                .frame_rate = options.frame_rate,
                .rate_mode = media::RateMode::kQuantizer}),
      model_({.pixels = static_cast<double>(options.width) * options.height}) {}

Encoding VideoSender::encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                             DataSize budget) {
  if (!last_coded_ && !key_frame_wanted_since_) {
    key_frame_wanted_since_ = now;
  }
  const bool key_frame = key_frame_wanted_since_.has_value();
  const auto type = key_frame ? media::FrameType::kKey : media::FrameType::kDelta;
  std::optional<double> activity;
  if (last_picture_) {
    activity = media::picture_activity(*picture, *last_picture_);
  }
  const int quantizer = model_.quantizer_for(budget, type, activity);
  Encoding encoding;
  encoding.summary = {
      .frame_id = frame_id, .captured = now, .budget = budget, .quantizer = quantizer};
  const auto expected = static_cast<double>(model_.predict(quantizer, type, activity).bytes());
  const bool must_go = key_frame && now - *key_frame_wanted_since_ >= kKeyFrameWaitMax;
  if (expected > kOvershootMax * static_cast<double>(budget.bytes()) && !must_go) {
    return encoding;
  }
  auto coded = encoder_.encode(
      *picture, {.quantizer = quantizer, .key_frame = key_frame, .capture_time = now});
  model_.observe(coded.quantizer, coded.key_frame ? media::FrameType::kKey : type, coded.size(),
                 budget, activity);
  last_picture_ = picture;
  encoding.summary.quantizer = coded.quantizer;
  encoding.summary.size = coded.size();
  encoding.summary.key_frame = coded.key_frame;
  encoding.frame = {.id = frame_id,
                    .reference_id = coded.key_frame ? frame_id : last_coded_.value_or(frame_id),
                    .capture_time = now,
                    .key_frame = coded.key_frame,
                    .data = std::move(coded.data)};
  last_coded_ = frame_id;
  if (coded.key_frame) {
    last_key_frame_ = frame_id;
    last_key_frame_at_ = now;
    key_frame_wanted_since_.reset();
  }
  return encoding;
}

void VideoSender::handle_frame_lost(uint32_t frame_id) {
  // The loss itself is news: it needs no rate limit as a request does.
  if (last_key_frame_ && frame_id >= *last_key_frame_ && !key_frame_wanted_since_) {
    key_frame_wanted_since_ = last_key_frame_at_;
  }
}

void VideoSender::handle_key_frame_request(TimePoint now) {
  if (last_key_frame_ && now - last_key_frame_at_ >= kKeyFrameIntervalMin &&
      !key_frame_wanted_since_) {
    key_frame_wanted_since_ = now;
  }
}

}  // namespace cress::app
