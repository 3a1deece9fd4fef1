#include "app/call/video_sender.hh"

#include <algorithm>
#include <utility>

namespace cress::app {
namespace {

constexpr double kPlentyOfWindow = 0.25;

}  // namespace

VideoSender::VideoSender(const VideoSenderOptions& options, double budget_share)
    : encoder_({.width = options.width,
                .height = options.height,
                .frame_rate = options.frame_rate,
                .temporal_layers = options.temporal_layers,
                .anchor_interval = options.anchor_interval,
                .quantizer_min = options.quantizer_min,
                .quantizer_min_of_plenty = options.quantizer_min_of_plenty,
                .plenty_share = std::min(1.0, kPlentyOfWindow / budget_share)}),
      tells_all_(options.anchor_interval == 0) {}

Encoding VideoSender::encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                             DataSize budget) {
  media::AdaptedFrame coded = encoder_.encode(now, frame_id, picture, budget);
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

void VideoSender::handle_fragment_sent(session::MessageId message_id, uint32_t frame_id) {
  if (carried_.empty()) {
    first_carried_ = message_id;
  }
  carried_.push_back(frame_id);
}

void VideoSender::handle_outcome(const session::MessageOutcome& outcome) {
  if (outcome.id < first_carried_ || outcome.id - first_carried_ >= carried_.size()) {
    return;
  }
  const uint32_t frame_id = carried_[outcome.id - first_carried_];
  if (outcome.kind != session::MessageOutcome::Kind::kDelivered && --spare_[frame_id] < 0) {
    encoder_.handle_lost(frame_id);
  }
  if (outcome.kind != session::MessageOutcome::Kind::kDropped) {
    // Outcomes of sent messages arrive in order; messages dropped from the queue are younger.
    while (first_carried_ <= outcome.id) {
      carried_.pop_front();
      ++first_carried_;
    }
    // Frame ids ascend too.
    spare_.erase(spare_.begin(), carried_.empty() ? spare_.end() : spare_.find(carried_.front()));
  }
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
