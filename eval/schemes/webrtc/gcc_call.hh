#pragma once

#include <memory>
#include <optional>

#include "eval/schemes/host/scheme_host.hh"
#include "eval/schemes/webrtc/gcc_receiver.hh"
#include "eval/schemes/webrtc/gcc_sender.hh"
#include "media/source/video_source.hh"

namespace cress::schemes {

/// One end of a video call as WebRTC makes it, with the congestion control of
/// draft-ietf-rmcat-gcc-02 at the sender. What it is, what it leaves out and how far it is from a
/// real browser: docs/method-gcc.md. Errors: what a peer sends is dropped when it makes no sense.
/// Threads: none inside; one owner.
class GccCall final : public CallHost {
 public:
  /// An empty source: this end only watches.
  GccCall(TimePoint start, const GccOptions& options, std::shared_ptr<media::VideoSource> source);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return receiver_.delivered(); }
  /// window: what waits in the pacer; forecast: the congestion control's target.
  HostSample sample(TimePoint now) const override;
  std::optional<CodedFrame> poll_coded() override;
  std::optional<ShownFrame> poll_shown() override { return receiver_.poll_shown(); }

  /// Empty for an end that only watches.
  const std::optional<GccSender>& sender() const { return sender_; }

 private:
  std::optional<GccSender> sender_;
  GccReceiver receiver_;
};

}  // namespace cress::schemes
