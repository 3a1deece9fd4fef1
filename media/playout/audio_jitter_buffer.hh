#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "media/playout/audio_message.hh"
#include "media/playout/playout_delay.hh"
#include "transport/base/time.hh"

namespace cress::media {

/// A frame waiting to be played.
struct HeldSound {
  TimePoint captured{};  ///< on the sender's clock
  bool silence = false;
  bool after_silence = false;
  bool is_copy = false;  ///< arrived inside a later message
  bool has_fec = false;  ///< its payload holds a copy of the frame before
  std::vector<std::byte> payload;
};

struct AudioJitterBufferStats {
  uint64_t messages = 0;
  uint64_t duplicates = 0;
  uint64_t late = 0;        ///< for a frame whose playing time was over
  uint64_t overflowed = 0;  ///< discarded because too many were held
  uint64_t restarts = 0;    ///< of the sender
  uint64_t strangers = 0;   ///< of a message that fits no stream
  friend bool operator==(const AudioJitterBufferStats&, const AudioJitterBufferStats&) = default;
};

/// Holds audio in the order of its frames, under loss, duplication and reordering, and learns how
/// long to hold it. Frames are counted without wrapping from the first message's sequence on. A
/// message that contradicts the stream's clock (by over a second) or comes from its distant past is
/// a stranger; two strangers in a row that agree with each other are a sender that has restarted,
/// and the stream restarts with them. Bounds: kHeldMax frames of one message's bytes each. Threads:
/// none inside; one owner. `now` never goes back.
class AudioJitterBuffer {
 public:
  static constexpr size_t kHeldMax = 256;  // 5 s

  explicit AudioJitterBuffer(const PlayoutDelayOptions& options = {}) : delay_(options) {}

  /// `has_fec`: the payload holds a copy of the frame before (only a decoder can see that).
  void handle_message(TimePoint now, const SoundMessage& message, bool has_fec);

  /// Counts streams: 0 before the first message, one more with each restart.
  uint64_t stream() const { return stream_; }
  /// The first and the newest frame held.
  std::optional<int64_t> first() const;
  std::optional<int64_t> newest() const;
  /// Null if it is not held.
  const HeldSound* find(int64_t frame) const;
  /// Discards frames before `frame`; they count as late from now on.
  void drop_before(int64_t frame);

  /// When `frame`, held or not, was captured, on the sender's clock. Only in a stream.
  TimePoint capture_time(int64_t frame) const;
  /// The delay from capture to playing that the jitter requires. Only in a stream.
  Duration target() const;
  /// Restarts learning the delay, with `delay` as the first value.
  void relearn(Duration delay);

  size_t held() const { return held_.size(); }
  const AudioJitterBufferStats& stats() const { return stats_; }

 private:
  static constexpr int64_t kSeenFrames = 1024;
  struct Stranger {
    TimePoint arrived{};
    SoundMessage message;
    bool has_fec = false;
  };

  void begin(const SoundMessage& message);
  bool is_stranger(TimePoint now, int64_t frame, TimePoint captured) const;
  void handle_stranger(TimePoint now, const SoundMessage& message, bool has_fec);
  void take_in(TimePoint now, int64_t frame, const SoundMessage& message, bool has_fec);
  void learn(TimePoint now, Duration delay);
  bool was_seen(int64_t frame) const;
  bool see(int64_t frame);
  void hold(int64_t frame, HeldSound sound);
  int64_t unwrap(uint32_t sequence) const;

  PlayoutDelay delay_;
  TimePoint last_learnt_{};
  Duration to_learn_{};
  AudioJitterBufferStats stats_;
  std::map<int64_t, HeldSound> held_;
  uint64_t stream_ = 0;
  int64_t position_ = 0;  // frames before it are over
  // The newest message: ties frames to the sender's clock.
  int64_t newest_ = 0;
  TimePoint newest_captured_{};
  std::bitset<kSeenFrames> seen_;  // frames newest_seen_ - kSeenFrames + 1 .. newest_seen_
  int64_t newest_seen_ = 0;
  std::optional<Stranger> stranger_;
};

}  // namespace cress::media
