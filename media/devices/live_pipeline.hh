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
  /// Makes the pipeline anew, each time it is opened. May take its time (a sound server is asked, a
  /// device is looked for). Errors: std::runtime_error with words for people.
  std::function<GstPipelinePtr()> build;
  /// The pipeline has failed and is closed. Words for people. May call `open`.
  std::function<void(std::string)> on_failed;
  /// The pipeline has come to its end and is closed.
  std::function<void()> on_ended;
  /// At its end it begins again, without a gap where the file's kind allows that.
  bool loop = false;
  /// What it gives, for words: "pictures". Empty: it is not expected to give anything.
  std::string gives;
  /// Without `beat` for so long it counts as failed.
  Duration patience = 6s;
};

/// A GStreamer pipeline that lives in a call: opened, watched, looped and closed by a thread of its
/// own, because opening a camera may take a second that the call does not have, and because a
/// failed pipeline can only be closed from outside its own threads. All functions are called on
/// that thread.
/// Threads: one inside, besides GStreamer's; one owner; `beat` is for any thread.
class LivePipeline {
 public:
  explicit LivePipeline(LivePipelineOptions options);
  /// Closes; returns when none of GStreamer's threads is left.
  ~LivePipeline();

  /// Closes what is open and opens anew. Returns at once.
  void open();
  /// It gave something.
  void beat() { ++beats_; }
  /// It fails for a reason that GStreamer does not know of. From any thread.
  void break_off(std::string why) { post({Message::Kind::kError, std::move(why)}); }

  /// What a callback of GStreamer's streaming threads holds while it touches what `build` prepares
  /// anew: GStreamer sees to it that the two never meet, and with this ThreadSanitizer sees it too.
  /// Short, and never around a wait.
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
  void look();
  bool seek_to_begin(unsigned flags);

  const LivePipelineOptions options_;
  std::atomic<uint64_t> beats_ = 0;
  std::mutex streaming_;

  std::mutex mutex_;  // of the next four
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool open_wanted_ = false;
  bool stop_wanted_ = false;

  // Of the keeper's thread alone.
  GstPipelinePtr pipeline_;
  bool segments_ = false;  // loops without a gap
  bool playing_ = false;
  uint64_t beats_seen_ = 0;
  uint64_t beats_at_loop_ = 0;
  Duration quiet_{};

  std::thread keeper_;  // last: everything is there when it starts
};

/// Words for people: "is used by another program (…)".
std::string words_of(const GError& error);

}  // namespace cress::media
