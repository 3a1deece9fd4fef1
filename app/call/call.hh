#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/call/audio_receiver.hh"
#include "app/call/audio_sender.hh"
#include "app/call/loss_meter.hh"
#include "app/call/video_receiver.hh"
#include "app/call/video_sender.hh"
#include "media/playout/av_sync.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

struct CallOptions {
  session::EndpointOptions endpoint;
  /// Of the own camera; empty: this end only watches.
  std::optional<VideoSenderOptions> video;
  /// Whether what a frame leaves of the safe window is filled with padding: for Sprout, whose
  /// belief takes a tick with few arrivals for a slow link, also when only the sender had little to
  /// send (reference specification §3). Cress needs none.
  bool pads_window = false;
};

/// One end of a call: joins a session with coding, showing and playing, without I/O. Sound goes
/// first, at once. A captured picture is coded at once for what the safe window lets through now,
/// or skipped; nothing waits for a better time (DESIGN §4). While the window is closed a small
/// picture goes now and then all the same. After each handle_* and verb poll transmit, coded, shown
/// and played until empty, then sleep until poll_timeout. Threads: none inside; one owner. `now`
/// never goes back.
class Call {
 public:
  Call(TimePoint start, CallOptions options, std::unique_ptr<sprout::Control> control);

  /// A picture of the own camera, just captured; pictures are numbered from 0.
  void capture(TimePoint now, const media::PicturePtr& picture);
  /// 20 ms of the own microphone, the last of it captured just now.
  void capture_sound(TimePoint now, const media::AudioFrame& samples);

  Result<Unit, wire::WireError> handle_datagram(TimePoint now, std::span<const std::byte> datagram);
  void handle_timeout(TimePoint now);
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now);
  TimePoint poll_timeout() const;

  /// What became of each captured picture, in order.
  std::optional<CodedVideo> poll_coded();
  std::optional<ShownFrame> poll_shown();
  /// Every 20 ms from the first sound on.
  std::optional<PlayedAudio> poll_played();

  const session::Endpoint& endpoint() const { return endpoint_; }

 private:
  struct SentSound {
    TimePoint at{};
    DataSize size;
  };

  std::optional<DataSize> frame_budget(TimePoint now);
  std::optional<DataSize> trickle_budget(TimePoint now) const;
  DataSize sound_reserve(TimePoint now);
  void send_frame(TimePoint now, const media::EncodedFrame& frame, session::Leave leave);
  void pad(TimePoint now);
  void drain(TimePoint now);
  void handle_message(TimePoint now, const session::MessageReceived& message);
  void handle_control(TimePoint now, std::span<const std::byte> bytes);
  void play_and_show(TimePoint now);
  void report(TimePoint now);

  session::Endpoint endpoint_;
  bool pads_window_;
  LossMeter loss_;

  std::optional<VideoSender> video_sender_;
  std::deque<CodedVideo> coded_;
  uint32_t next_frame_id_ = 0;
  TimePoint last_frame_at_;

  AudioSender audio_sender_;
  std::deque<SentSound> recent_sound_;  // at most what kSoundReserve holds

  VideoReceiver video_receiver_;
  AudioReceiver audio_receiver_;
  media::AvSync av_sync_;
  // Both grow by what one call can bring and are drained after it.
  std::deque<ShownFrame> shown_;
  std::deque<PlayedAudio> played_;
  uint32_t reported_frame_ = 0;
  TimePoint next_report_ = kTimeZero;
  TimePoint next_key_request_ = kTimeZero;
};

}  // namespace cress::app
