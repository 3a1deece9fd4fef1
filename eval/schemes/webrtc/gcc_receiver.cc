#include "eval/schemes/webrtc/gcc_receiver.hh"

#include <algorithm>
#include <utility>

#include "media/frame/fragment.hh"
#include "transport/base/take_front.hh"

namespace cress::schemes {
namespace {

// A larger gap cannot be lost packets: at 1.7 Mbit/s it would take half a minute. The far end has
// restarted, or is faulty.
constexpr uint32_t kSequenceLeapMax = 5000;
// Ten seconds of frames, the longest that playout holds one.
constexpr size_t kHeldMax = 300;
// Frames with an entry while they wait.
constexpr size_t kNotedMax = 600;
// The largest valid clock value; keeps every sum of times far from its limit.
constexpr Duration kClockMax = 24h * 1000;
// libwebrtc waits this long for a decodable frame before it requests a key frame.
constexpr Duration kFrameWaitMax = 3s;

media::AssemblerOptions assembler_options() {
  return {.frames_max = 512,
          .bytes_max = DataSize{16 * media::kEncodedFrameMax.bytes()},
          .age_max = 20s};
}

media::FrameClockOptions clock_options() {
  return {.wait_max = kFrameWaitMax,
          .held_max = 512,
          .held_bytes_max = DataSize{16 * media::kEncodedFrameMax.bytes()}};
}

}  // namespace

void GccArrivalLog::handle_arrival(uint32_t transport_sequence, TimePoint now) {
  if (transport_sequence < first_) {
    return;  // already reported as lost
  }
  if (transport_sequence - first_ > kSequenceLeapMax) {
    arrivals_.clear();
    first_ = transport_sequence;
  }
  const size_t index = transport_sequence - first_;
  if (index >= arrivals_.size()) {
    arrivals_.resize(index + 1);
  }
  arrivals_[index] = now;
}

std::vector<GccFeedback> GccArrivalLog::take_feedback(TimePoint now) {
  std::vector<GccFeedback> messages;
  for (size_t begin = 0; begin < arrivals_.size(); begin += kGccFeedbackMax) {
    const size_t end = std::min(arrivals_.size(), begin + kGccFeedbackMax);
    GccFeedback feedback{
        .first_sequence = first_ + static_cast<uint32_t>(begin), .arrivals = {}, .held = {}};
    std::optional<TimePoint> newest;
    for (size_t i = begin; i < end; ++i) {
      feedback.arrivals.push_back(arrivals_[i]);
      newest = arrivals_[i] ? std::max(arrivals_[i], newest) : newest;
    }
    if (newest) {  // a message with only losses contains nothing that the next does not
      feedback.held = now - *newest;
      messages.push_back(std::move(feedback));
    }
  }
  first_ += static_cast<uint32_t>(arrivals_.size());
  arrivals_.clear();
  return messages;
}

void GccMissing::handle_arrival(uint32_t media_sequence) {
  if (media_sequence < next_) {
    missing_.erase(media_sequence);
    return;
  }
  const uint32_t gap = media_sequence - next_;
  if (gap > kSequenceLeapMax || missing_.size() + gap > kMissingMax) {
    missing_.clear();
    overflow_ = true;
  } else {
    for (uint32_t sequence = next_; sequence < media_sequence; ++sequence) {
      missing_.emplace_hint(missing_.end(), sequence, Request{});
    }
  }
  next_ = media_sequence + 1;
}

std::vector<uint32_t> GccMissing::take_due(TimePoint now, Duration round_trip) {
  std::vector<uint32_t> due;
  for (auto it = missing_.begin(); it != missing_.end() && due.size() < kGccNackMax;) {
    Request& request = it->second;
    if (request.tries > 0 && now - request.last < round_trip) {
      ++it;
      continue;
    }
    due.push_back(it->first);
    request.last = now;
    it = ++request.tries >= kTriesMax ? missing_.erase(it) : std::next(it);
  }
  next_look_ = now + kInterval;
  return due;
}

bool GccMissing::take_overflow() { return std::exchange(overflow_, false); }

GccReceiver::GccReceiver() : assembler_(assembler_options()), clock_(clock_options()) {}

void GccReceiver::note_arrival(TimePoint now, uint32_t transport_sequence) {
  log_.handle_arrival(transport_sequence, now);
  if (feedback_due_ == kNever && !log_.empty()) {
    feedback_due_ = now + kFeedbackInterval;
  }
}

void GccReceiver::note_sent_again(uint32_t frame_id) {
  sent_again_.insert(frame_id);
  if (sent_again_.size() > kNotedMax) {
    sent_again_.erase(sent_again_.begin());
  }
}

void GccReceiver::handle_padding(TimePoint now, const GccPadding& padding) {
  note_arrival(now, padding.transport_sequence);
}

void GccReceiver::handle_media(TimePoint now, const GccMedia& media) {
  note_arrival(now, media.transport_sequence);
  missing_.handle_arrival(media.media_sequence);
  round_trip_ = media.round_trip;
  const auto fragment = media::parse_fragment(media.fragment);
  if (!fragment || fragment->header.capture_time < kTimeZero ||
      fragment->header.capture_time > kTimeZero + kClockMax) {
    return;
  }
  if (media.sent_again) {
    note_sent_again(fragment->header.frame_id);
  }
  auto frame = assembler_.handle_fragment(now, media.fragment);
  if (frame && frame->has_value()) {
    completed_.emplace((*frame)->id, now);
    if (completed_.size() > kNotedMax) {
      completed_.erase(completed_.begin());
    }
    clock_.handle_frame(now, **std::move(frame));
  }
  hold_decodable(now);
  show_due(now);
  ask(now);
}

void GccReceiver::hold_decodable(TimePoint now) {
  clock_.handle_timeout(now);
  while (auto frame = clock_.poll_decode(now)) {
    const auto completed = completed_.find(frame->id);
    const GccFrameArrival arrival{
        .captured = frame->capture_time,
        .arrived = completed == completed_.end() ? now : completed->second,
        .size = frame->size(),
        .sent_again = sent_again_.contains(frame->id)};
    completed_.erase(completed_.begin(), completed_.upper_bound(frame->id));
    sent_again_.erase(sent_again_.begin(), sent_again_.upper_bound(frame->id));
    TimePoint show_at = playout_.handle_frame(now, arrival, round_trip_);
    if (!held_.empty()) {
      show_at = std::max(show_at, held_.back().show_at);
    }
    held_.push_back({*std::move(frame), show_at});
    if (held_.size() > kHeldMax) {
      held_.front().show_at = now;  // displayed early rather than lost: others depend on it
      show_due(now);
    }
  }
}

void GccReceiver::show_due(TimePoint now) {
  while (!held_.empty() && held_.front().show_at <= now) {
    const media::EncodedFrame frame = std::move(held_.front().frame);
    held_.pop_front();
    if (undecodable_ && !frame.key_frame) {
      continue;
    }
    const auto picture = decoder_.decode(frame.data);
    undecodable_ = !picture;
    if (!picture) {
      clock_.handle_decode_failure(now);
    } else if (*picture != nullptr) {
      shown_.push_back({frame.id, frame.capture_time, now, *picture});
      delivered_ += frame.size();
    }
  }
}

void GccReceiver::send_feedback(TimePoint now) {
  feedback_due_ = kNever;
  for (const GccFeedback& feedback : log_.take_feedback(now)) {
    outgoing_.push_back(encode(feedback));
  }
}

void GccReceiver::ask(TimePoint now) {
  auto due = missing_.take_due(now, round_trip_);
  if (!due.empty()) {
    outgoing_.push_back(encode(GccNack{std::move(due)}));
  }
  const bool overflow = missing_.take_overflow();
  if (!clock_.needs_key_frame() && !overflow) {
    return;
  }
  if (!last_request_ || now - *last_request_ >= std::max(kRequestInterval, round_trip_)) {
    last_request_ = now;
    outgoing_.push_back(encode(GccKeyFrameRequest{}));
  }
}

void GccReceiver::handle_timeout(TimePoint now) {
  hold_decodable(now);
  show_due(now);
  if (now >= feedback_due_) {
    send_feedback(now);
  }
  if (now >= missing_.poll_timeout() || clock_.needs_key_frame()) {
    ask(now);
  }
}

TimePoint GccReceiver::poll_timeout() const {
  const TimePoint show = held_.empty() ? kNever : held_.front().show_at;
  const TimePoint request = clock_.needs_key_frame() && last_request_
                                ? *last_request_ + std::max(kRequestInterval, round_trip_)
                                : kNever;
  return std::min({clock_.poll_timeout(), missing_.poll_timeout(), show, request, feedback_due_});
}

std::optional<std::vector<std::byte>> GccReceiver::poll_datagram() { return take_front(outgoing_); }

std::optional<ShownFrame> GccReceiver::poll_shown() { return take_front(shown_); }

}  // namespace cress::schemes
