#pragma once

#include <optional>
#include <span>

#include "eval/metrics/window.hh"
#include "transport/base/time.hh"

/// What the listener heard (docs/method.md): how old the audio was, and how much of it was
/// concealed or lost. Threads: pure functions.
namespace cress::metrics {

/// The length of every frame here.
inline constexpr Duration kSoundFrame = 20ms;

/// 20 ms that the receiver played.
struct PlayedSound {
  enum class Kind {
    kReal,     ///< decoded from what the sender sent for it, by whichever message
    kMadeUp,   ///< in place of missing audio: concealment, or background noise while the sender's
               ///< state was unknown
    kSilence,  ///< the sender had reported silence
  };
  TimePoint captured{};  ///< of the first sample, by the microphone; only for kReal
  TimePoint played{};    ///< of the first sample, by the loudspeaker
  Kind kind = Kind::kReal;
};

/// The smallest delay from microphone to loudspeaker that a share `q` (0..1) of the decoded audio
/// played in the window does not exceed. It includes packing 20 ms, the coder's look-ahead, the
/// network and the jitter buffer. Concealed audio is not included, because it has no capture time:
/// read this together with concealed_share and unheard_share. nullopt if no decoded audio was
/// played.
std::optional<Duration> mouth_to_ear_quantile(std::span<const PlayedSound> played, Window window,
                                              double q);

/// Of the frames played in the window that the sender did not report as silence, the share that was
/// concealed. nullopt if there was only silence.
std::optional<double> concealed_share(std::span<const PlayedSound> played, Window window);

/// Of the frames with speech in the window (`spoken`: capture time of each one's first sample; any
/// order, distinct), the share of which less than half was ever played. concealed_share cannot show
/// this, because a receiver that skips audio to catch up conceals nothing. nullopt if nothing was
/// spoken.
std::optional<double> unheard_share(std::span<const TimePoint> spoken,
                                    std::span<const PlayedSound> played, Window window);

}  // namespace cress::metrics
