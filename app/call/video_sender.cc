#include "app/call/video_sender.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::app {
namespace {

// While one picture is encoded, a few reports come, and an outcome for each fragment in the
// network.
constexpr size_t kUntoldMax = 1024;

}  // namespace

VideoSender::VideoSender(const VideoSenderOptions& options, double budget_share)
    : encoder_(std::make_shared<media::AdaptiveEncoder>(media::AdaptiveEncoderOptions{
          .width = options.width,
          .height = options.height,
          .frame_rate = options.frame_rate,
          .cpu_used_small = options.cpu_used_small,
          .cpu_used_scarce = options.cpu_used_scarce,
          .temporal_layers = options.temporal_layers,
          .anchor_interval = options.anchor_interval,
          .quantizer_min = options.quantizer_min,
          .quantizer_min_of_plenty = options.quantizer_min_of_plenty,
          .plenty_share = std::min(1.0, Plenty{}.share / budget_share)})),
      budget_share_(budget_share),
      quantizer_min_of_plenty_(options.quantizer_min_of_plenty),
      tells_all_(options.anchor_interval == 0),
      // A relay decides by itself which frames it still forwards.
      sent_(options.anchor_interval == 0) {}

Encoding VideoSender::encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                             DataSize budget, double need_weight) {
  const auto work = begin(now, frame_id, picture, budget, need_weight);
  work->run();
  return finish(*work);
}

std::shared_ptr<EncodeWork> VideoSender::begin(TimePoint now, uint32_t frame_id,
                                               media::PicturePtr picture, DataSize budget,
                                               double need_weight) {
  check(!is_encoding_, "VideoSender: the picture before is still being encoded");
  is_encoding_ = true;
  return std::make_shared<EncodeWork>(
      EncodeWork::Task{now, frame_id, std::move(picture), budget, need_weight}, encoder_);
}

Encoding VideoSender::finish(EncodeWork& work) {
  auto outcome = work.take_outcome();
  check(is_encoding_ && outcome, "VideoSender: finished what it did not begin");
  is_encoding_ = false;
  for (const Fact& fact : std::exchange(untold_, {})) {
    fact(*encoder_);
  }
  media::AdaptedFrame& coded = *outcome;
  Encoding encoding;
  encoding.summary = {.frame_id = work.task().frame_id,
                      .captured = work.task().now,
                      .budget = work.task().budget,
                      .size = coded.frame.size(),
                      .quantizer = coded.quantizer,
                      .attempts = coded.attempts,
                      .key_frame = coded.frame.key_frame};
  encoding.frame = std::move(coded.frame);
  return encoding;
}

void VideoSender::tell(Fact fact) {
  if (!is_encoding_) {
    fact(*encoder_);
  } else if (untold_.size() < kUntoldMax) {
    untold_.push_back(std::move(fact));
  }
}

void VideoSender::set_plenty(const Plenty& plenty) {
  check(!is_encoding_, "VideoSender: a picture is being encoded");
  encoder_->set_plenty(std::max(plenty.finest_quantizer, quantizer_min_of_plenty_),
                       std::min(1.0, plenty.share / budget_share_));
}

SentFrames::Consequence VideoSender::handle_outcome(TimePoint now,
                                                    const session::MessageOutcome& outcome,
                                                    DataSize room) {
  SentFrames::Consequence consequence = sent_.handle_outcome(now, outcome, room);
  if (consequence.lost) {
    tell([id = *consequence.lost](media::AdaptiveEncoder& encoder) { encoder.handle_lost(id); });
  }
  return consequence;
}

void VideoSender::handle_report(const FrameReport& report) {
  tell([this, report](media::AdaptiveEncoder& encoder) { pass_on(report, encoder); });
}

void VideoSender::pass_on(const FrameReport& report, media::AdaptiveEncoder& encoder) const {
  for (uint32_t back = std::min(report.newest, 32U); back > 0; --back) {
    // Frames are decoded in order: a frame older than the newest that was not decoded never will
    // be, even if all of it arrived.
    if ((report.before >> (back - 1) & 1U) != 0) {
      encoder.handle_decoded(report.newest - back);
    } else if (tells_all_) {
      encoder.handle_lost(report.newest - back);
    }
  }
  encoder.handle_decoded(report.newest);
}

}  // namespace cress::app
