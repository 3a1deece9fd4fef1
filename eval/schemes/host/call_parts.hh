#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "eval/schemes/host/scheme_host.hh"
#include "media/source/video_source.hh"
#include "transport/base/take_front.hh"

/// The common parts of the modelled calls.
namespace cress::schemes {

/// A video source as a camera: one picture per frame interval from `start` on. Threads: none
/// inside; one owner.
class Camera {
 public:
  /// An empty source never captures.
  Camera(TimePoint start, std::shared_ptr<media::VideoSource> source)
      : start_(start), source_(std::move(source)) {}

  TimePoint next_capture() const {
    return source_ ? start_ + source_->frame_rate().time_of(next_) : kNever;
  }
  /// The number of the picture that is due. If called late, those in between are skipped.
  uint32_t take(TimePoint now) {
    const uint32_t taken = next_++;
    while (next_capture() <= now) {
      ++next_;
    }
    return taken;
  }
  explicit operator bool() const { return source_ != nullptr; }
  media::VideoSource& source() const { return *source_; }

 private:
  TimePoint start_;
  std::shared_ptr<media::VideoSource> source_;
  uint32_t next_ = 0;
};

/// The outcomes of captured pictures, until they are taken. Holds kMax; the oldest is dropped
/// first. Threads: none inside; one owner.
class CodedLog {
 public:
  static constexpr size_t kMax = 300;  // ten seconds of outcomes not taken

  void push(const CodedFrame& frame) {
    if (frames_.size() == kMax) {
      frames_.pop_front();
    }
    frames_.push_back(frame);
  }
  std::optional<CodedFrame> poll() { return take_front(frames_); }

 private:
  std::deque<CodedFrame> frames_;
};

}  // namespace cress::schemes
