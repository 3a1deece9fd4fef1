#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "media/codec/opus_decoder.hh"
#include "media/playout/audio_jitter_buffer.hh"
#include "media/playout/audio_message.hh"
#include "media/source/audio_source.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"

namespace cress::app {

enum class SoundKind {
  kNormal,     ///< decoded from what was sent for it
  kFec,        ///< from a copy in a later message
  kConcealed,  ///< concealed, in place of speech that did not arrive, or not in time
  kSilence,    ///< the sender reported silence: background noise
  kComfort,    ///< the sender's state is unknown (not yet known, or for over 100 ms): background
               ///< noise or nothing
};

/// 20 ms for the loudspeaker.
struct PlayedAudio {
  media::AudioFrame samples{};
  /// When the first sample was captured, on the sender's clock; for concealed audio, approximately.
  TimePoint captured{};
  /// When the first sample is played.
  TimePoint played{};
  /// The kind of most of the samples.
  SoundKind kind = SoundKind::kComfort;
};

struct AudioReceiverOptions {
  media::PlayoutDelayOptions delay{.rise_frames = 8};
};

struct AudioReceiverStats {
  uint64_t malformed = 0;    ///< messages rejected with an error
  uint64_t undecodable = 0;  ///< frames rejected by libopus
  uint64_t skipped = 0;      ///< frames skipped to catch up after an outage
  uint64_t shortened = 0;    ///< periods left out
  uint64_t lengthened = 0;   ///< periods repeated
};

/// The receiving half of audio: messages -> jitter buffer -> decode or conceal -> play. Audio is
/// played at a constant delay after its capture: the shortest by which frames are there when they
/// are needed (PlayoutDelay), at the beginning of the 20 ms in which they begin. To change the
/// delay, periods of the voice are left out or repeated, in silence any samples; when audio is more
/// than kCatchUpFrom too old (after an outage) it is skipped in favour of newer audio. While
/// nothing arrives, what is held is stretched; then speech is concealed, no more of it than is
/// needed, and after some frames faded out. Call poll_frame when poll_timeout says so, every 20 ms;
/// or, if a sound card sets the pace, `play` whenever it asks. Errors: peer data never throws or
/// fails a check; bad messages give an error and are counted. Bounds: the jitter buffer's, and
/// kSoundMax decoded samples. Threads: none inside; one owner. `now` never goes back.
class AudioReceiver {
 public:
  static constexpr Duration kCatchUpFrom = 100ms;
  static constexpr size_t kSoundMax = 4 * media::kAudioFrameSamples;

  explicit AudioReceiver(const AudioReceiverOptions& options = {});

  /// One message of the audio flow.
  Result<Unit, media::SoundMessageError> handle_message(TimePoint now,
                                                        std::span<const std::byte> message);
  /// The next 20 ms if they are due: every 20 ms from the first message on.
  std::optional<PlayedAudio> poll_frame(TimePoint now);
  /// kNever before the first message.
  TimePoint poll_timeout() const;
  /// The next 20 ms, now.
  PlayedAudio play(TimePoint now);

  /// Audio is delayed by this much more than the jitter requires (for lip sync: AvSync). Not
  /// negative.
  void set_hold(Duration hold);
  /// From capture to playing (clock offset included) of the last decoded audio.
  std::optional<Duration> playout_delay() const { return playout_delay_; }
  /// The target of that delay; nullopt before the first message.
  std::optional<Duration> target_delay() const;

  const AudioReceiverStats& stats() const { return stats_; }
  const media::AudioJitterBufferStats& buffer_stats() const { return buffer_.stats(); }

 private:
  enum class Mode {
    kUnknown,  ///< nothing received, or nothing for so long that the state is meaningless
    kSilence,
    kTalk,
  };
  /// Consecutive decoded samples that were captured consecutively.
  struct Run {
    size_t samples = 0;
    TimePoint captured{};
    SoundKind kind = SoundKind::kComfort;
  };

  /// Everything arriving is far too old, but gets newer.
  struct Stale {
    TimePoint since{};
    TimePoint progress_at{};
    Duration age{};  // at progress_at
  };

  Duration target() const { return buffer_.target() + hold_; }
  Duration excess(TimePoint at, int64_t frame) const;
  void begin_stream();
  void extend(TimePoint at);
  void extend_with_nothing(TimePoint at);
  size_t lacking() const;
  bool wait_until_due(TimePoint at);
  void extend_with_frame(const media::HeldSound& sound);
  void extend_over_gap(TimePoint at);
  void catch_up(TimePoint at);
  bool is_getting_newer(TimePoint at, Duration age);
  void skip_to(int64_t frame);

  void append(std::span<const int16_t> samples, TimePoint captured, SoundKind kind);
  void append_decoded(const Result<media::AudioFrame, media::OpusError>& frame, TimePoint captured,
                      SoundKind kind);
  void append_concealed(size_t length, TimePoint captured);
  void append_quiet(size_t samples, TimePoint captured, SoundKind kind);
  std::vector<int16_t> continued(size_t samples);
  void prepare_seam();

  void adapt(TimePoint now);
  bool is_draining(TimePoint now) const;
  bool shorten(TimePoint now, Duration error, Duration most);
  void lengthen();
  PlayedAudio take(TimePoint now);
  void drop_front(size_t samples);

  media::AudioJitterBuffer buffer_;
  media::OpusDecoder decoder_;
  AudioReceiverStats stats_;
  Duration hold_{};
  std::optional<TimePoint> next_poll_;
  std::optional<Duration> playout_delay_;

  uint64_t stream_ = 0;
  Mode mode_ = Mode::kUnknown;
  int64_t next_frame_ = 0;  // the next frame to decode
  TimePoint last_heard_{};
  std::optional<Stale> stale_;
  size_t stalled_samples_ =
      0;  // concealed while nothing newer was there: playing time has not advanced
  size_t concealed_samples_ = 0;       // consecutive concealed samples
  std::vector<int16_t> continuation_;  // concealed after what was decoded last, not yet played
  // If the next decoded frame does not follow the last one, the old audio is cross-faded out.
  bool needs_seam_ = false;
  std::vector<int16_t> seam_;

  std::vector<int16_t> sound_;  // decoded, not yet played
  std::deque<Run> runs_;        // the content of sound_, from its front
};

}  // namespace cress::app
