#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "app/call/audio_receiver.hh"
#include "media/frame/picture.hh"
#include "media/source/audio_source.hh"
#include "media/source/video_source.hh"
#include "transport/base/machine.hh"

namespace cress::schemes {

/// A sender's estimates at an instant, for timelines; empty if a scheme has none.
struct HostSample {
  std::optional<DataSize> window{};    ///< bytes that it may send now, or keep in flight
  std::optional<DataRate> forecast{};  ///< the rate that it expects of the link
};

/// One end of a scheme under test.
class SchemeHost : public Machine {
 public:
  /// Application bytes that arrived here, counted once (video: encoded frames that were displayed).
  virtual DataSize delivered() const = 0;
  virtual HostSample sample(TimePoint /*now*/) const { return {}; }
};

/// Camera and microphone of one end of a call. No camera: it only receives; no microphone: it sends
/// no audio.
struct CallMedia {
  std::shared_ptr<media::VideoSource> camera;
  std::shared_ptr<media::AudioSource> microphone;
};

/// The sender's result for one captured picture. `size` is 0 if it was skipped.
struct CodedFrame {
  uint32_t frame_id = 0;
  TimePoint captured{};
  DataSize size{};
  std::optional<DataSize> budget{};
  int quantizer = 0;
  bool key_frame = false;
  int attempts = 1;  ///< how often it was encoded
};

/// A displayed frame, and its time.
struct ShownFrame {
  uint32_t frame_id = 0;
  TimePoint captured{};
  TimePoint shown{};
  media::PicturePtr picture;
};

/// One end of a video call: captures its own camera, displays the other's; and the same with audio.
class CallHost : public SchemeHost {
 public:
  virtual std::optional<CodedFrame> poll_coded() = 0;
  virtual std::optional<ShownFrame> poll_shown() = 0;
  /// The audio that was played, in steps of 20 ms.
  virtual std::optional<app::PlayedAudio> poll_played() { return std::nullopt; }
};

}  // namespace cress::schemes
