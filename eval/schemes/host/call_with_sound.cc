#include "eval/schemes/host/call_with_sound.hh"

#include <algorithm>
#include <span>
#include <utility>

#include "transport/base/take_front.hh"

namespace cress::schemes {
namespace {

constexpr std::byte kSoundKind{0xA5};
constexpr size_t kPlayedMax = 500;  // ten seconds that were not taken

}  // namespace

CallWithSound::CallWithSound(TimePoint start, std::unique_ptr<CallHost> call,
                             std::shared_ptr<media::AudioSource> source)
    : call_(std::move(call)), microphone_(start, std::move(source)) {
  sender_.set_rate(kSoundRate);
}

void CallWithSound::handle_datagram(TimePoint now, const Address& from,
                                    std::span<const std::byte> bytes) {
  if (!bytes.empty() && bytes[0] == kSoundKind) {
    (void)receiver_.handle_message(now, bytes.subspan(1));
  } else {
    call_->handle_datagram(now, from, bytes);
  }
  play(now);
}

void CallWithSound::handle_timeout(TimePoint now) {
  call_->handle_timeout(now);
  while (microphone_.next_capture() <= now) {
    if (const auto message = sender_.capture(now, microphone_.take())) {
      outgoing_.push_back({kSoundKind});
      outgoing_.back().insert(outgoing_.back().end(), message->begin(), message->end());
    }
  }
  play(now);
}

void CallWithSound::play(TimePoint now) {
  while (const auto played = receiver_.poll_frame(now)) {
    if (played_.size() == kPlayedMax) {
      played_.pop_front();
    }
    played_.push_back(*played);
  }
}

std::optional<Transmit> CallWithSound::poll_transmit(TimePoint now) {
  if (auto bytes = take_front(outgoing_)) {
    return Transmit{.to = {}, .bytes = *std::move(bytes)};
  }
  return call_->poll_transmit(now);
}

TimePoint CallWithSound::poll_timeout() const {
  return std::min({call_->poll_timeout(), microphone_.next_capture(), receiver_.poll_timeout()});
}

std::optional<app::PlayedAudio> CallWithSound::poll_played() { return take_front(played_); }

}  // namespace cress::schemes
