#include "media/playout/audio_jitter_buffer.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

// A larger offset means a different clock: neither drift nor a suspended microphone thread.
constexpr Duration kClockErrorMax = 1s;
// An outage ends with a burst of everything it held up, which gives no information about the time
// before or after: learning counts no more frames than could have arrived in the time, 300 ms of
// them at once.
constexpr Duration kLearnAtOnceMax = 300ms;
// In frames (5 s). A message more than this behind the newest frame is taken for another stream's;
// two such messages belong to one stream only if they are no further apart.
constexpr int64_t kLateFramesMax = 250;
constexpr int64_t kSequenceModulus = int64_t{1} << kSoundSequenceBits;

Duration distance(TimePoint a, TimePoint b) { return a < b ? b - a : a - b; }

}  // namespace

int64_t AudioJitterBuffer::unwrap(uint32_t sequence) const {
  const int64_t ahead =
      (static_cast<int64_t>(sequence) - newest_ % kSequenceModulus + 2 * kSequenceModulus) %
      kSequenceModulus;
  return newest_ + (ahead < kSequenceModulus / 2 ? ahead : ahead - kSequenceModulus);
}

void AudioJitterBuffer::begin(const SoundMessage& message) {
  ++stream_;
  held_.clear();
  delay_.reset();
  to_learn_ = Duration{};
  seen_.reset();
  stranger_.reset();
  newest_ = static_cast<int64_t>(message.sequence);
  newest_captured_ = message.captured;
  newest_seen_ = newest_;
  position_ = newest_;
}

bool AudioJitterBuffer::is_stranger(TimePoint now, int64_t frame, TimePoint captured) const {
  return distance(captured, capture_time(frame)) > kClockErrorMax ||
         frame < newest_ - kLateFramesMax || now - captured < *delay_.fastest() - kClockErrorMax;
}

void AudioJitterBuffer::handle_stranger(TimePoint now, const SoundMessage& message, bool has_fec) {
  ++stats_.strangers;
  const std::optional<Stranger> before =
      std::exchange(stranger_, Stranger{.arrived = now, .message = message, .has_fec = has_fec});
  if (!before) {
    return;
  }
  const auto ahead =
      static_cast<int64_t>((message.sequence - before->message.sequence) & kSoundSequenceMask);
  const Duration expected = ahead * kSoundFrameLength;
  const Duration found = message.captured - before->message.captured;
  if (ahead == 0 || ahead > kLateFramesMax || found < expected - kClockErrorMax ||
      found > expected + kClockErrorMax) {
    return;
  }
  ++stats_.restarts;
  begin(before->message);
  take_in(before->arrived, newest_, before->message, before->has_fec);
  take_in(now, unwrap(message.sequence), message, has_fec);
}

void AudioJitterBuffer::handle_message(TimePoint now, const SoundMessage& message, bool has_fec) {
  ++stats_.messages;
  if (stream_ == 0) {
    begin(message);
    take_in(now, newest_, message, has_fec);
    return;
  }
  const int64_t frame = unwrap(message.sequence);
  if (is_stranger(now, frame, message.captured)) {
    handle_stranger(now, message, has_fec);
    return;
  }
  stranger_.reset();
  take_in(now, frame, message, has_fec);
}

void AudioJitterBuffer::learn(TimePoint now, Duration delay) {
  to_learn_ = std::min(to_learn_ + (now - last_learnt_), kLearnAtOnceMax);
  last_learnt_ = now;
  if (to_learn_ >= kSoundFrameLength || !delay_.target()) {
    to_learn_ -= std::min(to_learn_, kSoundFrameLength);
    delay_.observe(delay);
  }
}

void AudioJitterBuffer::take_in(TimePoint now, int64_t frame, const SoundMessage& message,
                                bool has_fec) {
  if (frame >= newest_) {
    newest_ = frame;
    newest_captured_ = message.captured;
  }
  const auto held = held_.find(frame);
  if (see(frame)) {
    learn(now, now - message.captured);
  } else if (held != held_.end() ? !held->second.is_copy : frame < position_) {
    ++stats_.duplicates;
    return;
  }
  hold(frame, {.captured = message.captured,
               .silence = message.silence,
               .after_silence = message.after_silence,
               .is_copy = false,
               .has_fec = has_fec,
               .payload = message.payload});
  if (has_fec && !message.after_silence && see(frame - 1)) {
    learn(now, now - capture_time(frame - 1));
  }
  if (message.copy.empty()) {
    return;
  }
  const int64_t copied = frame - static_cast<int64_t>(message.copy_distance);
  if (see(copied)) {
    learn(now, now - capture_time(copied));
  }
  if (copied >= position_ && !held_.contains(copied)) {
    hold(copied, {.captured = capture_time(copied), .is_copy = true, .payload = message.copy});
  }
}

bool AudioJitterBuffer::was_seen(int64_t frame) const {
  if (frame > newest_seen_) {
    return false;
  }
  return frame <= newest_seen_ - kSeenFrames ||
         seen_[static_cast<size_t>(frame % kSeenFrames + kSeenFrames) % kSeenFrames];
}

// True the first time.
bool AudioJitterBuffer::see(int64_t frame) {
  if (was_seen(frame)) {
    return false;
  }
  if (frame - newest_seen_ >= kSeenFrames) {
    seen_.reset();
    newest_seen_ = frame;
  }
  const auto slot = [](int64_t f) {
    return static_cast<size_t>(f % kSeenFrames + kSeenFrames) % kSeenFrames;
  };
  while (newest_seen_ < frame) {
    ++newest_seen_;
    seen_.reset(slot(newest_seen_));
  }
  seen_.set(slot(frame));
  return true;
}

void AudioJitterBuffer::hold(int64_t frame, HeldSound sound) {
  if (frame < position_) {
    ++stats_.late;
    return;
  }
  held_.insert_or_assign(frame, std::move(sound));
  while (held_.size() > kHeldMax) {
    held_.erase(held_.begin());
    ++stats_.overflowed;
  }
}

std::optional<int64_t> AudioJitterBuffer::first() const {
  return held_.empty() ? std::nullopt : std::optional{held_.begin()->first};
}

std::optional<int64_t> AudioJitterBuffer::newest() const {
  return held_.empty() ? std::nullopt : std::optional{held_.rbegin()->first};
}

const HeldSound* AudioJitterBuffer::find(int64_t frame) const {
  const auto held = held_.find(frame);
  return held == held_.end() ? nullptr : &held->second;
}

void AudioJitterBuffer::drop_before(int64_t frame) {
  position_ = std::max(position_, frame);
  held_.erase(held_.begin(), held_.lower_bound(position_));
}

TimePoint AudioJitterBuffer::capture_time(int64_t frame) const {
  check(stream_ > 0, "AudioJitterBuffer: no stream yet");
  return newest_captured_ + (frame - newest_) * kSoundFrameLength;
}

Duration AudioJitterBuffer::target() const {
  const std::optional<Duration> target = delay_.target();
  check(target.has_value(), "AudioJitterBuffer: no stream yet");
  return *target;
}

void AudioJitterBuffer::relearn(Duration delay) {
  delay_.reset();
  delay_.observe(delay);
}

}  // namespace cress::media
