#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "media/codec/opus_encoder.hh"
#include "media/playout/audio_message.hh"
#include "media/source/audio_source.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::app {

inline constexpr DataRate kSoundRateMin = DataRate::kilobits_per_second(8);
/// Of the audio itself; with copies, both together may take twice that.
inline constexpr DataRate kSoundRateMax = DataRate::kilobits_per_second(48);
inline constexpr DataRate kCopiedSoundRateMax = kSoundRateMax * 2;

/// The rate for audio with its copies on a link that carries `link`: a fifth of it, but at least
/// kSoundRateMin (speech has priority) and at most kSoundRateMax; or a twentieth, if that is more,
/// up to kCopiedSoundRateMax. So 20 kbit/s of 100, 48 of 500 and 96 of 2 Mbit/s.
DataRate sound_rate(DataRate link);

struct AudioSenderStats {
  uint64_t frames = 0;    ///< frames captured
  uint64_t silent = 0;    ///< of these: silence
  uint64_t messages = 0;  ///< messages to be sent
  uint64_t copies = 0;    ///< messages that also carry an earlier frame
  DataSize bytes;         ///< of the messages
};

/// The sending half of audio: 20 ms from the microphone -> a message of the audio flow, or none in
/// silence (but one every 200 ms, so that silence is not mistaken for loss). Against loss, packets
/// carry a coarse copy of the frame before (Opus FEC), and if the rate allows the whole frame
/// before that one too. Threads: none inside; one owner. `now` never goes back.
class AudioSender {
 public:
  AudioSender();

  /// `samples` were captured in the 20 ms that end at `now`.
  std::optional<std::vector<std::byte>> capture(TimePoint now, const media::AudioFrame& samples);

  /// The rate of the encoded audio with its copies, from the next frame on; clamped to
  /// kSoundRateMin..kCopiedSoundRateMax. Each message adds kSoundHeaderSize.
  void set_rate(DataRate rate);
  /// The share (0..1) of recent messages that did not arrive. An increase is followed at once, a
  /// decrease gradually.
  void handle_loss(double share);

  DataRate rate() const { return rate_; }
  double expected_loss() const { return expected_loss_; }
  bool sends_copies() const { return sends_copies_; }
  const AudioSenderStats& stats() const { return stats_; }

 private:
  void apply_rate();
  void add_copy(media::SoundMessage& message) const;

  media::OpusEncoder encoder_;
  DataRate rate_ = DataRate::kilobits_per_second(24);
  double expected_loss_ = 0;
  bool sends_copies_ = false;
  uint64_t frame_ = 0;
  uint64_t silent_run_ = 0;
  // The last encoded frames, by number; empty for silence.
  std::array<std::vector<std::byte>, media::kSoundCopyDistanceMax> recent_;
  AudioSenderStats stats_;
};

}  // namespace cress::app
