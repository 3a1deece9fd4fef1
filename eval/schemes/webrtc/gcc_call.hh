#pragma once

#include <memory>
#include <optional>

#include "eval/schemes/host/scheme_host.hh"
#include "eval/schemes/webrtc/gcc_receiver.hh"
#include "eval/schemes/webrtc/gcc_sender.hh"
#include "media/source/video_source.hh"

namespace cress::schemes {

/// One end of a video call like WebRTC's, with the congestion control of draft-ietf-rmcat-gcc-02 at
/// the sender. Its scope, omissions and distance from a real browser: docs/method-gcc.md. Errors:
/// invalid datagrams are dropped. Threads: none inside; one owner.
class GccCall final : public CallHost {
 public:
  /// Without a source this end only receives.
  GccCall(TimePoint start, const GccOptions& options, std::shared_ptr<media::VideoSource> source);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return receiver_.delivered(); }
  /// window: the contents of the pacer's queue; forecast: the congestion control's target.
  HostSample sample(TimePoint now) const override;
  std::optional<CodedFrame> poll_coded() override;
  std::optional<ShownFrame> poll_shown() override { return receiver_.poll_shown(); }

  /// Empty for an end that only receives.
  const std::optional<GccSender>& sender() const { return sender_; }

 private:
  std::optional<GccSender> sender_;
  GccReceiver receiver_;
};

}  // namespace cress::schemes
