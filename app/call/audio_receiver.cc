#include "app/call/audio_receiver.hh"

#include <algorithm>
#include <array>

#include "media/codec/opus_packet.hh"
#include "media/playout/audio_time_scale.hh"
#include "transport/base/check.hh"

namespace cress::app {
namespace {

using media::audio_duration;
using media::audio_samples;
using media::kAudioFrameLength;
using media::kAudioFrameSamples;

// Concealed speech sounds natural for 60 ms, then artificial: it is faded out over another 100.
constexpr size_t kConcealFullSamples = 3 * kAudioFrameSamples;
constexpr size_t kConcealFadeSamples = 5 * kAudioFrameSamples;
// From here on it does not replace anything.
constexpr size_t kConcealMaxSamples = 5 * kAudioFrameSamples;
constexpr size_t kSeamSamples = 240;  // 5 ms
// The sender reports silence five times a second: without a report for this long, its state is
// unknown.
constexpr Duration kSilenceTrust = 1s;
// After an outage the link may first deliver old audio. It is not played while arriving audio gets
// newer by half as much again as time passes, for some seconds at most; a path that has become
// longer permanently is accepted sooner.
constexpr Duration kStaleFrom = 300ms;
constexpr Duration kStalePatience = 600ms;
constexpr Duration kStaleProgress = 300ms;
constexpr Duration kStaleMax = 3s;
// Audio later than kTooLate is shortened by one pitch period (at most 15 ms): at most by the
// samples decoded beyond whole 20 ms frames or, if it is kFrameTooLate even without these, by all
// its excess.
constexpr Duration kTooLate = 10ms;
constexpr Duration kFrameTooLate = kAudioFrameLength + 5ms;
// If nothing has arrived for this long and at most kDrainingHeld frames are held, the buffer is
// running empty: the remaining audio is stretched.
constexpr Duration kDrainingFrom = 50ms;
constexpr size_t kDrainingHeld = 3;
// The later the audio, the less a seam matters.
constexpr Duration kMuchTooLate = 50ms;
constexpr double kLikenessMin = 0.85;
constexpr double kLikenessHurried = 0.4;
// A driver that slept for longer does not play what it missed.
constexpr Duration kPollCatchUpMax = 200ms;

static_assert(kAudioFrameLength == media::kSoundFrameLength);

bool is_real(SoundKind kind) { return kind == SoundKind::kNormal || kind == SoundKind::kFec; }

double conceal_gain(size_t samples) {
  if (samples <= kConcealFullSamples) {
    return 1.0;
  }
  const size_t faded = std::min(samples - kConcealFullSamples, kConcealFadeSamples);
  return 1.0 - static_cast<double>(faded) / static_cast<double>(kConcealFadeSamples);
}

}  // namespace

AudioReceiver::AudioReceiver(const AudioReceiverOptions& options) : buffer_(options.delay) {
  sound_.reserve(kSoundMax);
}

Result<Unit, media::SoundMessageError> AudioReceiver::handle_message(
    TimePoint now, std::span<const std::byte> message) {
  auto sound = media::parse_sound(message);
  if (!sound) {
    ++stats_.malformed;
    return sound.error();
  }
  media::OpusPacketInfo info;
  if (!sound->payload.empty()) {
    const auto inspected = media::inspect_opus(sound->payload);
    if (!inspected) {
      ++stats_.malformed;
      return media::SoundMessageError::kBadPayload;
    }
    info = *inspected;
  }
  if (!sound->copy.empty() && !media::inspect_opus(sound->copy)) {
    ++stats_.malformed;
    return media::SoundMessageError::kBadCopy;
  }
  buffer_.handle_message(now, *sound, info.has_fec);
  last_heard_ = now;
  next_poll_ = next_poll_.value_or(now);
  return Unit{};
}

std::optional<PlayedAudio> AudioReceiver::poll_frame(TimePoint now) {
  if (!next_poll_ || now < *next_poll_) {
    return std::nullopt;
  }
  *next_poll_ += kAudioFrameLength;
  if (now - *next_poll_ > kPollCatchUpMax) {
    next_poll_ = now + kAudioFrameLength;
  }
  return play(now);
}

TimePoint AudioReceiver::poll_timeout() const { return next_poll_.value_or(kNever); }

PlayedAudio AudioReceiver::play(TimePoint now) {
  while (sound_.size() < kAudioFrameSamples) {
    extend(now + audio_duration(static_cast<int64_t>(sound_.size())));
  }
  adapt(now);
  check(sound_.size() <= kSoundMax, "AudioReceiver: too much sound decoded");
  return take(now);
}

void AudioReceiver::set_hold(Duration hold) {
  check(hold >= Duration{}, "AudioReceiver: negative hold");
  hold_ = hold;
}

std::optional<Duration> AudioReceiver::target_delay() const {
  return buffer_.stream() == 0 ? std::nullopt : std::optional{target()};
}

/// How much too late `frame` would be played at `at`.
Duration AudioReceiver::excess(TimePoint at, int64_t frame) const {
  return at - buffer_.capture_time(frame) - target();
}

void AudioReceiver::begin_stream() {
  stream_ = buffer_.stream();
  mode_ = Mode::kUnknown;
  next_frame_ = buffer_.first().value_or(0);
  stalled_samples_ = 0;
  stale_.reset();
  prepare_seam();  // after the old sender's audio
  decoder_.reset();
}

// One step: at least one sample more, or one frame or mode further. `at`: when the next sample will
// be played.
void AudioReceiver::extend(TimePoint at) {
  if (stream_ != buffer_.stream()) {
    begin_stream();
  }
  catch_up(at);
  if (!buffer_.first()) {
    extend_with_nothing(at);
    return;
  }
  if (mode_ != Mode::kTalk && wait_until_due(at)) {
    return;
  }
  const media::HeldSound* sound = buffer_.find(next_frame_);
  if (sound != nullptr) {
    extend_with_frame(*sound);
    skip_to(next_frame_ + 1);
  } else {
    extend_over_gap(at);
  }
}

void AudioReceiver::extend_with_nothing(TimePoint at) {
  const TimePoint captured = stream_ == 0 ? at : at - target();
  if (mode_ == Mode::kSilence) {
    const bool is_known = at - last_heard_ <= kSilenceTrust;
    append_quiet(kAudioFrameSamples, captured,
                 is_known ? SoundKind::kSilence : SoundKind::kComfort);
    return;
  }
  const size_t samples = lacking();
  append_concealed(samples, captured);
  stalled_samples_ += samples;
  if (concealed_samples_ > kConcealMaxSamples) {
    mode_ = Mode::kUnknown;
  }
}

// How many samples the 20 ms to be played next lack.
size_t AudioReceiver::lacking() const {
  return kAudioFrameSamples - sound_.size() % kAudioFrameSamples;
}

// After silence, audio begins with the first 20 ms played at or after the time when it is due. If
// it is not due yet, appends background noise up to the next 20 ms and returns true.
bool AudioReceiver::wait_until_due(TimePoint at) {
  int64_t begin = *buffer_.first();
  const media::HeldSound& sound = *buffer_.find(begin);
  const bool lost_onset =
      mode_ == Mode::kSilence && !sound.silence && !sound.after_silence && begin > next_frame_;
  if (lost_onset) {
    --begin;  // it was sent and is missing; the packet after it may hold a copy
  }
  if (excess(at, begin) < Duration{}) {
    if (mode_ == Mode::kSilence) {
      append_quiet(lacking(), at - target(), SoundKind::kSilence);
    } else {
      append_concealed(lacking(), at - target());
    }
    return true;
  }
  skip_to(begin);
  mode_ = Mode::kTalk;
  stalled_samples_ = 0;
  return false;
}

void AudioReceiver::extend_with_frame(const media::HeldSound& sound) {
  stalled_samples_ = 0;
  if (needs_seam_ && !sound.payload.empty()) {
    prepare_seam();
  }
  if (!sound.silence) {
    mode_ = Mode::kTalk;
    append_decoded(decoder_.decode(sound.payload), sound.captured,
                   sound.is_copy ? SoundKind::kFec : SoundKind::kNormal);
    return;
  }
  mode_ = Mode::kSilence;
  if (sound.payload.empty()) {
    append_quiet(kAudioFrameSamples, sound.captured, SoundKind::kSilence);
  } else {
    append_decoded(decoder_.decode(sound.payload), sound.captured, SoundKind::kSilence);
  }
}

// The next frame is missing, but a later one is there.
void AudioReceiver::extend_over_gap(TimePoint at) {
  const int64_t later = *buffer_.first();
  const media::HeldSound& sound = *buffer_.find(later);
  if (sound.after_silence) {
    mode_ = Mode::kSilence;  // the missing part was silence, at least at its end
    return;
  }
  const TimePoint captured = buffer_.capture_time(next_frame_);
  const size_t filled = std::min(stalled_samples_, kAudioFrameSamples);
  const bool has_copy = later == next_frame_ + 1 && sound.has_fec;
  if (filled == kAudioFrameSamples && (!has_copy || excess(at, next_frame_) > kAudioFrameLength)) {
    stalled_samples_ -= filled;  // its time was filled already
  } else if (has_copy) {
    if (needs_seam_) {
      prepare_seam();
    }
    append_decoded(decoder_.decode_fec(sound.payload), captured, SoundKind::kFec);
  } else {
    append_concealed(kAudioFrameSamples - filled, captured);
    stalled_samples_ -= filled;
  }
  skip_to(next_frame_ + 1);
}

// After an outage: skips audio that is too old in favour of newer audio.
void AudioReceiver::catch_up(TimePoint at) {
  const std::optional<int64_t> first = buffer_.first();
  if (!first) {
    return;
  }
  const int64_t from = mode_ == Mode::kTalk ? next_frame_ : *first;
  const Duration late = excess(at, from);
  if (late <= kCatchUpFrom) {
    stale_.reset();
    return;
  }
  const int64_t newest = *buffer_.newest();
  int64_t to = std::min(newest, from + late / kAudioFrameLength);
  if (excess(at, newest) <= kStaleFrom) {
    stale_.reset();
  } else if (is_getting_newer(at, excess(at, newest))) {
    to = newest + 1;
  } else {
    buffer_.relearn(at - buffer_.capture_time(newest) - hold_);
    stale_.reset();
    to = newest;
  }
  if (to > from) {
    stats_.skipped += static_cast<uint64_t>(to - from);
    stalled_samples_ = 0;
    needs_seam_ = true;
    skip_to(to);
  }
}

// Whether it is worth waiting for newer audio.
bool AudioReceiver::is_getting_newer(TimePoint at, Duration age) {
  if (!stale_) {
    stale_ = Stale{.since = at, .progress_at = at, .age = age};
  }
  if (age <= stale_->age - kStaleProgress) {
    stale_->progress_at = at;
    stale_->age = age;
  }
  return at - stale_->progress_at < kStalePatience && at - stale_->since < kStaleMax;
}

void AudioReceiver::skip_to(int64_t frame) {
  next_frame_ = frame;
  buffer_.drop_before(frame);
}

void AudioReceiver::append(std::span<const int16_t> samples, TimePoint captured, SoundKind kind) {
  sound_.insert(sound_.end(), samples.begin(), samples.end());
  runs_.push_back({.samples = samples.size(), .captured = captured, .kind = kind});
}

// The next samples of the continuation of what was decoded last.
std::vector<int16_t> AudioReceiver::continued(size_t samples) {
  while (continuation_.size() < samples) {
    const media::AudioFrame more = decoder_.conceal();
    continuation_.insert(continuation_.end(), more.begin(), more.end());
  }
  const auto end = continuation_.begin() + static_cast<ptrdiff_t>(samples);
  std::vector<int16_t> taken{continuation_.begin(), end};
  continuation_.erase(continuation_.begin(), end);
  needs_seam_ = !continuation_.empty();  // the decoder is ahead of what is played
  return taken;
}

// Before decoding audio that does not follow the last: prepares the continuation of the last, to be
// faded out over the new.
void AudioReceiver::prepare_seam() {
  seam_.assign(kSeamSamples, 0);
  const double gain = conceal_gain(concealed_samples_);
  if (gain > 0.0) {
    seam_ = continued(kSeamSamples);
    media::fade(seam_, gain, gain);
  }
  continuation_.clear();
  needs_seam_ = false;
}

void AudioReceiver::append_decoded(const Result<media::AudioFrame, media::OpusError>& frame,
                                   TimePoint captured, SoundKind kind) {
  if (!frame) {
    ++stats_.undecodable;
    append_concealed(kAudioFrameSamples, captured);
    return;
  }
  media::AudioFrame samples = *frame;
  if (!seam_.empty()) {
    media::cross_fade(seam_, std::span{samples}.first(seam_.size()));
    seam_.clear();
  }
  concealed_samples_ = 0;
  append(samples, captured, kind);
}

void AudioReceiver::append_concealed(size_t length, TimePoint captured) {
  std::vector<int16_t> samples(length);
  const double begin = conceal_gain(concealed_samples_);
  concealed_samples_ = std::min(concealed_samples_ + length, 2 * kConcealMaxSamples);
  const double end = conceal_gain(concealed_samples_);
  if (begin > 0.0) {
    samples = continued(length);
    media::fade(samples, begin, end);
  }
  if (end < 1.0) {
    needs_seam_ = true;
  }
  const bool is_replacement = mode_ == Mode::kTalk && concealed_samples_ <= kConcealMaxSamples;
  append(samples, captured, is_replacement ? SoundKind::kConcealed : SoundKind::kComfort);
}

void AudioReceiver::append_quiet(size_t samples, TimePoint captured, SoundKind kind) {
  std::vector<int16_t> quiet = continued(samples);
  media::fade(quiet, conceal_gain(concealed_samples_), 1.0);
  concealed_samples_ = 0;
  append(quiet, captured, kind);
}

// Moves the delay closer to its target.
void AudioReceiver::adapt(TimePoint now) {
  constexpr int kTriesMax = 2;
  for (int i = 0; i < kTriesMax && mode_ == Mode::kTalk && is_real(runs_.front().kind); ++i) {
    const Duration error = now - runs_.front().captured - target();
    // Samples beyond whole pieces of 20 ms delay what is heard, but not when the next frame is
    // needed.
    const Duration spare = audio_duration(static_cast<int64_t>(sound_.size() % kAudioFrameSamples));
    const Duration frame_error = error - spare;
    if (frame_error < Duration{} || is_draining(now)) {
      lengthen();
      return;
    }
    const Duration most = frame_error >= kFrameTooLate ? error : spare;
    if (error <= kTooLate || !shorten(now, error, most) || error < kMuchTooLate) {
      return;
    }
  }
}

// Whether nothing arrives that should, and what is held is soon played.
bool AudioReceiver::is_draining(TimePoint now) const {
  if (now - last_heard_ < kDrainingFrom || buffer_.held() > kDrainingHeld) {
    return false;
  }
  const auto newest = buffer_.newest();
  return !newest || !buffer_.find(*newest)->silence;
}

bool AudioReceiver::shorten(TimePoint now, Duration error, Duration most) {
  constexpr size_t kWanted = kAudioFrameSamples + media::kPitchPeriodMax;
  while (sound_.size() < kWanted && mode_ == Mode::kTalk && buffer_.find(next_frame_) != nullptr) {
    extend(now + audio_duration(static_cast<int64_t>(sound_.size())));
  }
  const auto too_much = static_cast<size_t>(audio_samples(most));
  const size_t limit = std::min(
      {media::kPitchPeriodMax, sound_.size() / 2, sound_.size() - kAudioFrameSamples, too_much});
  if (limit < media::kPitchPeriodMin) {
    return false;
  }
  const media::PitchPeriod period = media::find_period(sound_, limit);
  const double wanted = error > kMuchTooLate ? kLikenessHurried : kLikenessMin;
  if (!period.is_quiet && period.likeness < wanted) {
    return false;
  }
  media::leave_out_period(sound_, period.samples);
  drop_front(period.samples);
  ++stats_.shortened;
  return true;
}

void AudioReceiver::lengthen() {
  const size_t limit = std::min(media::kPitchPeriodMax, sound_.size() / 2);
  const media::PitchPeriod period = media::find_period(sound_, limit);
  if (!period.is_quiet && period.likeness < kLikenessMin) {
    return;
  }
  media::repeat_period(sound_, period.samples);
  runs_.push_front(
      {.samples = period.samples, .captured = runs_.front().captured, .kind = runs_.front().kind});
  ++stats_.lengthened;
}

PlayedAudio AudioReceiver::take(TimePoint now) {
  PlayedAudio played;
  std::copy_n(sound_.begin(), kAudioFrameSamples, played.samples.begin());
  played.captured = runs_.front().captured;
  played.played = now;
  std::array<size_t, 5> of_kind{};
  size_t left = kAudioFrameSamples;
  for (const Run& run : runs_) {
    const size_t samples = std::min(left, run.samples);
    of_kind[static_cast<size_t>(run.kind)] += samples;
    left -= samples;
  }
  const auto most = std::max_element(of_kind.begin(), of_kind.end());
  played.kind = static_cast<SoundKind>(most - of_kind.begin());
  if (is_real(played.kind)) {
    playout_delay_ = played.played - played.captured;
  }
  sound_.erase(sound_.begin(), sound_.begin() + kAudioFrameSamples);
  drop_front(kAudioFrameSamples);
  return played;
}

// Of the runs; the samples themselves have already been removed.
void AudioReceiver::drop_front(size_t samples) {
  while (samples > 0) {
    Run& front = runs_.front();
    const size_t part = std::min(samples, front.samples);
    front.samples -= part;
    front.captured += audio_duration(static_cast<int64_t>(part));
    samples -= part;
    if (front.samples == 0) {
      runs_.pop_front();
    }
  }
}

}  // namespace cress::app
