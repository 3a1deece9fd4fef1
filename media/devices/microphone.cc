#include "media/devices/microphone.hh"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numbers>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "media/devices/audio_framer.hh"
#include "media/devices/device_id.hh"
#include "media/devices/device_monitor.hh"
#include "media/devices/device_outbox.hh"
#include "media/devices/live_pipeline.hh"
#include "media/devices/voice_processor.hh"
#include "media/gst/gst_audio_source.hh"
#include "media/gst/gst_handles.hh"
#include "media/source/audio_clip.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

// Of an ALSA or PulseAudio source, in microseconds: pieces of 10 ms, as the processing needs them.
constexpr gint64 kPiece_us = 10'000;
constexpr gint64 kBuffer_us = 60'000;

// A fifth of a second of 1 kHz each second, with soft edges; -12 dBFS.
std::vector<int16_t> tone_bursts() {
  constexpr double kPeak = 8192;
  constexpr auto kBurst = static_cast<size_t>(audio_samples(200ms));
  constexpr auto kEdge = static_cast<double>(audio_samples(5ms));
  std::vector<int16_t> samples(static_cast<size_t>(kAudioSampleRate), 0);
  for (size_t i = 0; i < kBurst; ++i) {
    const auto at = static_cast<double>(i);
    const double edge = std::min({1.0, at / kEdge, static_cast<double>(kBurst - i) / kEdge});
    samples[i] =
        static_cast<int16_t>(std::lround(kPeak * edge * std::sin(2 * std::numbers::pi * at / 48)));
  }
  return samples;
}

std::string name_for(const DeviceId& id) {
  switch (id.kind) {
    case DeviceId::Kind::kTest:
      return "The test tone";
    case DeviceId::Kind::kFile:
      return "The file " + id.rest;
    case DeviceId::Kind::kPipeline:
      return "The pipeline";
    default:
      return "The microphone";
  }
}

std::string head(const DeviceId& id) {
  switch (id.kind) {
    case DeviceId::Kind::kTest:
    case DeviceId::Kind::kFile:
      // A frame is passed on when its last sample is due, as with a real microphone.
      return std::string{
                 "appsrc name=feed format=time is-live=true max-buffers=1 max-bytes=0 "
                 "max-time=0 caps="} +
             kSoundCaps +
             " ! identity sync=true ts-offset=" + std::to_string(kAudioFrameLength.count()) +
             " ! audioconvert name=convert";
    case DeviceId::Kind::kPipeline:
      return id.rest + " ! audioconvert name=convert";
    default:
      return "audioconvert name=convert";
  }
}

std::string tail(bool processed) {
  return std::string{" ! audioresample ! "} + kSoundCaps +
         (processed ? " ! webrtcdsp name=processor" : "") +
         " ! appsink name=sink sync=false max-buffers=50 enable-last-sample=false";
}

/// Gives the probe back, if `listener` holds it.
class ProbeRelease {
 public:
  ProbeRelease(std::shared_ptr<EchoProbe> probe, const void* listener)
      : probe_(std::move(probe)), listener_(listener) {}
  ~ProbeRelease() {
    if (probe_ != nullptr) {
      probe_->release(listener_);
    }
  }
  ProbeRelease(const ProbeRelease&) = delete;
  ProbeRelease& operator=(const ProbeRelease&) = delete;

 private:
  std::shared_ptr<EchoProbe> probe_;
  const void* listener_;
};

}  // namespace

/// Threads: the owner's, the keeper's (build and its reports) and GStreamer's (audio). Shared are
/// the outbox, an atomic, and under `mutex_` the wanted processing. The framer and the feed belong
/// to the streaming thread, which the keeper stops before it builds again.
class LiveMicrophone::Device {
 public:
  Device(const LiveMicrophoneOptions& options, DeviceClock clock);

  DeviceOutbox<CapturedSound>& outbox() { return outbox_; }
  void open() {
    outbox_.forget_items();
    pipeline_.open();
  }
  void set_processing(const VoiceProcessing& processing);

 private:
  LivePipelineOptions pipeline_options();
  GstPipelinePtr build();
  bool is_processed(const VoiceProcessing& processing);
  void add_real(GstElement* pipeline);
  void feed_from(std::unique_ptr<AudioSource> source, GstElement* pipeline);
  void handle_need(GstAppSrc* feed);
  void handle_sample(GstAppSink* sink);
  void notify(DeviceEvent::Kind kind, std::string words) {
    outbox_.notify({kind, clock_(), std::move(words)});
  }

  LiveMicrophoneOptions options_;
  DeviceClock clock_;
  DeviceId id_;
  std::string name_;  // of the keeper's thread after construction
  DeviceOutbox<CapturedSound> outbox_{kFramesMax};
  std::atomic<bool> announced_ = false;
  std::mutex mutex_;
  VoiceProcessing processing_;  // under mutex_
  bool warned_ = false;         // of the keeper's thread

  std::unique_ptr<AudioSource> source_;  // of the test tone and of a file
  uint64_t frame_ = 0;
  Duration feed_begin_{};
  AudioFramer framer_;
  TimePoint last_ended_ = TimePoint::min();
  ProbeRelease release_;   // once the pipeline no longer uses it
  LivePipeline pipeline_;  // last: stops before the other members are destroyed
};

LiveMicrophone::Device::Device(const LiveMicrophoneOptions& options, DeviceClock clock)
    : options_(options),
      clock_(std::move(clock)),
      id_(parse_device_id(options.id)),
      name_(name_for(id_)),
      processing_(options.processing),
      release_(options.echo_probe, this),
      pipeline_(pipeline_options()) {
  if (id_.kind == DeviceId::Kind::kFile) {
    require_file(id_.rest);
  } else if (id_.kind == DeviceId::Kind::kPipeline) {
    parse_pipeline(head(id_) + tail(false));
  }
  pipeline_.open();
}

LivePipelineOptions LiveMicrophone::Device::pipeline_options() {
  return {
      .build = [this] { return build(); },
      .on_failed =
          [this](const std::string& why) {
            notify(DeviceEvent::Kind::kLost, name_ + " is lost: " + why + ".");
          },
      .on_ended = [this] { notify(DeviceEvent::Kind::kEnded, name_ + " has come to its end."); },
      .gives = "sound",
      .patience = options_.patience,
  };
}

void LiveMicrophone::Device::set_processing(const VoiceProcessing& processing) {
  {
    const std::scoped_lock lock{mutex_};
    if (processing_ == processing) {
      return;
    }
    processing_ = processing;
  }
  open();
}

bool LiveMicrophone::Device::is_processed(const VoiceProcessing& processing) {
  const bool wanted =
      processing.echo_cancellation || processing.noise_suppression || processing.gain_control;
  if (wanted && !has_voice_processor()) {
    if (!std::exchange(warned_, true)) {
      notify(DeviceEvent::Kind::kNotice,
             "Echo and noise are not removed: GStreamer's webrtcdsp is missing. Use headphones, or "
             "install the package gstreamer1.0-plugins-bad.");
    }
    return false;
  }
  return wanted;
}

GstPipelinePtr LiveMicrophone::Device::build() {
  announced_ = false;
  framer_.forget();
  VoiceProcessing processing;
  {
    const std::scoped_lock lock{mutex_};
    processing = processing_;
  }
  const bool processed = is_processed(processing);
  GstPipelinePtr pipeline = parse_pipeline(head(id_) + tail(processed));
  use_system_time(pipeline.get());
  if (processed) {
    const bool hears_speaker = processing.echo_cancellation && options_.echo_probe != nullptr &&
                               options_.echo_probe->claim(this);
    if (processing.echo_cancellation && !hears_speaker && !std::exchange(warned_, true)) {
      notify(DeviceEvent::Kind::kNotice,
             "Echo is not removed: there is no speaker to listen to. Use headphones.");
    }
    set_up_voice_processor(element_of(pipeline.get(), "processor").get(), processing,
                           hears_speaker ? options_.echo_probe->name() : "");
  }
  if (id_.kind == DeviceId::Kind::kFile) {
    feed_from(source_ != nullptr ? std::move(source_) : open_audio(id_.rest), pipeline.get());
  } else if (id_.kind == DeviceId::Kind::kTest) {
    feed_from(std::make_unique<AudioClip>("test tone", tone_bursts()), pipeline.get());
  } else if (id_.kind != DeviceId::Kind::kPipeline) {
    add_real(pipeline.get());
  }
  GstAppSinkCallbacks callbacks{};
  callbacks.new_sample = +[](GstAppSink* from, gpointer self) {
    static_cast<Device*>(self)->handle_sample(from);
    return GST_FLOW_OK;
  };
  const GstOwned<GstElement> sink = element_of(pipeline.get(), "sink");
  gst_app_sink_set_callbacks(GST_APP_SINK(sink.get()), &callbacks, this, nullptr);
  return pipeline;
}

void LiveMicrophone::Device::add_real(GstElement* pipeline) {
  const FoundDevice found = find_device(DeviceKind::kMicrophone, options_.id);
  name_ = "The microphone \"" + found.device.name + "\"";
  const GstOwned<GstElement> convert = element_of(pipeline, "convert");
  GstElement* source = gst_device_create_element(found.handle.get(), "source");
  if (source == nullptr || gst_bin_add(GST_BIN(pipeline), source) == 0 ||
      gst_element_link(source, convert.get()) == 0) {
    throw std::runtime_error("GStreamer offers no way to hear it");
  }
  if (has_property(source, "latency-time") && has_property(source, "buffer-time")) {
    g_object_set(source, "buffer-time", kBuffer_us, "latency-time", kPiece_us, nullptr);
  }
}

void LiveMicrophone::Device::feed_from(std::unique_ptr<AudioSource> source, GstElement* pipeline) {
  source_ = std::move(source);
  frame_ = 0;
  const GstOwned<GstElement> feed = element_of(pipeline, "feed");
  GstAppSrcCallbacks callbacks{};
  callbacks.need_data =
      +[](GstAppSrc* from, guint, gpointer self) { static_cast<Device*>(self)->handle_need(from); };
  gst_app_src_set_callbacks(GST_APP_SRC(feed.get()), &callbacks, this, nullptr);
}

void LiveMicrophone::Device::handle_need(GstAppSrc* feed) {
  const auto lock = pipeline_.streaming();
  if (frame_ == 0) {
    feed_begin_ = running_now(GST_ELEMENT(feed));
  }
  const AudioFrame frame = source_->frame(frame_);
  GstBuffer* buffer = gst_buffer_new_memdup(frame.data(), sizeof frame);
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(
      (feed_begin_ + kAudioFrameLength * static_cast<int64_t>(frame_)).count());
  GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(kAudioFrameLength.count());
  ++frame_;
  gst_app_src_push_buffer(feed, buffer);  // refused when it is being stopped
}

void LiveMicrophone::Device::handle_sample(GstAppSink* sink) {
  const GstOwned<GstSample> sample{gst_app_sink_pull_sample(sink)};
  GstBuffer* buffer = sample == nullptr ? nullptr : gst_sample_get_buffer(sample.get());
  GstMapInfo map;
  if (buffer == nullptr || gst_buffer_map(buffer, &map, GST_MAP_READ) == 0) {
    return;  // it is being stopped
  }
  std::vector<int16_t> samples(map.size / sizeof(int16_t));
  std::memcpy(samples.data(), map.data, samples.size() * sizeof(int16_t));
  gst_buffer_unmap(buffer, &map);
  const Duration length = audio_duration(static_cast<int64_t>(samples.size()));
  const Duration age = std::max<Duration>(age_of(GST_ELEMENT(sink), sample.get()) - length, 0ms);
  const auto lock = pipeline_.streaming();
  if (GST_BUFFER_IS_DISCONT(buffer)) {
    framer_.forget();
  }
  framer_.add(samples, clock_() - age);
  if (!announced_.exchange(true)) {
    notify(DeviceEvent::Kind::kStarted, name_ + " is heard.");
  }
  pipeline_.beat();
  while (const std::optional<FramedSound> frame = framer_.poll_frame()) {
    last_ended_ = std::max(last_ended_, frame->ended);  // never back
    outbox_.put({frame->samples, last_ended_, level_of(frame->samples)});
  }
}

LiveMicrophone::LiveMicrophone(const LiveMicrophoneOptions& options, DeviceClock clock)
    : device_(std::make_unique<Device>(options, std::move(clock))) {}
LiveMicrophone::~LiveMicrophone() = default;

int LiveMicrophone::ready_fd() const { return device_->outbox().fd(); }
std::optional<CapturedSound> LiveMicrophone::poll_frame() { return device_->outbox().take(); }
std::optional<DeviceEvent> LiveMicrophone::poll_event() { return device_->outbox().take_event(); }
void LiveMicrophone::retry() { device_->open(); }
void LiveMicrophone::set_processing(const VoiceProcessing& processing) {
  device_->set_processing(processing);
}
uint64_t LiveMicrophone::dropped() const { return device_->outbox().dropped(); }

}  // namespace cress::media
