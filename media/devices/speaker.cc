#include "media/devices/speaker.hh"

#include <gst/app/gstappsrc.h>
#include <gst/gst.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "media/devices/device_id.hh"
#include "media/devices/device_monitor.hh"
#include "media/devices/device_outbox.hh"
#include "media/devices/devices.hh"
#include "media/devices/live_pipeline.hh"
#include "media/devices/voice_processor.hh"
#include "media/gst/gst_handles.hh"
#include "media/gst/sound_writer.hh"
#include "transport/base/check.hh"
#include "transport/base/result.hh"

namespace cress::media {
namespace {

constexpr const char* kNobody = "fakesink name=sink sync=true enable-last-sample=false";

std::string head(bool probed) {
  return std::string{
             "appsrc name=feed format=time is-live=true max-buffers=1 max-bytes=0 "
             "max-time=0 caps="} +
         kSoundCaps + (probed ? " ! identity name=probed" : "") + " ! identity name=end";
}

// The conversion to the sink's format costs nothing if it accepts ours.
std::string with_sink(const std::string& sink) {
  return "audioconvert name=convert ! audioresample ! " + sink;
}

// Where the audio leaves the pipeline.
GstOwned<GstElement> last_of(GstElement* pipeline) {
  GstIterator* sinks = gst_bin_iterate_sinks(GST_BIN(pipeline));
  GValue value = G_VALUE_INIT;
  GstOwned<GstElement> sink;
  if (gst_iterator_next(sinks, &value) == GST_ITERATOR_OK) {
    sink.reset(GST_ELEMENT(gst_object_ref(g_value_get_object(&value))));
    g_value_unset(&value);
  }
  gst_iterator_free(sinks);
  return sink;
}

// A released pipeline may exist a moment longer, in one of GStreamer's threads; until then
// `element` is still in it, and could not be added to another.
void leave_last_pipeline(GstElement* element) {
  const GstOwned<GstObject> parent{gst_object_get_parent(GST_OBJECT(element))};
  if (parent != nullptr) {
    gst_element_set_state(element, GST_STATE_NULL);
    gst_bin_remove(GST_BIN(parent.get()), element);
  }
}

// ALSA and PulseAudio: sinks with a ring of their own, which sets the pace.
bool is_sound_card(GstElement* sink) {
  const GType card = g_type_from_name("GstAudioBaseSink");
  return card != 0 && g_type_is_a(G_OBJECT_TYPE(sink), card) != 0;
}

}  // namespace

/// Threads: the owner's, the keeper's (build and its reports) and GStreamer's (that a frame is
/// wanted). They share the outbox, whose item is the request for a frame, and `pace_` under
/// `mutex_`.
class LiveSpeaker::Device {
 public:
  Device(const LiveSpeakerOptions& options, DeviceClock clock);

  DeviceOutbox<Unit>& outbox() { return outbox_; }
  std::shared_ptr<EchoProbe> probe() const { return probe_; }
  void choose(const std::string& id);
  void retry();
  bool play(const AudioFrame& frame);
  Duration delay() const;
  SpeakerStats stats() const;
  void finish();

 private:
  /// All times are the pipeline's running time, which is the system's steady clock.
  struct Pace {
    GstOwned<GstElement> feed;  // null while nothing is open
    bool is_card = false;       // else the pipeline's clock sets the pace
    bool begun = false;         // the first frame fixes the time
    Duration next{};            // when the next frame will be played
    Duration due{};             // when it must have arrived
  };

  LivePipelineOptions pipeline_options();
  GstPipelinePtr build();
  GstPipelinePtr build_plain();
  void prepare_sink(GstElement* sink);
  void handle_need();
  void handle_failure(const std::string& why);
  void place(Duration now);
  void write(Duration at, const AudioFrame& frame);
  void notify(DeviceEvent::Kind kind, std::string words) {
    outbox_.notify({kind, clock_(), std::move(words)});
  }

  LiveSpeakerOptions options_;
  DeviceClock clock_;
  const DeviceId made_for_;
  std::shared_ptr<EchoProbe> probe_;  // null without the plug-in; in one pipeline after the other
  std::unique_ptr<SoundWriter> writer_;
  std::optional<Duration> writer_begin_;
  DeviceOutbox<Unit> outbox_{1};

  mutable std::mutex mutex_;
  DeviceId id_;             // under mutex_
  Pace pace_;               // under mutex_
  SpeakerStats stats_;      // under mutex_
  bool announced_ = false;  // under mutex_
  bool is_lost_ = false;    // under mutex_: discards audio until a retry

  std::string name_ = "The speaker";  // of the keeper's thread
  LivePipeline pipeline_;             // last: stops before the other members are destroyed
};

LiveSpeaker::Device::Device(const LiveSpeakerOptions& options, DeviceClock clock)
    : options_(options),
      clock_(std::move(clock)),
      made_for_(parse_device_id(options.id)),
      id_(made_for_),
      pipeline_(pipeline_options()) {
  check(options.ahead >= kAudioFrameLength && options.ahead <= 200ms,
        "LiveSpeaker: ahead out of range");
  if (made_for_.kind == DeviceId::Kind::kFile) {
    writer_ = std::make_unique<SoundWriter>(made_for_.rest);
  } else if (made_for_.kind == DeviceId::Kind::kPipeline) {
    parse_pipeline(with_sink(made_for_.rest));
    name_ = "The pipeline";
  }
  if (has_voice_processor()) {
    probe_ = std::make_shared<EchoProbe>();
  }
  pipeline_.open();
}

LivePipelineOptions LiveSpeaker::Device::pipeline_options() {
  return {
      .build = [this] { return build(); },
      .on_failed = [this](const std::string& why) { handle_failure(why); },
      .on_ended = [this] { handle_failure("it takes no more sound"); },
      .gives = {},
  };
}

void LiveSpeaker::Device::handle_failure(const std::string& why) {
  {
    const std::scoped_lock lock{mutex_};
    pace_.feed.reset();
    if (std::exchange(is_lost_, true)) {
      return;  // not even the null sink works: GStreamer's own basic elements are missing
    }
  }
  notify(DeviceEvent::Kind::kLost, name_ + " is lost: " + why + ".");
  pipeline_.open();
}

void LiveSpeaker::Device::retry() {
  {
    const std::scoped_lock lock{mutex_};
    is_lost_ = false;
  }
  pipeline_.open();
}

void LiveSpeaker::Device::choose(const std::string& id) {
  {
    const std::scoped_lock lock{mutex_};
    id_ = parse_device_id(id);
    check(id_.kind == DeviceId::Kind::kReal || id_.kind == DeviceId::Kind::kNone,
          "LiveSpeaker: only devices can be chosen later");
  }
  retry();
}

GstPipelinePtr LiveSpeaker::Device::build_plain() {
  bool is_lost = false;
  DeviceId id;
  {
    const std::scoped_lock lock{mutex_};
    is_lost = is_lost_;
    id = id_;
  }
  const std::string begin = head(probe_ != nullptr);
  if (!is_lost && id.kind == DeviceId::Kind::kPipeline) {
    return parse_pipeline(begin + " ! " + with_sink(id.rest));
  }
  if (is_lost || id.kind != DeviceId::Kind::kReal) {
    return parse_pipeline(begin + " ! " + kNobody);
  }
  name_ = "The speaker";
  const FoundDevice found = find_device(DeviceKind::kSpeaker, id.rest);
  name_ = "The speaker \"" + found.device.name + "\"";
  GstPipelinePtr pipeline = parse_pipeline(begin + " ! audioconvert ! audioresample name=last");
  GstElement* sink = gst_device_create_element(found.handle.get(), "sink");
  if (sink == nullptr || gst_bin_add(GST_BIN(pipeline.get()), sink) == 0 ||
      gst_element_link(element_of(pipeline.get(), "last").get(), sink) == 0) {
    throw std::runtime_error("GStreamer offers no way to play on it");
  }
  return pipeline;
}

// A card is filled completely and then asks when it has room. Another sink waits for each frame's
// time; it does so slightly early, so that the next frame is requested early enough.
void LiveSpeaker::Device::prepare_sink(GstElement* sink) {
  if (is_sound_card(sink)) {
    constexpr gint64 kPiece_us = 10'000;
    g_object_set(sink, "sync", FALSE, "buffer-time",
                 static_cast<gint64>(
                     std::chrono::duration_cast<std::chrono::microseconds>(options_.ahead).count()),
                 "latency-time", kPiece_us, nullptr);
  } else if (has_property(sink, "ts-offset")) {
    g_object_set(sink, "ts-offset",
                 static_cast<gint64>((kAudioFrameLength - options_.ahead).count()), nullptr);
  }
}

GstPipelinePtr LiveSpeaker::Device::build() {
  GstPipelinePtr pipeline = build_plain();
  use_system_time(pipeline.get());
  // A frame's time stamp is already its playing time: the probe must add nothing.
  gst_pipeline_set_latency(GST_PIPELINE(pipeline.get()), 0);
  if (probe_ != nullptr) {
    // Added between two elements reserved for it.
    auto* probe = static_cast<GstElement*>(probe_->element());
    leave_last_pipeline(probe);
    const GstOwned<GstElement> before = element_of(pipeline.get(), "probed");
    const GstOwned<GstElement> after = element_of(pipeline.get(), "end");
    gst_element_unlink(before.get(), after.get());
    check(gst_bin_add(GST_BIN(pipeline.get()), probe) != 0 &&
              gst_element_link_many(before.get(), probe, after.get(), nullptr) != 0,
          "LiveSpeaker: the echo probe does not fit");
  }
  const GstOwned<GstElement> sink = last_of(pipeline.get());
  if (sink == nullptr) {
    throw std::runtime_error("the pipeline has no end that takes sound");
  }
  prepare_sink(sink.get());
  GstOwned<GstElement> feed = element_of(pipeline.get(), "feed");
  GstAppSrcCallbacks callbacks{};
  callbacks.need_data =
      +[](GstAppSrc*, guint, gpointer self) { static_cast<Device*>(self)->handle_need(); };
  gst_app_src_set_callbacks(GST_APP_SRC(feed.get()), &callbacks, this, nullptr);
  const std::scoped_lock lock{mutex_};
  pace_ = {.feed = std::move(feed), .is_card = is_sound_card(sink.get())};
  announced_ = is_lost_;
  outbox_.forget_items();
  return pipeline;
}

void LiveSpeaker::Device::handle_need() {
  bool is_first = false;
  {
    const std::scoped_lock lock{mutex_};
    if (pace_.feed == nullptr || outbox_.has_item()) {
      return;
    }
    pace_.due = pace_.is_card ? running_now(pace_.feed.get()) + options_.ahead : pace_.next;
    is_first = !std::exchange(announced_, true);
    outbox_.put({});
  }
  if (is_first) {
    notify(DeviceEvent::Kind::kStarted, name_ + " plays.");
  }
}

// Decides when the next frame will be played. Under mutex_.
void LiveSpeaker::Device::place(Duration now) {
  // Half a frame: a small delay is absorbed by what the device still holds.
  constexpr Duration kSlack = kAudioFrameLength / 2;
  if (!pace_.begun) {
    pace_.begun = true;
    pace_.next = now;
  } else if (now > pace_.due + (pace_.is_card ? kSlack : 0ms)) {
    ++stats_.underruns;
    stats_.missing += now - pace_.due;
    pace_.next = now;
  } else if (pace_.is_card) {
    // The card's clock is not ours: what it holds when it asks shows its position.
    constexpr int kSmoothing = 32;
    pace_.next += (pace_.due - pace_.next) / kSmoothing;
  }
}

bool LiveSpeaker::Device::play(const AudioFrame& frame) {
  GstOwned<GstElement> feed;
  Duration at{};
  {
    const std::scoped_lock lock{mutex_};
    if (pace_.feed == nullptr || !outbox_.take()) {
      ++stats_.refused;
      return false;
    }
    place(running_now(pace_.feed.get()));
    at = pace_.next;
    pace_.next += kAudioFrameLength;
    ++stats_.played;
    feed.reset(GST_ELEMENT(gst_object_ref(pace_.feed.get())));
  }
  GstBuffer* buffer = gst_buffer_new_memdup(frame.data(), sizeof frame);
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(at.count());
  GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(kAudioFrameLength.count());
  gst_app_src_push_buffer(GST_APP_SRC(feed.get()), buffer);  // refused when it is being stopped
  write(at, frame);
  return true;
}

void LiveSpeaker::Device::write(Duration at, const AudioFrame& frame) {
  if (writer_ == nullptr) {
    return;
  }
  writer_begin_ = writer_begin_.value_or(at);
  try {
    writer_->add_sound(std::max<Duration>(at - *writer_begin_, 0ms), frame);
  } catch (const std::runtime_error& e) {
    writer_.reset();
    notify(DeviceEvent::Kind::kLost, std::string{e.what()} + ". Nothing more is recorded.");
  }
}

Duration LiveSpeaker::Device::delay() const {
  const std::scoped_lock lock{mutex_};
  return pace_.feed == nullptr || !pace_.begun
             ? Duration{}
             : std::max<Duration>(pace_.next - running_now(pace_.feed.get()), 0ms);
}

SpeakerStats LiveSpeaker::Device::stats() const {
  const std::scoped_lock lock{mutex_};
  return stats_;
}

void LiveSpeaker::Device::finish() {
  if (made_for_.kind != DeviceId::Kind::kFile) {
    return;
  }
  if (writer_ == nullptr) {
    throw std::runtime_error(made_for_.rest + ": cannot be written whole");
  }
  writer_->finish();
  writer_.reset();
}

LiveSpeaker::LiveSpeaker(const LiveSpeakerOptions& options, DeviceClock clock)
    : device_(std::make_unique<Device>(options, std::move(clock))) {}
LiveSpeaker::~LiveSpeaker() = default;

int LiveSpeaker::ready_fd() const { return device_->outbox().fd(); }
bool LiveSpeaker::wants_frame() const { return device_->outbox().has_item(); }
bool LiveSpeaker::play(const AudioFrame& frame) { return device_->play(frame); }
std::optional<DeviceEvent> LiveSpeaker::poll_event() { return device_->outbox().take_event(); }
void LiveSpeaker::retry() { device_->retry(); }
Duration LiveSpeaker::delay() const { return device_->delay(); }
SpeakerStats LiveSpeaker::stats() const { return device_->stats(); }
void LiveSpeaker::choose(const std::string& id) { device_->choose(id); }
std::shared_ptr<EchoProbe> LiveSpeaker::echo_probe() const { return device_->probe(); }
void LiveSpeaker::finish() { device_->finish(); }

}  // namespace cress::media
