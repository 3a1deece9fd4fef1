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

/// A MovieWriter on a thread of its own: the call never waits for a disk or an encoder. What comes
/// faster than it can be written is left out, and counted.
/// Errors: the constructor throws as MovieWriter's; a full disk later is told by finish().
/// Threads: one inside; one owner. Bounds: kWaitingMax pictures and sounds wait.
class Recorder {
 public:
  static constexpr size_t kWaitingMax = 128;

  Recorder(const std::filesystem::path& path, const media::MovieOptions& options);
  ~Recorder();

  /// As MovieWriter::add_picture and add_sound.
  void add_picture(Duration at, media::PicturePtr picture);
  void add_sound(Duration at, const media::AudioFrame& frame);
  /// Writes all that waits. Throws std::runtime_error "PATH: what" if anything went wrong since the
  /// beginning. Call once, last.
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

  std::string error_;  // the thread's until it is joined
  std::thread thread_;
};

}  // namespace cress::headless
