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

/// What a sender believes at an instant, for timelines; empty where a scheme has no such notion.
struct HostSample {
  std::optional<DataSize> window{};    ///< it may send now, or keep in flight
  std::optional<DataRate> forecast{};  ///< it expects of the link
};

/// One end of a scheme under test.
class SchemeHost : public Machine {
 public:
  /// Application bytes that arrived here once (video: coded frames that were shown).
  virtual DataSize delivered() const = 0;
  virtual HostSample sample(TimePoint /*now*/) const { return {}; }
};

/// What one end of a call sees and hears of its own side. An empty camera: it only watches; an
/// empty microphone: it says nothing.
struct CallMedia {
  std::shared_ptr<media::VideoSource> camera;
  std::shared_ptr<media::AudioSource> microphone;
};

/// What the sender did with one captured picture. `size` is 0 for a skipped one.
struct CodedFrame {
  uint32_t frame_id = 0;
  TimePoint captured{};
  DataSize size{};
  std::optional<DataSize> budget{};
  int quantizer = 0;
  bool key_frame = false;
  int attempts = 1;  ///< how often it was coded
};

/// What the viewer saw, and when.
struct ShownFrame {
  uint32_t frame_id = 0;
  TimePoint captured{};
  TimePoint shown{};
  media::PicturePtr picture;
};

/// One end of a video call: captures its own camera, shows the other's; and the same with sound.
class CallHost : public SchemeHost {
 public:
  virtual std::optional<CodedFrame> poll_coded() = 0;
  virtual std::optional<ShownFrame> poll_shown() = 0;
  /// What the listener heard, 20 ms after 20 ms.
  virtual std::optional<app::PlayedAudio> poll_played() { return std::nullopt; }
};

}  // namespace cress::schemes
