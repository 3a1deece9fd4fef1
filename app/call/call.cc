#include "app/call/call.hh"

#include <algorithm>
#include <utility>

#include "media/frame/fragment.hh"
#include "media/frame/parity.hh"
#include "media/rate/frame_budget.hh"
#include "transport/base/take_front.hh"

namespace cress::app {
namespace {

using session::Leave;

constexpr Duration kKeyRequestInterval = 300ms;
// The sender needs a frame's report before it can refer to that frame after a loss, not sooner.
constexpr Duration kReportInterval = 60ms;
// What one picture may be padded with: 8 Mbit/s at 30 a second. A peer's forecast may promise
// anything.
constexpr DataSize kPaddingMax{32'000};
// Smaller frames than this show nothing worth a datagram.
constexpr DataSize kFrameMin{300};
// While the window is closed a frame of this size goes this often (DESIGN §8, "A trickle"); where
// nothing can be coded so small, it may be larger by as much for each growth interval it is late.
constexpr DataSize kTrickleFrame{300};
constexpr DataSize kTrickleFrameMax{1200};
constexpr Duration kTrickleInterval = 200ms;
constexpr Duration kTrickleGrowth = 66ms;
// More than one opportunity's worth in the network (a link's least unit, 1500 bytes) has to drain
// first: less often then.
constexpr DataSize kTrickleBacklogMax{1500};
constexpr Duration kTrickleIntervalBacklog = 400ms;
// Of the window a frame leaves so much for sound as sound took in this time, which is about what
// the window looks ahead.
constexpr Duration kSoundReserve = 60ms;
// With more than this in the network sound waits for the window, which it is the first to use.
constexpr DataSize kSoundBacklogMax{3000};
// Sound that waits longer in our own queue is not worth sending.
constexpr DataSize kSoundQueueMax{600};

DataSize size_of(const std::vector<std::byte>& bytes) {
  return DataSize{static_cast<int64_t>(bytes.size())};
}

}  // namespace

Call::Call(TimePoint start, CallOptions options, std::unique_ptr<sprout::Control> control)
    : endpoint_(start, options.endpoint, std::move(control)),
      pads_window_(options.pads_window),
      last_frame_at_(start - kTrickleInterval) {
  endpoint_.open_flow(session::kAudioFlow,
                      {.priority = session::Priority::kAudio, .queue_max = kSoundQueueMax});
  endpoint_.open_flow(session::kControlFlow,
                      {.priority = session::Priority::kControl, .report_outcomes = false});
  endpoint_.open_flow(session::kVideoFlow, {.priority = session::Priority::kVideo});
  endpoint_.open_flow(session::kPaddingFlow,
                      {.priority = session::Priority::kPadding, .report_outcomes = false});
  if (options.video) {
    video_sender_.emplace(*options.video);
  }
}

void Call::capture_sound(TimePoint now, const media::AudioFrame& samples) {
  audio_sender_.handle_loss(loss_.share());
  if (const auto forecast = endpoint_.control().forecast_rate()) {
    audio_sender_.set_rate(sound_rate(*forecast));
  }
  if (auto message = audio_sender_.capture(now, samples)) {
    recent_sound_.push_back({now, size_of(*message) + endpoint_.control().message_overhead()});
    // Speech does not wait for the window, but a link that carries not even that is not filled.
    const Leave leave = endpoint_.control().outstanding(now) > kSoundBacklogMax
                            ? Leave::kWithinWindow
                            : Leave::kNow;
    endpoint_.send(now, session::kAudioFlow, *std::move(message), leave);
  }
  drain(now);
}

DataSize Call::sound_reserve(TimePoint now) {
  while (!recent_sound_.empty() && recent_sound_.front().at <= now - kSoundReserve) {
    recent_sound_.pop_front();
  }
  DataSize total;
  for (const SentSound& sound : recent_sound_) {
    total += sound.size;
  }
  return total;
}

std::optional<DataSize> Call::frame_budget(TimePoint now) {
  return media::frame_budget(
      {.window = endpoint_.control().window(now) - sound_reserve(now),
       .queued = endpoint_.queued(),
       .message_max = endpoint_.message_max(),
       .message_overhead = std::max(wire::kMessageOverhead, endpoint_.control().message_overhead()),
       .loss = loss_.share(),
       .minimum = kFrameMin});
}

std::optional<DataSize> Call::trickle_budget(TimePoint now) const {
  const bool drains = endpoint_.control().outstanding(now) + kTrickleFrame <= kTrickleBacklogMax;
  const Duration interval = drains ? kTrickleInterval : kTrickleIntervalBacklog;
  const Duration late = now - last_frame_at_ - interval;
  if (late < Duration{} || endpoint_.queued(session::kVideoFlow) > DataSize{}) {
    return std::nullopt;
  }
  return std::min(kTrickleFrame * (1 + late / kTrickleGrowth), kTrickleFrameMax);
}

void Call::capture(TimePoint now, const media::PicturePtr& picture) {
  check(video_sender_.has_value(), "Call: captured a picture without video options");
  const uint32_t id = next_frame_id_++;
  std::optional<DataSize> budget = frame_budget(now);
  Leave leave = Leave::kWithinWindow;
  if (!budget) {
    budget = trickle_budget(now);
    leave = Leave::kNow;
  }
  const Encoding encoding = video_sender_->encode(now, id, picture, budget.value_or(DataSize{}));
  coded_.push_back(encoding.summary);
  if (!encoding.frame.data.empty()) {
    last_frame_at_ = now;
    send_frame(now, encoding.frame, leave);
  }
  pad(now);
  drain(now);
}

void Call::send_frame(TimePoint now, const media::EncodedFrame& frame, Leave leave) {
  const DataSize message_max = endpoint_.message_max();
  const int parity = media::parity_for(
      narrow<int>(media::fragment_count(frame.size(), message_max)), loss_.share());
  video_sender_->handle_frame_sent(frame.id, parity);
  for (auto& message : media::fragment(frame, message_max, parity)) {
    const session::MessageId message_id =
        endpoint_.send(now, session::kVideoFlow, std::move(message), leave);
    video_sender_->handle_fragment_sent(message_id, frame.id);
  }
}

void Call::pad(TimePoint now) {
  DataSize rest = std::min(endpoint_.available_window(now), kPaddingMax);
  while (pads_window_ && rest > DataSize{}) {
    const DataSize size = std::min(rest, endpoint_.message_max());
    endpoint_.send(now, session::kPaddingFlow,
                   std::vector<std::byte>(static_cast<size_t>(size.bytes())));
    rest -= size;
  }
}

void Call::handle_control(TimePoint now, std::span<const std::byte> bytes) {
  const auto message = parse_control_message(bytes);
  if (!message || !video_sender_) {
    return;
  }
  if (const auto* report = std::get_if<FrameReport>(&*message)) {
    video_sender_->handle_report(*report);
  } else {
    video_sender_->handle_key_frame_request(now);
  }
}

void Call::handle_message(TimePoint now, const session::MessageReceived& message) {
  if (message.flow == session::kAudioFlow) {
    (void)audio_receiver_.handle_message(now, message.bytes);  // counts bad ones itself
  } else if (message.flow == session::kVideoFlow) {
    video_receiver_.handle_fragment(now, message.bytes);
  } else if (message.flow == session::kControlFlow) {
    handle_control(now, message.bytes);
  }
}

void Call::play_and_show(TimePoint now) {
  while (const auto played = audio_receiver_.poll_frame(now)) {
    if (played->kind == SoundKind::kNormal || played->kind == SoundKind::kFec) {
      av_sync_.handle_sound(played->played - played->captured, av_sync_.hold().sound);
    }
    played_.push_back(*played);
  }
  while (auto frame = video_receiver_.poll_shown()) {
    av_sync_.handle_picture(frame->shown - frame->captured, av_sync_.hold().picture);
    shown_.push_back(*std::move(frame));
  }
  audio_receiver_.set_hold(av_sync_.hold().sound);
  video_receiver_.set_hold(av_sync_.hold().picture);
}

void Call::report(TimePoint now) {
  const auto report = video_receiver_.report();
  if (report && report->newest != reported_frame_ && now >= next_report_ &&
      endpoint_.queued(session::kControlFlow) == DataSize{}) {
    reported_frame_ = report->newest;
    next_report_ = now + kReportInterval;
    endpoint_.send(now, session::kControlFlow, encode(*report));
  }
  if (video_receiver_.needs_key_frame() && now >= next_key_request_) {
    next_key_request_ = now + kKeyRequestInterval;
    endpoint_.send(now, session::kControlFlow, encode(KeyFrameRequest{}));
  }
}

void Call::drain(TimePoint now) {
  while (const auto message = endpoint_.poll_message()) {
    handle_message(now, *message);
  }
  while (const auto outcome = endpoint_.poll_outcome()) {
    loss_.handle_outcome(outcome->kind);
    if (outcome->flow == session::kVideoFlow && video_sender_) {
      video_sender_->handle_outcome(*outcome);
    }
  }
  play_and_show(now);
  report(now);
}

Result<Unit, wire::WireError> Call::handle_datagram(TimePoint now,
                                                    std::span<const std::byte> datagram) {
  auto result = endpoint_.handle_datagram(now, datagram);
  drain(now);
  return result;
}

void Call::handle_timeout(TimePoint now) {
  endpoint_.handle_timeout(now);
  video_receiver_.handle_timeout(now);
  drain(now);
}

std::optional<std::vector<std::byte>> Call::poll_transmit(TimePoint now) {
  return endpoint_.poll_transmit(now);
}

TimePoint Call::poll_timeout() const {
  return std::min(
      {endpoint_.poll_timeout(), video_receiver_.poll_timeout(), audio_receiver_.poll_timeout()});
}

std::optional<CodedVideo> Call::poll_coded() { return take_front(coded_); }
std::optional<ShownFrame> Call::poll_shown() { return take_front(shown_); }
std::optional<PlayedAudio> Call::poll_played() { return take_front(played_); }

}  // namespace cress::app
