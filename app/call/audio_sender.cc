#include "app/call/audio_sender.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::app {
namespace {

// Two frames back: the frame before is already in the packet, as Opus FEC, so together they cover a
// gap of two messages.
constexpr uint32_t kCopyDistance = 2;
// FEC alone leaves the square of the loss, a hundredth of the audio at a loss of a tenth. Copies
// halve the bits for the audio itself, so they are used only once that becomes audible.
constexpr double kCopiesFromLoss = 0.08;
constexpr double kCopiesUntilLoss = 0.05;
// Half of it still carries wideband speech with FEC.
constexpr DataRate kCopiesFromRate = DataRate::kilobits_per_second(32);
// Where copies cost the audio itself nothing, they are used from the loss on at which FEC alone
// begins to be heard when losses come in bursts.
constexpr double kFreeCopiesFromLoss = 0.01;
constexpr double kFreeCopiesUntilLoss = 0.005;
// Beyond this libopus spends nothing more on FEC.
constexpr double kExpectedLossMax = 0.25;
constexpr double kLossMemory = 0.8;
// Silence is reported twice, in case the first report is lost, and then five times a second.
constexpr uint64_t kSilenceToldFirst = 2;
constexpr uint64_t kSilenceToldEvery = 10;

}  // namespace

DataRate sound_rate(DataRate link) {
  const DataRate itself = std::clamp(link * 0.2, kSoundRateMin, kSoundRateMax);
  return std::clamp(link * 0.05, itself, kCopiedSoundRateMax);
}

AudioSender::AudioSender() { apply_rate(); }

std::optional<std::vector<std::byte>> AudioSender::capture(TimePoint now,
                                                           const media::AudioFrame& samples) {
  media::CodedSound coded = encoder_.encode(samples);
  media::SoundMessage message;
  message.sequence = static_cast<uint32_t>(frame_ & media::kSoundSequenceMask);
  message.captured = now - media::kAudioFrameLength - encoder_.delay();
  // Occasionally libopus describes the background again: a packet in the middle of silence that
  // holds no speech.
  message.silence = coded.is_silence() || (silent_run_ > 0 && !coded.info.active);
  message.after_silence = !message.silence && silent_run_ > 0;
  silent_run_ = message.silence ? silent_run_ + 1 : 0;
  add_copy(message);
  recent_[frame_ % recent_.size()] = message.silence ? std::vector<std::byte>{} : coded.data;
  ++frame_;
  ++stats_.frames;
  stats_.silent += message.silence ? 1 : 0;
  const bool is_told = !coded.is_silence() || silent_run_ <= kSilenceToldFirst ||
                       silent_run_ % kSilenceToldEvery == 0;
  if (!is_told) {
    return std::nullopt;
  }
  message.payload = std::move(coded.data);
  std::vector<std::byte> bytes = media::format_sound(message);
  ++stats_.messages;
  stats_.copies += message.copy.empty() ? 0 : 1;
  stats_.bytes += DataSize{static_cast<int64_t>(bytes.size())};
  return bytes;
}

void AudioSender::add_copy(media::SoundMessage& message) const {
  if (!sends_copies_ || frame_ < kCopyDistance) {
    return;
  }
  const std::vector<std::byte>& earlier = recent_[(frame_ - kCopyDistance) % recent_.size()];
  if (!earlier.empty() && earlier.size() <= media::kSoundCopyMax) {
    message.copy_distance = kCopyDistance;
    message.copy = earlier;
  }
}

void AudioSender::set_rate(DataRate rate) {
  rate_ = std::clamp(rate, kSoundRateMin, kCopiedSoundRateMax);
  apply_rate();
}

void AudioSender::handle_loss(double share) {
  check(share >= 0.0 && share <= 1.0, "AudioSender: a share out of range");
  expected_loss_ = std::max(share, kLossMemory * expected_loss_ + (1.0 - kLossMemory) * share);
  apply_rate();
}

void AudioSender::apply_rate() {
  const bool are_free = rate_ >= kCopiedSoundRateMax;
  const double from = are_free ? kFreeCopiesFromLoss : kCopiesFromLoss;
  const double until = are_free ? kFreeCopiesUntilLoss : kCopiesUntilLoss;
  sends_copies_ = expected_loss_ >= (sends_copies_ ? until : from) && rate_ >= kCopiesFromRate;
  encoder_.set_target(sends_copies_ ? rate_ * 0.5 : std::min(rate_, kSoundRateMax));
  encoder_.set_expected_loss(std::min(expected_loss_, kExpectedLossMax));
}

}  // namespace cress::app
