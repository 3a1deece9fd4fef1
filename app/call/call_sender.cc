#include "app/call/call_sender.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/frame/fragment.hh"
#include "media/frame/parity.hh"
#include "media/rate/frame_budget.hh"
#include "transport/base/take_front.hh"

namespace cress::app {
namespace {

using session::Leave;

// The maximum padding of one frame: 8 Mbit/s at 30 per second. A peer's forecast may promise
// anything.
constexpr DataSize kPaddingMax{32'000};
// Smaller frames contain nothing worth a datagram.
constexpr DataSize kFrameMin{300};
// While the window is closed a frame of this size is sent now and then ("a trickle"), a larger one
// on a fast link (MotionTrade::small_frame_length); if nothing can be encoded that small, it may be
// larger by as much for each growth interval it is late.
constexpr DataSize kTrickleFrame{300};
constexpr DataSize kTrickleFrameMax{1200};
constexpr Duration kTrickleGrowth = 66ms;
// With more than one opportunity's bytes in the network (a link's smallest unit), and more than the
// link usually carries in MotionTrade::small_frame_unit, less often.
constexpr DataSize kTrickleBacklog{1500};
// How often the window is closed is a mean over about this time.
constexpr Duration kClosedMemory = 20s;
// The share of the window that one frame may use is meant for 30 frames a second. Where fewer
// leave, or none because none can be encoded that small, it grows by itself in each growth
// interval.
constexpr Duration kShareKept = 34ms;
constexpr Duration kShareGrowth = 30ms;
// A frame leaves this much of the window for audio: the amount of audio in this time, about the
// window's look-ahead.
constexpr Duration kSoundReserve = 60ms;
// Audio waits for the window, ahead of video, if more is in the network than the link carries in
// this time, by its forecast or its usual rate, whichever is higher, within the bounds below.
// Missing reports may mean that only the reverse path is silent; then the audio arrives. If the
// link is down, the audio queued there delays the first frames after the outage by about this time.
constexpr Duration kSoundBacklogTime = 200ms;
constexpr DataSize kSoundBacklogLeast{3000};
constexpr DataSize kSoundBacklogMost{96'000};
// A peer's forecast may promise anything.
constexpr DataRate kForecastMost = DataRate::kilobits_per_second(1'000'000);
// Audio that waits longer in our own queue is not worth sending.
constexpr DataSize kSoundQueueMax{600};

// In a shared queue a frame leaves a quarter of the window for its parity ...
constexpr int64_t kParityOfWindow = 4;
// ... and gets at most this much for each byte of data: TCP fills the queue in bursts, and what
// comes behind one is lost together.
constexpr double kParityInSharedQueue = 0.75;
// With a share of losses below this, none of the last 500 messages or so was lost.
constexpr double kLossyShare = 0.0005;
// On a lossy link, when nothing came from the other end for this long, a frame refers to what is
// known to have been decoded, and so does one every so often (docs/experiments/0049).
constexpr Duration kDoubtAfter = 150ms;
constexpr Duration kDoubtEvery = 200ms;
// Into less than this what changed in that time hardly fits.
constexpr DataSize kDoubtBudgetMin{1000};
// Alone on a lossy link a frame may have as much parity as data if both take no more than this part
// of the window: more would make the next frames smaller.
constexpr double kPartWithParity = 0.5;
// With a long round trip up to all of it: what is sent until a loss is known refers to what was
// lost.
constexpr Duration kShortRoundTrip = 100ms;
constexpr Duration kLongRoundTrip = 300ms;
// The unused part of set_video_rate_max accumulates for at most this long.
constexpr Duration kRateCreditMax = 150ms;

DataSize size_of(const std::vector<std::byte>& bytes) {
  return DataSize{static_cast<int64_t>(bytes.size())};
}

}  // namespace

void open_call_flows(session::Endpoint& endpoint, bool tell_control) {
  endpoint.open_flow(session::kAudioFlow,
                     {.priority = session::Priority::kAudio, .queue_max = kSoundQueueMax});
  endpoint.open_flow(session::kControlFlow,
                     {.priority = session::Priority::kControl, .report_outcomes = tell_control});
  endpoint.open_flow(session::kVideoFlow, {.priority = session::Priority::kVideo});
  endpoint.open_flow(session::kPaddingFlow,
                     {.priority = session::Priority::kPadding, .report_outcomes = false});
}

CallSender::CallSender(TimePoint start, CallSenderOptions options, session::Endpoint& endpoint)
    : endpoint_(endpoint),
      pads_window_(options.pads_window),
      trickles_(options.trickles),
      trade_(options.trade),
      seal_(options.seal),
      heard_at_(start),
      doubted_at_(start),
      hands_out_encoding_(options.hands_out_encoding),
      last_frame_at_(start - options.trade.small_frame_interval),
      captured_at_(start) {
  if (options.video) {
    video_sender_.emplace(*options.video, trade_.frame_share);
  }
}

void CallSender::capture_sound(TimePoint now, const media::AudioFrame& samples) {
  audio_sender_.handle_loss(loss_.share());
  if (const auto forecast = endpoint_.control().forecast_rate()) {
    audio_sender_.set_rate(sound_rate(*forecast));
  }
  if (auto message = audio_sender_.capture(now, samples)) {
    if (seal_ != nullptr) {
      message = seal_->seal_sound(*std::move(message), samples);
    }
    recent_sound_.push_back({now, size_of(*message) + endpoint_.control().message_overhead()});
    // Speech does not wait for the window, but it must not fill a link that carries not even
    // speech.
    const Leave leave = endpoint_.control().outstanding(now) > sound_backlog_max()
                            ? Leave::kWithinWindow
                            : Leave::kNow;
    endpoint_.send(now, session::kAudioFlow, *std::move(message), leave);
  }
}

DataSize CallSender::sound_backlog_max() const {
  const DataRate forecast = endpoint_.control().forecast_rate().value_or(DataRate{});
  const DataRate rate = std::max(std::min(forecast, kForecastMost), usual_rate());
  return std::clamp(rate * kSoundBacklogTime, kSoundBacklogLeast, kSoundBacklogMost);
}

DataRate CallSender::usual_rate() const {
  return std::min(endpoint_.control().usual_rate().value_or(DataRate{}), kForecastMost);
}

DataSize CallSender::sound_reserve(TimePoint now) {
  while (!recent_sound_.empty() && recent_sound_.front().at <= now - kSoundReserve) {
    recent_sound_.pop_front();
  }
  DataSize total;
  for (const SentSound& sound : recent_sound_) {
    total += sound.size;
  }
  return total;
}

// The largest fragment, without the seal's header.
DataSize CallSender::message_max() const {
  return endpoint_.message_max() -
         (seal_ != nullptr ? size_of(seal_->fragment_head()) : DataSize{});
}

DataSize CallSender::message_overhead() const {
  return std::max(wire::kMessageOverhead, endpoint_.control().message_overhead()) +
         (seal_ != nullptr ? size_of(seal_->fragment_head()) : DataSize{});
}

std::optional<DataSize> CallSender::frame_budget(TimePoint now) {
  const DataSize window = endpoint_.control().window(now);
  const DataSize for_parity =
      endpoint_.control().is_shared(now) ? DataSize{window.bytes() / kParityOfWindow} : DataSize{};
  const DataSize left = window - for_parity - sound_reserve(now);
  const double share = frame_share(now) * static_cast<double>(left.bytes());
  return media::frame_budget({.window = DataSize{static_cast<int64_t>(share)},
                              .queued = endpoint_.queued(),
                              .message_max = message_max(),
                              .message_overhead = message_overhead(),
                              .loss = loss_.share(),
                              .minimum = kFrameMin});
}

double CallSender::frame_share(TimePoint now) const {
  if (endpoint_.control().is_shared(now)) {
    return trade_.frame_share;  // others take what is left
  }
  const Duration late = std::max(now - last_frame_at_ - kShareKept, Duration{});
  const double usual =
      std::lerp(trade_.frame_share, trade_.frame_share_steady, endpoint_.control().steadiness());
  return std::min(1.0, usual * (1 + to_seconds(late) / to_seconds(kShareGrowth)));
}

Plenty CallSender::plenty(TimePoint now) const {
  if (endpoint_.control().is_shared(now)) {
    return trade_.plenty_steady;  // others take what is left
  }
  const double steadiness = endpoint_.control().steadiness();
  const Plenty& usual = trade_.plenty;
  const Plenty& steady = trade_.plenty_steady;
  return {.finest_quantizer = static_cast<int>(
              std::lround(std::lerp(usual.finest_quantizer, steady.finest_quantizer, steadiness))),
          .share = std::lerp(usual.share, steady.share, steadiness)};
}

std::optional<DataSize> CallSender::trickle_budget(TimePoint now) const {
  const DataSize smallest = std::max(kTrickleFrame, usual_rate() * trade_.small_frame_length);
  const DataSize backlog = endpoint_.control().outstanding(now) + smallest;
  // Limited, in bytes, so that the products below cannot overflow.
  const int64_t units = std::min<int64_t>(backlog.bytes(), 1'000'000);
  const DataSize unit = std::max(kTrickleBacklog, usual_rate() * trade_.small_frame_unit);
  Duration interval = trade_.small_frame_interval * units / unit.bytes();
  if (trade_.by_square) {
    interval = interval * units / unit.bytes();
  }
  interval = std::clamp(interval, trade_.small_frame_interval, trade_.small_frame_interval_max);
  if (trade_.spares_sound && backlog > sound_backlog_max()) {
    interval = trade_.small_frame_interval_max;
  }
  const Duration late = now - last_frame_at_ - interval;
  if (!trickles_ || late < Duration{} || endpoint_.queued(session::kVideoFlow) > DataSize{}) {
    return std::nullopt;
  }
  return std::min(smallest * (1 + late / kTrickleGrowth), std::max(smallest, kTrickleFrameMax));
}

// A window that is closed now and then is a silence that ends. Where it is closed for a good part
// of the time, small frames are what the link carries.
double CallSender::weigh_need(TimePoint now, bool is_closed) {
  const double kept = std::exp(-to_seconds(now - captured_at_) / to_seconds(kClosedMemory));
  captured_at_ = now;
  closed_share_ = kept * closed_share_ + (is_closed ? 1 - kept : 0);
  return is_closed ? std::max(trade_.small_frame_need, closed_share_ * closed_share_) : 1;
}

// The budget minus the seal's overhead, and within what set_video_rate_max permits.
DataSize CallSender::limit(TimePoint now, DataSize budget) {
  budget -= seal_ != nullptr ? seal_->frame_growth() : DataSize{};
  if (rate_max_) {
    rate_max_->credit = std::min(rate_max_->credit + rate_max_->rate * (now - rate_max_->at),
                                 rate_max_->rate * kRateCreditMax);
    rate_max_->at = now;
    budget = std::min(budget, rate_max_->credit);
  }
  return std::max(budget, DataSize{});
}

void CallSender::capture(TimePoint now, const media::PicturePtr& picture) {
  check(video_sender_.has_value(), "CallSender: captured a picture without video options");
  check(encoding_ == nullptr, "CallSender: the picture before is still being encoded");
  std::optional<DataSize> budget = frame_budget(now);
  leave_ = Leave::kWithinWindow;
  const double need_weight = weigh_need(now, !budget);
  if (!budget) {
    budget = trickle_budget(now);
    leave_ = Leave::kNow;
  }
  const DataSize limited = limit(now, budget.value_or(DataSize{}));
  doubt_references(now, limited);
  video_sender_->set_plenty(plenty(now));
  encoding_ = video_sender_->begin(now, next_frame_id_++, picture, limited, need_weight);
  if (hands_out_encoding_) {
    to_encode_ = encoding_;
  } else {
    encoding_->run();
    handle_encoded(now, *encoding_);
  }
}

// On a lossy link, while nothing comes from the other end, a frame of which no report tells was
// probably lost, and all after it would refer to it until one does.
void CallSender::doubt_references(TimePoint now, DataSize budget) {
  if (const uint64_t heard = endpoint_.stats().datagrams_received; heard != heard_) {
    heard_ = heard;
    heard_at_ = now;
  }
  if (loss_.share() >= kLossyShare && now - heard_at_ > kDoubtAfter &&
      now - doubted_at_ >= kDoubtEvery && budget >= kDoubtBudgetMin) {
    doubted_at_ = now;
    video_sender_->refer_to_known();
  }
}

void CallSender::handle_encoded(TimePoint now, EncodeWork& work) {
  if (&work != encoding_.get()) {
    return;
  }
  Encoding encoding = video_sender_->finish(work);
  const auto done = std::exchange(encoding_, nullptr);  // until here `work` may be ours alone
  coded_.push_back(encoding.summary);
  if (!encoding.frame.data.empty()) {
    last_frame_at_ = encoding.summary.captured;
    if (seal_ != nullptr) {
      seal_->seal_frame(encoding.frame);
    }
    if (rate_max_) {
      rate_max_->credit -= encoding.frame.size();
    }
    send_frame(now, encoding.frame, leave_);
  }
  // After the new frame, which would be smaller otherwise.
  while (auto late = late_parity_.poll_due(now)) {
    send_fragment(now, late->frame_id, std::move(late->message), late->leave);
  }
  pad(now);
}

void CallSender::send_frame(TimePoint now, const media::EncodedFrame& frame, Leave leave) {
  const DataSize most = message_max();
  const int parity = parity_of(now, frame.size());
  video_sender_->handle_frame_sent(now, frame.id, parity);
  const Duration lateness =
      endpoint_.control().is_shared(now) ? Duration{} : late_parity_.lateness(now, round_trip());
  int64_t parts = media::fragment_count(frame.size(), most);
  for (auto& message : media::fragment(frame, most, parity)) {
    if (seal_ != nullptr) {
      message.insert(message.begin(), seal_->fragment_head().begin(), seal_->fragment_head().end());
    }
    if (parts-- > 0 || lateness == Duration{}) {
      send_fragment(now, frame.id, std::move(message), leave);
    } else {
      late_parity_.hold(now + lateness, {frame.id, std::move(message), leave});
    }
  }
}

Duration CallSender::round_trip() const {
  return endpoint_.stats().smoothed_rtt.value_or(Duration{});
}

void CallSender::send_fragment(TimePoint now, uint32_t frame_id, std::vector<std::byte> message,
                               Leave leave) {
  std::vector<std::byte> kept =
      video_sender_->repairs_losses() ? message : std::vector<std::byte>{};
  const session::MessageId id = endpoint_.send(now, session::kVideoFlow, std::move(message), leave);
  video_sender_->handle_fragment_sent(id, frame_id, std::move(kept));
}

// As much as independent losses need, which the budget left room for. Against bursts and full
// queues more, from what the window has left.
int CallSender::parity_of(TimePoint now, DataSize size) {
  const auto data = narrow<int>(media::fragment_count(size, message_max()));
  const int parity = media::parity_for(data, loss_.share());
  const bool is_shared = endpoint_.control().is_shared(now);
  if (!is_shared && loss_.share() < kLossyShare) {
    return parity;
  }
  const DataSize longest =
      DataSize{(size.bytes() + data - 1) / data} + media::kFragmentHeaderSize + message_overhead();
  const auto window = static_cast<double>(endpoint_.available_window(now).bytes());
  const DataSize usable{static_cast<int64_t>((is_shared ? 1 : part_with_parity()) * window)};
  const DataSize left = usable - sound_reserve(now) - (data + parity) * longest;
  const int affordable = narrow<int>(std::max<int64_t>(left.bytes(), 0) / longest.bytes());
  const double of_data = is_shared ? kParityInSharedQueue : 1;
  const int wanted =
      std::min(static_cast<int>(std::ceil(of_data * data)), media::kCodedFragmentsMax - data);
  return std::max(parity, std::min(wanted, parity + affordable));
}

double CallSender::part_with_parity() const {
  const double longer =
      to_seconds(round_trip() - kShortRoundTrip) / to_seconds(kLongRoundTrip - kShortRoundTrip);
  return std::lerp(kPartWithParity, 1.0, std::clamp(longer, 0.0, 1.0));
}

void CallSender::pad(TimePoint now) {
  DataSize rest = std::min(endpoint_.available_window(now), kPaddingMax);
  while (pads_window_ && rest > DataSize{}) {
    const DataSize size = std::min(rest, endpoint_.message_max());
    endpoint_.send(now, session::kPaddingFlow,
                   std::vector<std::byte>(static_cast<size_t>(size.bytes())));
    rest -= size;
  }
}

void CallSender::handle_outcome(TimePoint now, const session::MessageOutcome& outcome) {
  loss_.handle_outcome(outcome.kind);
  if (outcome.flow == session::kVideoFlow && video_sender_) {
    // The largest datagram may have become smaller since the fragment was sent.
    const DataSize room =
        std::min(endpoint_.available_window(now) - message_overhead(), endpoint_.message_max());
    SentFrames::Consequence consequence = video_sender_->handle_outcome(now, outcome, room);
    if (consequence.lost) {
      late_parity_.handle_frame_lost(now);
    }
    if (auto& again = consequence.again) {
      send_fragment(now, again->frame_id, std::move(again->message), Leave::kWithinWindow);
    }
  }
}

void CallSender::handle_report(const FrameReport& report) {
  if (video_sender_) {
    video_sender_->handle_report(report);
  }
}

void CallSender::handle_key_frame_request(TimePoint now) {
  if (video_sender_) {
    video_sender_->handle_key_frame_request(now);
  }
}

void CallSender::set_video_rate_max(TimePoint now, std::optional<DataRate> rate) {
  if (!rate) {
    rate_max_.reset();
    return;
  }
  if (!rate_max_) {
    rate_max_ = RateMax{.rate = *rate, .credit = *rate * kRateCreditMax, .at = now};
  }
  rate_max_->rate = *rate;
}

std::optional<CodedVideo> CallSender::poll_coded() { return take_front(coded_); }

}  // namespace cress::app
