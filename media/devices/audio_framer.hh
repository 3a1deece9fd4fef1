#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "media/source/audio_source.hh"
#include "transport/base/time.hh"

namespace cress::media {

struct FramedSound {
  AudioFrame samples{};
  /// When its last sample was captured.
  TimePoint ended{};
};

/// Splits audio pieces of any length into frames of 20 ms. Holds less than a frame and one piece.
/// Threads: none inside; one owner.
class AudioFramer {
 public:
  /// `ended`: when the last of `samples` was captured. Poll until empty before the next call.
  void add(std::span<const int16_t> samples, TimePoint ended);
  std::optional<FramedSound> poll_frame();
  /// Discards held samples, because they do not belong to what comes next.
  void forget() { samples_.clear(); }

 private:
  std::vector<int16_t> samples_;
  TimePoint ended_{};
};

}  // namespace cress::media
