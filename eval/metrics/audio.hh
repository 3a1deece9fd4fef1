#pragma once

#include <optional>
#include <span>

#include "eval/metrics/window.hh"
#include "transport/base/time.hh"

/// What the listener heard (docs/method.md): how old the sound was, and how much of it was made up
/// or never came. Threads: pure functions.
namespace cress::metrics {

/// The length of every frame here.
inline constexpr Duration kSoundFrame = 20ms;

/// 20 ms that the receiver played.
struct PlayedSound {
  enum class Kind {
    kReal,     ///< decoded from what the sender sent for it, by whichever message
    kMadeUp,   ///< in place of sound that was not there: concealment, or background when nothing
               ///< was known of the sender
    kSilence,  ///< the sender had said that there is nothing to hear
  };
  TimePoint captured{};  ///< of the first sample, by the microphone; for kReal alone
  TimePoint played{};    ///< of the first sample, by the loudspeaker
  Kind kind = Kind::kReal;
};

/// The smallest time from microphone to loudspeaker that a share `q` (0..1) of the real sound
/// played in the window does not exceed. Packing 20 ms, the coder's look-ahead, the way and the
/// jitter buffer are all in it; what was made up is not, for it has no age: read it beside
/// concealed_share and unheard_share. nullopt where no real sound was played.
std::optional<Duration> mouth_to_ear_quantile(std::span<const PlayedSound> played, Window window,
                                              double q);

/// Of the frames played in the window that were not silence by the sender's word, the share that
/// was made up. nullopt where there was nothing but silence.
std::optional<double> concealed_share(std::span<const PlayedSound> played, Window window);

/// Of the frames that the sender spoke in the window (`spoken`: when the first sample of each was
/// captured; any order, distinct), the share of which less than half was ever played: what
/// concealed_share cannot see, because a receiver that leaves sound out to catch up makes nothing
/// up. nullopt where nothing was spoken.
std::optional<double> unheard_share(std::span<const TimePoint> spoken,
                                    std::span<const PlayedSound> played, Window window);

}  // namespace cress::metrics
