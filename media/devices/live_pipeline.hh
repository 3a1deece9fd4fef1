#pragma once

#include <gst/gst.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "media/gst/gst_handles.hh"
#include "transport/base/time.hh"

namespace cress::media {

struct LivePipelineOptions {
  /// Builds the pipeline again each time it is opened. May take time (an audio server is queried, a
  /// device is searched for). Errors: std::runtime_error with a readable message.
  std::function<GstPipelinePtr()> build;
  /// The pipeline has failed and is closed. A message for display. May call `open`.
  std::function<void(std::string)> on_failed;
  /// The pipeline has reached its end and is closed.
  std::function<void()> on_ended;
  /// Restarts at its end, without a gap if the file's kind allows that.
  bool loop = false;
  /// What it produces, for messages: "pictures". Empty: it is not expected to produce anything.
  std::string gives;
  /// Without `beat` for this long it counts as failed.
  Duration patience = 6s;
};

/// A GStreamer pipeline in a call: opened, monitored, looped and closed by a thread of its own,
/// because opening a camera may take a second, which would delay the call, and because a failed
/// pipeline can only be closed from outside its own threads. All callbacks run on that thread.
/// Threads: one inside, in addition to GStreamer's; one owner; `beat` may be called from any
/// thread.
class LivePipeline {
 public:
  explicit LivePipeline(LivePipelineOptions options);
  /// Closes; returns once all of GStreamer's threads have ended.
  ~LivePipeline();

  /// Closes the current pipeline and opens a new one. Returns at once.
  void open();
  /// Call when the pipeline produced something.
  void beat() { ++beats_; }
  /// Fails the pipeline for a reason unknown to GStreamer. From any thread.
  void break_off(std::string why) { post({Message::Kind::kError, std::move(why)}); }

  /// The lock that a callback of GStreamer's streaming threads holds while it uses what `build`
  /// prepares: GStreamer ensures that the two never run at once, and this lock shows that to
  /// ThreadSanitizer. Hold it briefly, and never around a wait.
  std::unique_lock<std::mutex> streaming() { return std::unique_lock{streaming_}; }

 private:
  struct Message {
    enum class Kind { kError, kEnd, kSegmentEnd, kPrerolled, kLatency };
    Kind kind = Kind::kError;
    std::string words;
  };

  static GstBusSyncReply take_message(GstBus* bus, GstMessage* message, gpointer self);
  void post(Message message);
  void keep();
  void handle(const Message& message);
  void begin();
  void close();
  void fail(const std::string& words);
  void rewind();
  void watch_flow();
  bool seek_to_begin(unsigned flags);

  const LivePipelineOptions options_;
  std::atomic<uint64_t> beats_ = 0;
  std::mutex streaming_;

  std::mutex mutex_;  // of the next four
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool open_wanted_ = false;
  bool stop_wanted_ = false;

  // Used only by the keeper's thread.
  GstPipelinePtr pipeline_;
  bool segments_ = false;  // loops without a gap
  bool playing_ = false;
  uint64_t beats_seen_ = 0;
  uint64_t beats_at_loop_ = 0;
  Duration quiet_{};

  std::thread keeper_;  // last: all members exist when it starts
};

/// A message for display: "is used by another program (…)".
std::string words_of(const GError& error);

}  // namespace cress::media
