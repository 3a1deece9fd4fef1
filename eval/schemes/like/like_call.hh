#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "app/call/video_receiver.hh"
#include "eval/schemes/host/call_parts.hh"
#include "eval/schemes/host/scheme_host.hh"
#include "eval/schemes/like/like_peer.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/source/video_source.hh"

namespace cress::schemes {

/// One end of a video call whose encoder runs at the controller's rate (libvpx's own constant
/// bitrate) and whose frames are sent as soon as they are encoded: no pacing. Errors: invalid
/// datagrams are dropped. Threads: none inside; one owner.
class LikeCall final : public CallHost {
 public:
  /// Without a source this end only receives.
  LikeCall(TimePoint start, const LikeOptions& options, std::shared_ptr<media::VideoSource> source);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override {
    return peer_.poll_transmit();
  }
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return delivered_; }
  HostSample sample(TimePoint now) const override;
  std::optional<CodedFrame> poll_coded() override { return coded_.poll(); }
  std::optional<ShownFrame> poll_shown() override;

  /// The encoder's target rate; always within the options' floor and ceiling.
  DataRate target() const { return peer_.target(); }

 private:
  void capture(TimePoint now);
  media::CodedPicture encode(TimePoint now, uint32_t picture);

  LikeOptions options_;
  Camera camera_;
  LikePeer peer_;
  app::VideoReceiver receiver_{Duration{}};     // a loss leads to a key frame
  std::unique_ptr<media::Vp8Encoder> encoder_;  // null without a source
  CodedLog coded_;
  std::optional<uint32_t> last_coded_;
  DataSize delivered_;
};

}  // namespace cress::schemes
