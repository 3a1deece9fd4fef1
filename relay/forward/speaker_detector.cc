#include "relay/forward/speaker_detector.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::relay {
namespace {

// Audio frames are 20 ms; more frequent ones count once.
constexpr Duration kFrameMin = 15ms;
constexpr double kFrameGain = 1.0 / 16;
// A member without audio for this long is silent: silent frames are mostly not sent.
constexpr Duration kSilentAfter = 120ms;
constexpr double kStepKept = 0.7;

}  // namespace

SpeakerDetector::SpeakerDetector(SpeakerDetectorOptions options) : options_(options) {
  check(options_.heard_max > 0, "SpeakerDetector: options out of range");
}

void SpeakerDetector::handle_level(TimePoint now, size_t slot, int level) {
  Voice& voice = voices_.at(slot);
  if (now - voice.heard_at < kFrameMin) {
    return;
  }
  voice.heard_at = now;
  const double above = std::max(0, options_.floor_level - level);
  voice.loudness += (above - voice.loudness) * kFrameGain;
}

void SpeakerDetector::forget(size_t slot) {
  voices_.at(slot) = {};
  if (speaker_ == slot) {
    speaker_.reset();
  }
  if (challenger_ == slot) {
    challenger_.reset();
  }
}

void SpeakerDetector::advance(TimePoint now) {
  std::optional<size_t> loudest;
  for (size_t slot = 0; slot < voices_.size(); ++slot) {
    Voice& voice = voices_.at(slot);
    if (now - voice.heard_at > kSilentAfter) {
      voice.loudness *= kStepKept;
    }
    if (voice.loudness >= options_.speaking) {
      voice.spoke_at = now;
      if (slot != speaker_ && (!loudest || voice.loudness > voices_.at(*loudest).loudness)) {
        loudest = slot;
      }
    }
  }
  choose_heard();
  const bool speaker_silent =
      !speaker_ || now - voices_.at(*speaker_).spoke_at >= options_.silent_for;
  if (!loudest || (!speaker_silent && voices_.at(*loudest).loudness <
                                          voices_.at(*speaker_).loudness + options_.louder)) {
    challenger_.reset();
    return;
  }
  if (challenger_ != loudest) {
    challenger_ = loudest;
    challenges_since_ = now;
  }
  if (speaker_silent || now - challenges_since_ >= options_.louder_for) {
    speaker_ = challenger_;
    challenger_.reset();
  }
}

void SpeakerDetector::choose_heard() {
  std::vector<size_t> loud;
  for (size_t slot = 0; slot < voices_.size(); ++slot) {
    if (voices_.at(slot).loudness > 1) {
      loud.push_back(slot);
    }
  }
  heard_ = ~uint64_t{0};
  if (loud.size() <= options_.heard_max) {
    return;
  }
  std::ranges::stable_sort(loud, std::greater{},
                           [this](size_t slot) { return voices_.at(slot).loudness; });
  for (size_t i = options_.heard_max; i < loud.size(); ++i) {
    heard_ &= ~(uint64_t{1} << loud[i]);
  }
}

}  // namespace cress::relay
