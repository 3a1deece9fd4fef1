#include "app/call/call_receiver.hh"

#include <algorithm>
#include <utility>

#include "transport/base/take_front.hh"

namespace cress::app {
namespace {

constexpr Duration kKeyRequestInterval = 300ms;
// The sender needs a frame's report before it can refer to that frame after a loss, not sooner.
constexpr Duration kReportInterval = 60ms;

}  // namespace

CallReceiver::CallReceiver(CallReceiverOptions options)
    : paced_by_sound_card_(options.paced_by_sound_card),
      video_(options.stuck_max, std::move(options.open_frame), options.assembler) {
  video_.set_playout(options.playout);
  if (options.hands_out_decoding) {
    video_.hand_out_work();
  }
}

void CallReceiver::handle_sound(TimePoint now, std::span<const std::byte> message) {
  (void)audio_.handle_message(now, message);  // counts bad ones itself
}

void CallReceiver::handle_fragment(TimePoint now, std::span<const std::byte> message) {
  video_.handle_fragment(now, message);
}

void CallReceiver::handle_frame(TimePoint now, media::EncodedFrame frame) {
  video_.handle_frame(now, std::move(frame));
}

void CallReceiver::settle(TimePoint now) {
  while (const auto played = paced_by_sound_card_ ? std::nullopt : audio_.poll_frame(now)) {
    note_played(*played);
    played_.push_back(*played);
  }
  while (auto frame = video_.poll_shown()) {
    av_sync_.handle_picture(frame->shown - frame->captured, av_sync_.hold().picture);
    shown_.push_back(*std::move(frame));
  }
  audio_.set_hold(av_sync_.hold().sound);
  video_.set_hold(av_sync_.hold().picture);
}

void CallReceiver::note_played(const PlayedAudio& played) {
  if (played.kind == SoundKind::kNormal || played.kind == SoundKind::kFec) {
    av_sync_.handle_sound(played.played - played.captured, av_sync_.hold().sound);
  }
}

PlayedAudio CallReceiver::play(TimePoint now) {
  PlayedAudio played = audio_.play(now);
  note_played(played);
  return played;
}

std::optional<FrameReport> CallReceiver::poll_report(TimePoint now) {
  const auto report = video_.report();
  if (!report || report->newest == reported_frame_ || now < next_report_) {
    return std::nullopt;
  }
  reported_frame_ = report->newest;
  next_report_ = now + kReportInterval;
  return report;
}

bool CallReceiver::poll_key_frame_request(TimePoint now) {
  if (!video_.needs_key_frame() || now < next_key_request_) {
    return false;
  }
  next_key_request_ = now + kKeyRequestInterval;
  return true;
}

TimePoint CallReceiver::poll_timeout() const {
  return std::min(video_.poll_timeout(), paced_by_sound_card_ ? kNever : audio_.poll_timeout());
}

std::optional<ShownFrame> CallReceiver::poll_shown() { return take_front(shown_); }
std::optional<PlayedAudio> CallReceiver::poll_played() { return take_front(played_); }

}  // namespace cress::app
