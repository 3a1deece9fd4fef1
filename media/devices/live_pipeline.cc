#include "media/devices/live_pipeline.hh"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"
#include "transport/base/text.hh"

namespace cress::media {
namespace {

// How often the keeper checks whether the pipeline still produces something.
constexpr Duration kLook = 250ms;
// Messages that wait; more than one error is never needed.
constexpr size_t kMessagesMax = 64;

}  // namespace

std::string words_of(const GError& error) {
  std::string why = one_line(error.message);
  if (error.domain != GST_RESOURCE_ERROR) {
    return why;
  }
  switch (error.code) {
    case GST_RESOURCE_ERROR_BUSY:
      return "it is used by another program (" + why + ")";
    case GST_RESOURCE_ERROR_NOT_AUTHORIZED:
      return "this program may not use it (" + why + ")";
    default:
      return why;
  }
}

LivePipeline::LivePipeline(LivePipelineOptions options) : options_(std::move(options)) {
  check(gst_is_initialized() != 0, "LivePipeline: make a GstRuntime first");
  keeper_ = std::thread{[this] { keep(); }};
}

LivePipeline::~LivePipeline() {
  {
    const std::scoped_lock lock{mutex_};
    stop_wanted_ = true;
  }
  changed_.notify_one();
  keeper_.join();
}

void LivePipeline::open() {
  {
    const std::scoped_lock lock{mutex_};
    open_wanted_ = true;
  }
  changed_.notify_one();
}

void LivePipeline::post(Message message) {
  const std::scoped_lock lock{mutex_};
  if (messages_.size() < kMessagesMax) {
    messages_.push_back(std::move(message));
    changed_.notify_one();  // inside the lock: after it, this object may be destroyed
  }
}

// Called on any thread of GStreamer that has a message.
GstBusSyncReply LivePipeline::take_message(GstBus*, GstMessage* raw, gpointer self) {
  const GstOwned<GstMessage> message{raw};
  auto* pipeline = static_cast<LivePipeline*>(self);
  switch (GST_MESSAGE_TYPE(message.get())) {
    case GST_MESSAGE_ERROR: {
      GError* error = nullptr;
      gst_message_parse_error(message.get(), &error, nullptr);
      pipeline->post({Message::Kind::kError, words_of(*error)});
      g_clear_error(&error);
      break;
    }
    case GST_MESSAGE_EOS:
      pipeline->post({Message::Kind::kEnd, {}});
      break;
    case GST_MESSAGE_SEGMENT_DONE:
      pipeline->post({Message::Kind::kSegmentEnd, {}});
      break;
    case GST_MESSAGE_ASYNC_DONE:
      pipeline->post({Message::Kind::kPrerolled, {}});
      break;
    case GST_MESSAGE_LATENCY:
      pipeline->post({Message::Kind::kLatency, {}});
      break;
    default:
      break;
  }
  return GST_BUS_DROP;
}

void LivePipeline::keep() {
  std::unique_lock lock{mutex_};
  while (!stop_wanted_) {
    const bool opens = std::exchange(open_wanted_, false);
    const std::optional<Message> message = opens ? std::nullopt : take_front(messages_);
    if (!opens && !message) {
      const bool woken = changed_.wait_for(
          lock, kLook, [this] { return stop_wanted_ || open_wanted_ || !messages_.empty(); });
      if (woken) {
        continue;
      }
    }
    lock.unlock();
    if (opens) {
      close();
      begin();
    } else if (message) {
      handle(*message);
    } else {
      watch_flow();
    }
    lock.lock();
  }
  lock.unlock();
  close();
}

void LivePipeline::begin() {
  try {
    const std::unique_lock<std::mutex> lock = streaming();
    pipeline_ = options_.build();
  } catch (const std::runtime_error& e) {
    fail(one_line(e.what()));
    return;
  }
  const GstOwned<GstBus> bus{gst_element_get_bus(pipeline_.get())};
  gst_bus_set_sync_handler(bus.get(), &LivePipeline::take_message, this, nullptr);
  beats_seen_ = beats_at_loop_ = beats_;
  const GstState wanted = options_.loop ? GST_STATE_PAUSED : GST_STATE_PLAYING;
  playing_ = !options_.loop;
  if (gst_element_set_state(pipeline_.get(), wanted) == GST_STATE_CHANGE_FAILURE) {
    // The reason, if there is one, was posted before the call returned.
    post({Message::Kind::kError, "it does not start and GStreamer gives no reason"});
  }
}

void LivePipeline::close() {
  if (pipeline_ != nullptr) {
    pipeline_.reset();  // waits for its threads
    const std::unique_lock<std::mutex> lock = streaming();
  }
  segments_ = false;
  playing_ = false;
  quiet_ = {};
  const std::scoped_lock lock{mutex_};
  messages_.clear();
}

void LivePipeline::fail(const std::string& words) {
  close();
  options_.on_failed(words);
}

bool LivePipeline::seek_to_begin(unsigned flags) {
  return gst_element_seek(pipeline_.get(), 1.0, GST_FORMAT_TIME, static_cast<GstSeekFlags>(flags),
                          GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_NONE, 0) != 0;
}

void LivePipeline::handle(const Message& message) {
  if (pipeline_ == nullptr) {
    return;  // reported before it was closed
  }
  switch (message.kind) {
    case Message::Kind::kError:
      fail(message.words);
      break;
    case Message::Kind::kEnd:
      if (options_.loop) {
        rewind();
      } else {
        close();
        options_.on_ended();
      }
      break;
    case Message::Kind::kSegmentEnd:
      if (!seek_to_begin(GST_SEEK_FLAG_SEGMENT)) {
        rewind();
      }
      break;
    case Message::Kind::kPrerolled:
      // A looping file is asked for its first segment so that it can continue without a gap.
      if (!playing_) {
        segments_ = seek_to_begin(static_cast<unsigned>(GST_SEEK_FLAG_SEGMENT) |
                                  static_cast<unsigned>(GST_SEEK_FLAG_FLUSH));
        playing_ = true;
        gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
      }
      break;
    case Message::Kind::kLatency:
      gst_bin_recalculate_latency(GST_BIN(pipeline_.get()));
      break;
  }
}

// A source that cannot loop by itself is seeked to the start, and if it does not support that
// either, opened again.
void LivePipeline::rewind() {
  if (beats_ == beats_at_loop_) {
    fail("it holds no " + options_.gives);
    return;
  }
  beats_at_loop_ = beats_;
  if (!seek_to_begin(GST_SEEK_FLAG_FLUSH)) {
    close();
    begin();
  }
}

void LivePipeline::watch_flow() {
  if (pipeline_ == nullptr || options_.gives.empty()) {
    return;
  }
  if (beats_ != beats_seen_) {
    beats_seen_ = beats_;
    quiet_ = {};
    return;
  }
  quiet_ += kLook;
  if (quiet_ >= options_.patience) {
    fail("it gives no " + options_.gives);
  }
}

}  // namespace cress::media
