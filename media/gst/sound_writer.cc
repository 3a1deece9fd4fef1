#include "media/gst/sound_writer.hh"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

using std::filesystem::path;

path part_of(const path& shown) {
  if (shown.extension() != ".wav") {
    throw std::runtime_error(shown.string() + ": a sound's name ends in .wav");
  }
  std::error_code trouble;
  const auto status = std::filesystem::status(shown, trouble);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return shown;
  }
  return path{shown} += ".part";
}

}  // namespace

SoundWriter::SoundWriter(const path& path) : path_(path), part_(part_of(path)), writer_(part_) {}

SoundWriter::~SoundWriter() {
  if (!finished_ && part_ != path_) {
    std::error_code ignored;  // there is no one left to report to
    std::filesystem::remove(part_, ignored);
  }
}

void SoundWriter::fill(int64_t until) {
  constexpr AudioFrame kSilence{};
  while (samples_ < until) {
    const auto count = std::min(static_cast<size_t>(until - samples_), kSilence.size());
    writer_.write(std::span{kSilence}.first(count));
    samples_ += static_cast<int64_t>(count);
  }
}

void SoundWriter::add_sound(Duration at, const AudioFrame& frame) {
  check(!finished_ && at >= 0ms, "SoundWriter: sound before the beginning or after the end");
  constexpr auto kJitter = static_cast<int64_t>(kAudioFrameSamples / 2);
  const int64_t gap = audio_samples(at) - samples_;
  if (gap > kJitter) {
    fill(samples_ + gap);
  }
  const auto known = static_cast<size_t>(gap < -kJitter ? -gap : 0);
  if (known < frame.size()) {
    const auto fresh = std::span{frame}.subspan(known);
    writer_.write(fresh);
    samples_ += static_cast<int64_t>(fresh.size());
  }
}

void SoundWriter::finish(Duration until) {
  check(!finished_, "SoundWriter: it is finished");
  fill(audio_samples(until));
  writer_.finish();
  if (part_ != path_) {
    std::error_code trouble;
    std::filesystem::rename(part_, path_, trouble);
    if (trouble) {
      throw std::runtime_error(path_.string() + ": cannot be replaced: " + trouble.message());
    }
  }
  finished_ = true;
}

}  // namespace cress::media
