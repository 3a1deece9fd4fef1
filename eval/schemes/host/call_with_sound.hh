#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "app/call/audio_receiver.hh"
#include "app/call/audio_sender.hh"
#include "eval/schemes/host/microphone.hh"
#include "eval/schemes/host/scheme_host.hh"

namespace cress::schemes {

/// Adds audio to a modelled video call, as the real programs have it: Opus at a constant rate, sent
/// at once, outside of the video's rate control; the receiving half is Cress's own. Its datagrams
/// are distinguished from the call's by their first byte, which no call uses. Errors: invalid
/// datagrams are dropped. Threads: none inside; one owner.
class CallWithSound final : public CallHost {
 public:
  /// WebRTC's default Opus rate for speech.
  static constexpr DataRate kSoundRate = DataRate::kilobits_per_second(32);

  CallWithSound(TimePoint start, std::unique_ptr<CallHost> call,
                std::shared_ptr<media::AudioSource> source);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return call_->delivered(); }
  HostSample sample(TimePoint now) const override { return call_->sample(now); }
  std::optional<CodedFrame> poll_coded() override { return call_->poll_coded(); }
  std::optional<ShownFrame> poll_shown() override { return call_->poll_shown(); }
  std::optional<app::PlayedAudio> poll_played() override;

 private:
  void play(TimePoint now);

  std::unique_ptr<CallHost> call_;
  Microphone microphone_;
  app::AudioSender sender_;
  app::AudioReceiver receiver_;
  std::deque<std::vector<std::byte>> outgoing_;  // drained after each call
  std::deque<app::PlayedAudio> played_;          // at most kPlayedMax; the oldest is dropped first
};

}  // namespace cress::schemes
