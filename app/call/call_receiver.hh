#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "app/call/audio_receiver.hh"
#include "app/call/video_receiver.hh"
#include "media/playout/av_sync.hh"

namespace cress::app {

struct CallReceiverOptions {
  /// See VideoReceiver.
  FrameOpener open_frame{};
  Duration stuck_max = 1s;
  media::AssemblerOptions assembler = VideoReceiver::kAssembler;
  /// A sound card sets the pace: audio is taken by play() whenever it asks, not by poll_played().
  bool paced_by_sound_card = false;
  /// Frames are handed out by poll_decode_work instead of being decoded at once.
  bool hands_out_decoding = false;
  PlayoutWait playout{};
};

/// The receiving side for one other person: video, audio, and lip sync. After each handle_*, call
/// settle() and then poll until empty. Peer data never fails a check; bad data is counted. Threads:
/// none inside; one owner. `now` never goes back.
class CallReceiver {
 public:
  explicit CallReceiver(CallReceiverOptions options = {});

  /// One message of the audio flow,
  void handle_sound(TimePoint now, std::span<const std::byte> message);
  /// or of the video flow.
  void handle_fragment(TimePoint now, std::span<const std::byte> message);
  /// See VideoReceiver.
  void handle_frame(TimePoint now, media::EncodedFrame frame);
  void handle_timeout(TimePoint now) { video_.handle_timeout(now); }
  /// See VideoReceiver.
  void handle_decoded(TimePoint now, const DecodeWork& work) { video_.handle_decoded(now, work); }
  TimePoint poll_timeout() const;
  /// Plays and displays what is due: for poll_shown and poll_played.
  void settle(TimePoint now);

  std::optional<ShownFrame> poll_shown();
  /// See VideoReceiver.
  std::shared_ptr<DecodeWork> poll_decode_work() { return video_.poll_decode_work(); }
  /// Every 20 ms from the first audio on.
  std::optional<PlayedAudio> poll_played();
  /// The next 20 ms for the loudspeaker, now.
  PlayedAudio play(TimePoint now);

  /// Which frames were decoded, if that is new and the last report is long enough ago.
  std::optional<FrameReport> poll_report(TimePoint now);
  /// Whether to ask the sender for a key frame now; true again after a while if still needed.
  bool poll_key_frame_request(TimePoint now);

  const VideoReceiver& video() const { return video_; }
  const AudioReceiver& audio() const { return audio_; }

 private:
  void note_played(const PlayedAudio& played);

  bool paced_by_sound_card_;
  VideoReceiver video_;
  AudioReceiver audio_;
  media::AvSync av_sync_;
  // Both grow by what one call can bring and are drained after it.
  std::deque<ShownFrame> shown_;
  std::deque<PlayedAudio> played_;
  uint32_t reported_frame_ = 0;
  TimePoint next_report_ = kTimeZero;
  TimePoint next_key_request_ = kTimeZero;
};

}  // namespace cress::app
