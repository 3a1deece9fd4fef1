#include "app/call/video_sender.hh"

#include <algorithm>
#include <utility>

namespace cress::app {

VideoSender::VideoSender(const VideoSenderOptions& options, double budget_share)
    : encoder_({.width = options.width,
                .height = options.height,
                .frame_rate = options.frame_rate,
                .cpu_used_small = options.cpu_used_small,
                .cpu_used_scarce = options.cpu_used_scarce,
                .temporal_layers = options.temporal_layers,
                .anchor_interval = options.anchor_interval,
                .quantizer_min = options.quantizer_min,
                .quantizer_min_of_plenty = options.quantizer_min_of_plenty,
                .plenty_share = std::min(1.0, Plenty{}.share / budget_share)}),
      budget_share_(budget_share),
      quantizer_min_of_plenty_(options.quantizer_min_of_plenty),
      tells_all_(options.anchor_interval == 0),
      // A relay decides by itself which frames it still forwards.
      sent_(options.anchor_interval == 0) {}

Encoding VideoSender::encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                             DataSize budget, double need_weight) {
  media::AdaptedFrame coded = encoder_.encode(now, frame_id, picture, budget, need_weight);
  Encoding encoding;
  encoding.summary = {.frame_id = frame_id,
                      .captured = now,
                      .budget = budget,
                      .size = coded.frame.size(),
                      .quantizer = coded.quantizer,
                      .attempts = coded.attempts,
                      .key_frame = coded.frame.key_frame};
  encoding.frame = std::move(coded.frame);
  return encoding;
}

void VideoSender::set_plenty(const Plenty& plenty) {
  encoder_.set_plenty(std::max(plenty.finest_quantizer, quantizer_min_of_plenty_),
                      std::min(1.0, plenty.share / budget_share_));
}

std::optional<SentFrames::Fragment> VideoSender::handle_outcome(
    TimePoint now, const session::MessageOutcome& outcome, DataSize room) {
  SentFrames::Consequence consequence = sent_.handle_outcome(now, outcome, room);
  if (consequence.lost) {
    encoder_.handle_lost(*consequence.lost);
  }
  return std::move(consequence.again);
}

void VideoSender::handle_report(const FrameReport& report) {
  for (uint32_t back = std::min(report.newest, 32U); back > 0; --back) {
    // Frames are decoded in order: a frame older than the newest that was not decoded never will
    // be, even if all of it arrived.
    if ((report.before >> (back - 1) & 1U) != 0) {
      encoder_.handle_decoded(report.newest - back);
    } else if (tells_all_) {
      encoder_.handle_lost(report.newest - back);
    }
  }
  encoder_.handle_decoded(report.newest);
}

}  // namespace cress::app
