#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "media/frame/picture.hh"
#include "media/gst/gst_movie_writer.hh"
#include "media/source/audio_source.hh"
#include "transport/base/time.hh"

namespace cress::headless {

/// A MovieWriter on a thread of its own: the call never waits for a disk or an encoder. Input that
/// arrives faster than it can be written is left out, and counted. Errors: the constructor throws
/// as MovieWriter's; finish() reports later errors such as a full disk. Threads: one inside; one
/// owner. Bounds: at most kWaitingMax frames of video and audio wait.
class Recorder {
 public:
  static constexpr size_t kWaitingMax = 128;

  Recorder(const std::filesystem::path& path, const media::MovieOptions& options);
  ~Recorder();

  /// As MovieWriter::add_picture and add_sound.
  void add_picture(Duration at, media::PicturePtr picture);
  void add_sound(Duration at, const media::AudioFrame& frame);
  /// Writes everything that waits. Throws std::runtime_error "PATH: what" if anything failed since
  /// the beginning. Call once, last.
  void finish(Duration until);

  uint64_t left_out() const { return left_out_; }

 private:
  struct Item {
    Duration at{};
    media::PicturePtr picture{};  // or
    std::optional<media::AudioFrame> sound{};
  };

  void add(Item item);
  void write();
  void stop();

  media::MovieWriter writer_;
  uint64_t left_out_ = 0;

  std::mutex mutex_;  // of the next three
  std::condition_variable changed_;
  std::deque<Item> waiting_;
  bool stopping_ = false;

  std::string error_;  // owned by the thread until it is joined
  std::thread thread_;
};

}  // namespace cress::headless
