#include "app/call/video_receiver.hh"

#include <algorithm>
#include <utility>

#include "transport/base/take_front.hh"

namespace cress::app {
namespace {

// A frame that comes too late to be even is worth this much delay of all others: motion that
// stumbles now and then is better than a picture that is always old.
constexpr Duration kLatePrice = 400ms;
// The weight of the past halves in 5 s at 30 frames a second.
constexpr double kMemory = 0.995;
// A frame comes unevenly if the link held it up for this much longer than the one before: 30 frames
// a second then come 100 ms apart. A frame that the sender left out makes none uneven.
constexpr Duration kUneven = 67ms;
// This far apart they come after a pause; a little more, and the picture stands still.
constexpr Duration kPause = 120ms;
// For so long after a pause the newest frame waits for the next, at most until it would come after
// a pause itself: when the link pauses, the picture stands still that much later.
constexpr Duration kAfterPause = 5s;

}  // namespace

void VideoReceiver::set_playout(PlayoutWait wait) {
  playout_.reset();
  playout_wait_ = wait;
  if (wait.most > Duration{}) {
    playout_.emplace(media::PlayoutDelayOptions{.loss_price = kLatePrice,
                                                .margin_min = {},
                                                .margin_max = wait.most,
                                                .margin_first = {},
                                                .memory = kMemory});
  }
}

TimePoint VideoReceiver::display_time(TimePoint now, TimePoint captured) {
  TimePoint due = now;
  if (playout_) {
    const Duration delay = now - captured;
    playout_->observe(delay);
    if (!decoded_at_ || delay - decoded_after_ > kUneven) {
      wait_longer(now);
    }
    if (decoded_at_ && now - *decoded_at_ > kPause) {
      paused_at_ = now;
    }
    decoded_at_ = now;
    decoded_after_ = delay;
    if (now < waits_until_) {
      // The sender's clock is peer data: whatever it says, no frame waits longer.
      due = std::clamp(captured + *playout_->target(), now, now + playout_wait_.most);
    }
  }
  return due + hold_;
}

void VideoReceiver::wait_longer(TimePoint now) {
  const Duration left = std::max(waits_until_ - now, Duration{});
  waits_until_ = now + std::min(left + playout_wait_.after_uneven, playout_wait_.after_uneven_most);
}

void VideoReceiver::handle_fragment(TimePoint now, std::span<const std::byte> message) {
  auto frame = assembler_.handle_fragment(now, message);
  has_received_ = true;
  if (!frame) {
    ++stats_.fragments_malformed;
    return;
  }
  if (frame->has_value()) {
    handle_frame(now, **std::move(frame));
  } else {
    decode_ready(now);
  }
}

void VideoReceiver::handle_frame(TimePoint now, media::EncodedFrame frame) {
  if (!open_ || open_(frame)) {
    clock_.handle_frame(now, std::move(frame));
  }
  decode_ready(now);
}

void VideoReceiver::decode_ready(TimePoint now) {
  now_ = now;
  if (!hands_out_work_) {
    clock_.handle_timeout(now);
  }
  while (work_.size() < kWorkMax) {
    auto frame = clock_.poll_decode(now);
    if (!frame) {
      break;
    }
    if (!is_within_budget(now, frame->data)) {
      ++stats_.frames_over_budget;
      decoder_failed_ = true;  // its references are incomplete now
      clock_.handle_decode_failure(now);
      continue;
    }
    decoder_failed_ = false;  // after a failure this is a key frame
    work_.push_back(std::make_shared<DecodeWork>(*std::move(frame), decoder_));
    if (!hands_out_work_) {
      work_.front()->run();
      finish_decoding(now);
    }
  }
  // Otherwise frames wait for the decoder: their references may be among them.
  if (hands_out_work_ && work_.size() < kWorkMax) {
    clock_.handle_timeout(now);
  }
  if (!clock_.needs_key_frame()) {
    stuck_since_.reset();
  } else if (!stuck_since_) {
    stuck_since_ = now;
  }
}

void VideoReceiver::finish_decoding(TimePoint now) {
  const std::shared_ptr<DecodeWork> work = *take_front(work_);
  if (!work->outcome()) {
    return;  // the frame that broke the decoder came back before
  }
  const DecodeWork::Outcome& picture = *work->outcome();
  if (!picture) {
    ++stats_.frames_undecodable;
    const bool is_mended =
        std::ranges::any_of(work_, [](const auto& later) { return later->frame().key_frame; });
    if (!is_mended) {
      decoder_failed_ = true;
      clock_.handle_decode_failure(now);
    }
    return;
  }
  const media::EncodedFrame& frame = work->frame();
  note_decoded(frame.id);
  if (*picture != nullptr) {
    add_decoded(now, {frame.id, frame.capture_time, display_time(now, frame.capture_time),
                      frame.size(), *picture});
  }
}

void VideoReceiver::add_decoded(TimePoint now, ShownFrame frame) {
  if (!decoded_.empty()) {
    ShownFrame& newest = decoded_.back();
    newest.shown = std::clamp(now, newest.shown, newest_until_);
    frame.shown = std::max(frame.shown, newest.shown);
  }
  const TimePoint before = decoded_.empty() ? last_shown_ : decoded_.back().shown;
  const bool has_paused = paused_at_ && now - *paused_at_ < kAfterPause;
  newest_until_ = has_paused ? std::max(frame.shown, before + kPause) : frame.shown;
  decoded_.push_back(std::move(frame));
}

// When the first of decoded_ is due.
TimePoint VideoReceiver::next_shown() const {
  return decoded_.size() == 1 ? newest_until_ : decoded_.front().shown;
}

std::shared_ptr<DecodeWork> VideoReceiver::poll_decode_work() {
  return work_out_ < work_.size() ? work_[work_out_++] : nullptr;
}

void VideoReceiver::handle_decoded(TimePoint now, const DecodeWork& work) {
  if (work_out_ > 0 && work_.front().get() == &work) {
    --work_out_;
    finish_decoding(now);
    decode_ready(now);
  }
}

bool VideoReceiver::is_within_budget(TimePoint now, std::span<const std::byte> frame) {
  const int64_t pixels = media::key_frame_pixels(frame).value_or(frame_pixels_);
  if (!pixels_.take(now, static_cast<double>(std::max(pixels, kFramePixelsMin)))) {
    return false;
  }
  frame_pixels_ = pixels;
  return true;
}

void VideoReceiver::note_decoded(uint32_t frame_id) {
  FrameReport report{.newest = frame_id};
  if (report_) {
    const uint32_t forward = frame_id - report_->newest;  // ids handed out ascend
    const uint64_t history = uint64_t{report_->before} << 1U | 1U;
    report.before = forward > 32 ? 0 : static_cast<uint32_t>(history << (forward - 1));
  }
  report_ = report;
}

bool VideoReceiver::needs_key_frame() const {
  return has_received_ && clock_.needs_key_frame() &&
         (!report_ || decoder_failed_ || (stuck_since_ && now_ - *stuck_since_ >= stuck_max_));
}

TimePoint VideoReceiver::poll_timeout() const {
  const TimePoint shown = decoded_.empty() ? kNever : next_shown();
  return std::min(work_.size() == kWorkMax ? kNever : clock_.poll_timeout(),
                  shown > now_ ? shown : kNever);
}

std::optional<ShownFrame> VideoReceiver::poll_shown() {
  if (decoded_.empty() || next_shown() > now_) {
    return std::nullopt;
  }
  last_shown_ = next_shown();
  auto frame = take_front(decoded_);
  frame->shown = last_shown_;
  return frame;
}

}  // namespace cress::app
