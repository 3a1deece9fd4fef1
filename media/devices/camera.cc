#include "media/devices/camera.hh"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "media/devices/camera_modes.hh"
#include "media/devices/device_id.hh"
#include "media/devices/device_monitor.hh"
#include "media/devices/device_outbox.hh"
#include "media/devices/live_pipeline.hh"
#include "media/devices/screen_portal.hh"
#include "media/gst/gst_handles.hh"
#include "media/gst/gst_picture.hh"
#include "media/source/y4m.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

int even(int side) { return std::max(2, side / 2 * 2); }

// BT.601 in studio range is what screens and other players assume for I420; cameras' JPEG has the
// full range. Borders next to a picture of another shape are black.
std::string tail(bool is_paced) {
  return std::string{
             " ! videoconvertscale name=convert ! capsfilter name=shape "
             "! appsink name=sink max-buffers=2 enable-last-sample=false processing-deadline=0 "
             "sync="} +
         (is_paced ? "true" : "false");
}

}  // namespace

PictureSize fitted_size(PictureSize source, int pixel_width, int pixel_height, PictureSize wanted) {
  // In units of a source row's height, so that pixels are never enlarged.
  const double width = static_cast<double>(source.width) * pixel_width / pixel_height;
  const double height = source.height;
  const double scale = std::min({1.0, wanted.width / width, wanted.height / height});
  const auto side = [](double length, int most) {
    return std::min(even(static_cast<int>(std::lround(length / 2) * 2)), even(most));
  };
  return {side(width * scale, wanted.width), side(height * scale, wanted.height)};
}

bool RateLimit::keeps(Duration at) {
  const Duration slack = interval_ * 2 / 5;  // under a half, or twice the rate would pass
  const bool jumped = !due_ || at > *due_ + 4 * interval_ || at < *due_ - 4 * interval_;
  if (!jumped && at + slack < *due_) {
    return false;
  }
  due_ = jumped ? at + interval_ : *due_ + interval_;
  return true;
}

/// Threads: the owner's, the keeper's (build and its reports) and GStreamer's (pictures). They
/// share the outbox and two atomics; `limit_` and `last_captured_` belong to the streaming thread,
/// which the keeper stops before it builds again.
class LiveCamera::Device {
 public:
  Device(const LiveCameraOptions& options, DeviceClock clock);
  ~Device() {
    if (portal_) {
      portal_->cancel();  // the user may not have answered the dialog yet, and the keeper waits for
                          // that
    }
  }

  DeviceOutbox<CapturedPicture>& outbox() { return outbox_; }
  void open() {
    outbox_.forget_items();
    pipeline_.open();
  }

 private:
  LivePipelineOptions pipeline_options();
  GstPipelinePtr build();
  std::string description() const;
  GstPipelinePtr build_real();
  GstPipelinePtr build_shared();
  void handle_failed(const std::string& why);
  void set_shape(GstElement* pipeline, PictureSize size, bool borders) const;
  void notify(DeviceEvent::Kind kind, std::string words) {
    outbox_.notify({kind, clock_(), std::move(words)});
  }
  void feed_y4m(GstElement* pipeline);
  void handle_need(GstAppSrc* feed);
  void handle_sample(GstAppSink* sink);
  GstPadProbeReturn handle_pad(GstPad* pad, GstPadProbeInfo* info);

  LiveCameraOptions options_;
  DeviceClock clock_;
  DeviceId id_;
  std::string name_;  // "The camera \"X\""; of the keeper's thread after construction
  DeviceOutbox<CapturedPicture> outbox_{1};
  std::atomic<bool> announced_ = false;
  RateLimit limit_;
  std::unique_ptr<Y4mSource> y4m_;  // of the streaming thread while it runs
  uint64_t y4m_next_ = 0;
  GstVideoInfo y4m_info_{};
  TimePoint last_captured_ = TimePoint::min();
  std::unique_ptr<ScreenPortal> portal_;  // for a screen that the user picks
  LivePipeline pipeline_;                 // last: stops before the other members are destroyed
};

namespace {

std::string name_for(const DeviceId& id) {
  switch (id.kind) {
    case DeviceId::Kind::kTest:
      return "The test picture";
    case DeviceId::Kind::kScreen:
    case DeviceId::Kind::kPortal:
      return "The screen";
    case DeviceId::Kind::kFile:
      return "The file " + id.rest;
    case DeviceId::Kind::kPipeline:
      return "The pipeline";
    case DeviceId::Kind::kNone:
    case DeviceId::Kind::kReal:
      return "The camera";
  }
  return "The camera";
}

void refuse_what_cannot_work(const DeviceId& id) {
  if (id.kind == DeviceId::Kind::kFile) {
    require_file(id.rest);
  } else if (id.kind == DeviceId::Kind::kScreen && !has_element("ximagesrc")) {
    throw std::runtime_error(
        "GStreamer cannot grab the screen; install the package gstreamer1.0-plugins-good");
  } else if (id.kind == DeviceId::Kind::kPortal && !has_element("pipewiresrc")) {
    throw std::runtime_error(
        "GStreamer cannot take the screen from PipeWire; install the package "
        "gstreamer1.0-pipewire");
  } else if (id.kind == DeviceId::Kind::kPipeline) {
    parse_pipeline(id.rest + tail(false));
  }
}

}  // namespace

LiveCamera::Device::Device(const LiveCameraOptions& options, DeviceClock clock)
    : options_(options),
      clock_(std::move(clock)),
      id_(parse_device_id(options.id)),
      name_(name_for(id_)),
      limit_(options.rate),
      portal_(id_.kind == DeviceId::Kind::kPortal ? std::make_unique<ScreenPortal>([this] {
        pipeline_.break_off("the desktop has ended it");
      })
                                                  : nullptr),
      pipeline_(pipeline_options()) {
  check(options.size.width >= 2 && options.size.height >= 2 &&
            options.size.width <= kPictureSideMax && options.size.height <= kPictureSideMax,
        "LiveCamera: size out of range");
  check(options.rate.numerator > 0 && options.rate.denominator > 0,
        "LiveCamera: rate out of range");
  options_.size = {even(options.size.width), even(options.size.height)};
  refuse_what_cannot_work(id_);
  pipeline_.open();
}

LivePipelineOptions LiveCamera::Device::pipeline_options() {
  return {
      .build = [this] { return build(); },
      .on_failed = [this](const std::string& why) { handle_failed(why); },
      .on_ended = [this] { notify(DeviceEvent::Kind::kEnded, name_ + " has come to its end."); },
      .loop = id_.kind == DeviceId::Kind::kFile && !is_y4m(id_.rest),
      .gives = "pictures",
      .patience = options_.patience,
  };
}

void LiveCamera::Device::handle_failed(const std::string& why) {
  if (portal_ == nullptr) {
    notify(DeviceEvent::Kind::kLost, name_ + " is lost: " + why + ".");
    return;
  }
  portal_->end();  // nothing is shared any more, and the desktop displays that
  notify(DeviceEvent::Kind::kRefused,
         name_ + (announced_ ? " is no longer shared: " : " is not shared: ") + why + ".");
}

std::string LiveCamera::Device::description() const {
  const std::string rate =
      std::to_string(options_.rate.numerator) + "/" + std::to_string(options_.rate.denominator);
  const std::string size = ",width=" + std::to_string(options_.size.width) +
                           ",height=" + std::to_string(options_.size.height);
  if (id_.kind == DeviceId::Kind::kTest) {
    // Without pango: the same without the clock.
    const std::string clock =
        has_element("timeoverlay")
            ? " ! timeoverlay time-mode=elapsed-running-time halignment=center "
              "valignment=center font-desc=\"Monospace 28\" shaded-background=true"
            : "";
    return "videotestsrc is-live=true pattern=smpte horizontal-speed=4 "
           "! video/x-raw,format=I420,framerate=" +
           rate + size + ",pixel-aspect-ratio=1/1" + clock + tail(false);
  }
  if (id_.kind == DeviceId::Kind::kScreen) {
    return "ximagesrc use-damage=false show-pointer=true ! video/x-raw,framerate=" + rate +
           tail(false);
  }
  if (id_.kind == DeviceId::Kind::kFile && is_y4m(id_.rest)) {
    return "appsrc name=feed format=time is-live=true max-buffers=1 max-bytes=0 max-time=0" +
           tail(true);
  }
  if (id_.kind == DeviceId::Kind::kFile) {
    return "filesrc name=file ! decodebin name=decode" + tail(true);
  }
  return id_.rest + tail(false);
}

GstPipelinePtr LiveCamera::Device::build_real() {
  const FoundDevice found = find_device(DeviceKind::kCamera, options_.id);
  name_ = "The camera \"" + found.device.name + "\"";
  std::vector<OfferedMode> offered = modes_of(
      GstOwned<GstCaps>{gst_device_get_caps(found.handle.get())}, options_.size, options_.rate);
  std::vector<CameraMode> modes;
  modes.reserve(offered.size());
  for (const OfferedMode& one : offered) {
    modes.push_back(one.mode);
  }
  const auto chosen = choose_camera_mode(modes, options_.size, options_.rate);
  const bool is_jpeg = chosen && chosen->is_jpeg;
  GstPipelinePtr pipeline = parse_pipeline(std::string{"capsfilter name=mode"} +
                                           (is_jpeg ? " ! jpegdec" : "") + tail(false));
  const GstOwned<GstElement> mode = element_of(pipeline.get(), "mode");
  if (chosen) {
    const auto one = std::ranges::find(offered, *chosen, &OfferedMode::mode);
    g_object_set(mode.get(), "caps", one->caps.get(), nullptr);
  }
  GstElement* source = gst_device_create_element(found.handle.get(), "source");
  if (source == nullptr || gst_bin_add(GST_BIN(pipeline.get()), source) == 0 ||
      gst_element_link(source, mode.get()) == 0) {
    throw std::runtime_error("GStreamer offers no way to read it");
  }
  return pipeline;
}

// Waits for the user; the pictures of a screen without changes are repeated, so that it is known to
// be alive.
GstPipelinePtr LiveCamera::Device::build_shared() {
  const ScreenCast cast = portal_->ask();
  return parse_pipeline(
      "pipewiresrc do-timestamp=true keepalive-time=500 fd=" + std::to_string(cast.pipewire_fd) +
      " path=" + std::to_string(cast.node) + " ! video/x-raw" + tail(false));
}

void LiveCamera::Device::set_shape(GstElement* pipeline, PictureSize size, bool borders) const {
  const GstOwned<GstElement> convert = element_of(pipeline, "convert");
  g_object_set(convert.get(), "add-borders", static_cast<gboolean>(borders), nullptr);
  const GstOwned<GstCaps> caps{
      gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "I420", "width", G_TYPE_INT,
                          size.width, "height", G_TYPE_INT, size.height, "pixel-aspect-ratio",
                          GST_TYPE_FRACTION, 1, 1, "colorimetry", G_TYPE_STRING, "bt601", nullptr)};
  g_object_set(element_of(pipeline, "shape").get(), "caps", caps.get(), nullptr);
}

GstPipelinePtr LiveCamera::Device::build() {
  announced_ = false;
  limit_ = RateLimit{options_.rate};
  GstPipelinePtr pipeline = id_.kind == DeviceId::Kind::kReal ? build_real()
                            : portal_ != nullptr              ? build_shared()
                                                              : parse_pipeline(description());
  if (id_.kind == DeviceId::Kind::kFile && is_y4m(id_.rest)) {
    feed_y4m(pipeline.get());
  } else if (id_.kind == DeviceId::Kind::kFile) {
    const GstOwned<GstElement> file = element_of(pipeline.get(), "file");
    g_object_set(file.get(), "location", id_.rest.c_str(), nullptr);
  }
  set_shape(pipeline.get(), options_.size, options_.fit == PictureFit::kBorders);
  const GstOwned<GstElement> convert = element_of(pipeline.get(), "convert");
  const GstOwned<GstPad> pad{gst_element_get_static_pad(convert.get(), "sink")};
  gst_pad_add_probe(
      pad.get(),
      static_cast<GstPadProbeType>(static_cast<unsigned>(GST_PAD_PROBE_TYPE_BUFFER) |
                                   static_cast<unsigned>(GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM)),
      +[](GstPad* at, GstPadProbeInfo* info, gpointer self) {
        return static_cast<Device*>(self)->handle_pad(at, info);
      },
      this, nullptr);
  const GstOwned<GstElement> sink = element_of(pipeline.get(), "sink");
  GstAppSinkCallbacks callbacks{};
  callbacks.new_sample = +[](GstAppSink* from, gpointer self) {
    static_cast<Device*>(self)->handle_sample(from);
    return GST_FLOW_OK;
  };
  gst_app_sink_set_callbacks(GST_APP_SINK(sink.get()), &callbacks, this, nullptr);
  return pipeline;
}

// GStreamer's own reader (1.22) cannot seek to the beginning; ours needs no memory either.
void LiveCamera::Device::feed_y4m(GstElement* pipeline) {
  constexpr DataSize kMemory{64 << 20};
  y4m_ = std::make_unique<Y4mSource>(id_.rest, Y4mSourceOptions{.memory_max = kMemory});
  y4m_next_ = 0;
  y4m_info_ = video_info(y4m_->width(), y4m_->height(), y4m_->frame_rate());
  const GstOwned<GstElement> feed = element_of(pipeline, "feed");
  const GstOwned<GstCaps> caps{gst_video_info_to_caps(&y4m_info_)};
  gst_app_src_set_caps(GST_APP_SRC(feed.get()), caps.get());
  GstAppSrcCallbacks callbacks{};
  callbacks.need_data =
      +[](GstAppSrc* from, guint, gpointer self) { static_cast<Device*>(self)->handle_need(from); };
  gst_app_src_set_callbacks(GST_APP_SRC(feed.get()), &callbacks, this, nullptr);
}

void LiveCamera::Device::handle_need(GstAppSrc* feed) {
  const auto lock = pipeline_.streaming();
  try {
    GstOwned<GstBuffer> buffer = to_buffer(*y4m_->picture(y4m_next_), y4m_info_);
    GST_BUFFER_PTS(buffer.get()) =
        static_cast<GstClockTime>(y4m_->frame_rate().time_of(y4m_next_).count());
    ++y4m_next_;
    gst_app_src_push_buffer(feed, buffer.release());  // refused when it is being stopped
  } catch (const std::runtime_error& e) {
    GST_ELEMENT_ERROR(feed, RESOURCE, READ, ("%s", e.what()), (nullptr));
  }
}

// Before the pictures are converted: excess pictures cost nothing, and the shape requested from the
// converter follows the camera's.
GstPadProbeReturn LiveCamera::Device::handle_pad(GstPad* pad, GstPadProbeInfo* info) {
  const auto type = static_cast<unsigned>(GST_PAD_PROBE_INFO_TYPE(info));
  if ((type & static_cast<unsigned>(GST_PAD_PROBE_TYPE_BUFFER)) != 0) {
    const auto lock = pipeline_.streaming();
    const GstClockTime at = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));
    const bool keeps =
        !GST_CLOCK_TIME_IS_VALID(at) || limit_.keeps(Duration{static_cast<int64_t>(at)});
    return keeps ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
  }
  GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info);
  if (event == nullptr || GST_EVENT_TYPE(event) != GST_EVENT_CAPS ||
      options_.fit != PictureFit::kInside) {
    return GST_PAD_PROBE_OK;
  }
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  GstVideoInfo video;
  if (gst_video_info_from_caps(&video, caps) == 0) {
    return GST_PAD_PROBE_OK;
  }
  const GstOwned<GstElement> convert{gst_pad_get_parent_element(pad)};
  const GstOwned<GstObject> pipeline{gst_object_get_parent(GST_OBJECT(convert.get()))};
  set_shape(GST_ELEMENT(pipeline.get()),
            fitted_size({video.width, video.height}, video.par_n, video.par_d, options_.size),
            false);
  return GST_PAD_PROBE_OK;
}

void LiveCamera::Device::handle_sample(GstAppSink* sink) {
  const GstOwned<GstSample> sample{gst_app_sink_pull_sample(sink)};
  if (sample == nullptr) {
    return;  // it is being stopped
  }
  GstVideoInfo info;
  if (gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())) == 0) {
    return;
  }
  PicturePtr picture = to_picture(sample.get(), info);
  if (picture == nullptr) {
    return;
  }
  const auto lock = pipeline_.streaming();
  // Never back, whatever a driver's stamps are.
  last_captured_ = std::max(last_captured_, clock_() - age_of(GST_ELEMENT(sink), sample.get()));
  if (!announced_.exchange(true)) {
    notify(DeviceEvent::Kind::kStarted, name_ + " gives " + std::to_string(picture->width) + " x " +
                                            std::to_string(picture->height) + " pictures.");
  }
  pipeline_.beat();
  outbox_.put({std::move(picture), last_captured_});
}

LiveCamera::LiveCamera(const LiveCameraOptions& options, DeviceClock clock)
    : device_(std::make_unique<Device>(options, std::move(clock))) {}
LiveCamera::~LiveCamera() = default;

int LiveCamera::ready_fd() const { return device_->outbox().fd(); }
std::optional<CapturedPicture> LiveCamera::poll_picture() { return device_->outbox().take(); }
std::optional<DeviceEvent> LiveCamera::poll_event() { return device_->outbox().take_event(); }
void LiveCamera::retry() { device_->open(); }
uint64_t LiveCamera::dropped() const { return device_->outbox().dropped(); }

}  // namespace cress::media
