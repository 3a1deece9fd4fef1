#pragma once

#include <memory>

#include "app/call/call.hh"
#include "eval/schemes/host/microphone.hh"
#include "eval/schemes/host/scheme_host.hh"
#include "media/source/video_source.hh"

namespace cress::schemes {

/// One end of a Cress call on the bench: the same machine as in the desktop program, with a
/// VideoSource as camera and an AudioSource as microphone.
class CressCall final : public CallHost {
 public:
  /// No camera: this end only receives; no microphone: it sends no audio.
  CressCall(TimePoint start, app::CallOptions options, std::unique_ptr<control::Control> control,
            CallMedia media);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_ecn(Ecn ecn) override { ecn_ = ecn; }
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return delivered_; }
  HostSample sample(TimePoint now) const override;
  std::optional<CodedFrame> poll_coded() override;
  std::optional<ShownFrame> poll_shown() override;
  std::optional<app::PlayedAudio> poll_played() override { return call_.poll_played(); }

 private:
  TimePoint next_capture() const;

  std::shared_ptr<media::VideoSource> source_;
  TimePoint start_;
  Microphone microphone_;
  app::Call call_;
  Ecn ecn_ = Ecn::kNotEct;  // of the datagram that comes next
  uint64_t next_picture_ = 0;
  DataSize delivered_;
};

}  // namespace cress::schemes
