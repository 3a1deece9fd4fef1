#include "media/gst/gst_file_source.hh"

#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "media/gst/gst_handles.hh"
#include "media/gst/gst_picture.hh"
#include "media/source/y4m.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string what) {
  std::ranges::replace(what, '\n', ' ');
  throw std::runtime_error(path.string() + ": " + what);
}

using Pipeline = GstPipelinePtr;
using Element = GstOwned<GstElement>;
using Bus = GstOwned<GstBus>;
using Sample = GstOwned<GstSample>;
using Message = GstOwned<GstMessage>;
using Caps = GstOwned<GstCaps>;

// Audio is not linked to anything and stops. appsink holds back at most four pictures: decoding
// waits for us.
constexpr const char* kPipeline =
    "filesrc name=file ! decodebin name=decode "
    "! videoconvert name=convert ! videoscale ! capsfilter name=shape "
    "! appsink name=sink sync=false max-buffers=4";

/// One decoding run of one file.
class Decoding {
 public:
  Decoding(const std::filesystem::path& path, const OpenVideoOptions& options);
  /// The next picture; null at the end of the file.
  Sample next();

 private:
  void start();
  [[noreturn]] void fail_with(GstMessage* message) const;
  bool has_no_video() const;
  bool is_stuck() const;

  std::filesystem::path path_;
  OpenVideoOptions options_;
  uint64_t pictures_ = 0;
  int starts_ = 0;
  // Set by a thread of GStreamer when all streams of the file are known; outlives the pipeline.
  std::atomic<bool> streams_known_ = false;
  Pipeline pipeline_;
  Element convert_;
  Element sink_;
  Bus bus_;
};

Decoding::Decoding(const std::filesystem::path& path, const OpenVideoOptions& options)
    : path_(path), options_(options) {
  check(gst_is_initialized() != 0, "GstFileSource: make a GstRuntime first");
  start();
}

void Decoding::start() {
  ++starts_;
  pipeline_.reset();
  streams_known_ = false;
  GError* error = nullptr;
  pipeline_.reset(gst_parse_launch(kPipeline, &error));
  if (error != nullptr || pipeline_ == nullptr) {
    fail(path_, "GStreamer cannot build a decoder: " + take_words(error) +
                    "; install its base and good plug-ins");
  }
  const Element file{gst_bin_get_by_name(GST_BIN(pipeline_.get()), "file")};
  g_object_set(file.get(), "location", path_.c_str(), nullptr);
  const Element decode{gst_bin_get_by_name(GST_BIN(pipeline_.get()), "decode")};
  g_signal_connect(decode.get(), "no-more-pads", G_CALLBACK(+[](GstElement*, gpointer known) {
                     static_cast<std::atomic<bool>*>(known)->store(true);
                   }),
                   &streams_known_);
  convert_.reset(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "convert"));
  const Element shape{gst_bin_get_by_name(GST_BIN(pipeline_.get()), "shape")};
  const Caps caps{gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "I420", nullptr)};
  if (options_.size) {
    gst_caps_set_simple(caps.get(), "width", G_TYPE_INT, options_.size->width, "height", G_TYPE_INT,
                        options_.size->height, "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1,
                        nullptr);
  }
  g_object_set(shape.get(), "caps", caps.get(), nullptr);
  sink_.reset(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "sink"));
  bus_.reset(gst_element_get_bus(pipeline_.get()));
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);  // a failure is reported on the bus
}

void Decoding::fail_with(GstMessage* message) const {
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  const std::string words = take_words(error);
  fail(path_, "GStreamer cannot decode it" +
                  (pictures_ > 0 ? " beyond picture " + std::to_string(pictures_) : std::string{}) +
                  ": " + words);
}

// Without this a file of audio or text alone would be waited for until patience ends: nothing of it
// ever reaches our sink, not even its end.
bool Decoding::has_no_video() const {
  if (!streams_known_.load()) {
    return false;
  }
  GstPad* pad = gst_element_get_static_pad(convert_.get(), "sink");
  const bool linked = gst_pad_is_linked(pad) != 0;
  gst_object_unref(pad);
  return !linked;
}

// A demuxer may fail while decodebin (1.22) still adds it; then the error is swallowed and nothing
// ever happens. The only sign is that it has stopped reading the file although no streams are
// known.
bool Decoding::is_stuck() const {
  if (streams_known_.load()) {
    return false;
  }
  bool stopped = false;
  GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline_.get()));
  gst_iterator_foreach(
      elements,
      +[](const GValue* value, gpointer found) {
        GstPad* pad =
            gst_element_get_static_pad(static_cast<GstElement*>(g_value_get_object(value)), "sink");
        if (pad == nullptr) {
          return;
        }
        if (GST_PAD_MODE(pad) == GST_PAD_MODE_PULL &&
            gst_pad_get_task_state(pad) == GST_TASK_PAUSED) {
          *static_cast<bool*>(found) = true;
        }
        gst_object_unref(pad);
      },
      &stopped);
  gst_iterator_free(elements);
  return stopped;
}

Sample Decoding::next() {
  constexpr Duration kLook = 50ms;  // an error is noticed this late, an ordinary picture at once
  constexpr int kStuckLooksMax = 6;
  constexpr int kStartsMax =
      4;  // usually the second start reports the reason that the first swallowed
  int stuck_looks = 0;
  for (Duration waited{0}; waited < options_.patience; waited += kLook) {
    Sample sample{gst_app_sink_try_pull_sample(GST_APP_SINK(sink_.get()),
                                               static_cast<GstClockTime>(kLook.count()))};
    if (sample != nullptr) {
      ++pictures_;
      return sample;
    }
    if (has_no_video()) {
      fail(path_, "holds no video that GStreamer can decode, only other streams");
    }
    if (const Message message{gst_bus_pop_filtered(bus_.get(), GST_MESSAGE_ERROR)}) {
      fail_with(message.get());
    }
    if (gst_app_sink_is_eos(GST_APP_SINK(sink_.get())) != 0) {
      return nullptr;
    }
    stuck_looks = pictures_ == 0 && is_stuck() ? stuck_looks + 1 : 0;
    if (stuck_looks == kStuckLooksMax) {
      if (starts_ == kStartsMax) {
        fail(path_, "GStreamer cannot decode it: it gives up without a reason");
      }
      start();
      stuck_looks = 0;
    }
  }
  fail(path_, "GStreamer gave no picture for " +
                  std::to_string(static_cast<int>(to_seconds(options_.patience))) +
                  " s; is the file damaged?");
}

// The rate in the caps, unless the time stamps contradict it: a file of varying rate has 0/1 there,
// and some decoders give their clock's rate. Then it is the mean of the stamps, as an integer if
// the rounding of the stamps explains the difference.
FrameRate rate_of(const GstVideoInfo& info, size_t pictures, GstClockTime first,
                  GstClockTime last) {
  const FrameRate told{info.fps_n, info.fps_d};
  const bool stamped = pictures > 1 && GST_CLOCK_TIME_IS_VALID(first) &&
                       GST_CLOCK_TIME_IS_VALID(last) && last > first;
  if (!stamped) {
    return told.numerator > 0 && told.denominator > 0 ? told : FrameRate{};
  }
  const auto gaps = static_cast<int64_t>(pictures - 1);
  const auto span = static_cast<int64_t>(last - first);
  const double mean = static_cast<double>(gaps) * 1e9 / static_cast<double>(span);
  const auto is_near = [mean](double rate, double share) {
    return std::abs(rate / mean - 1.0) < share;
  };
  if (told.numerator > 0 && told.denominator > 0 &&
      is_near(static_cast<double>(told.numerator) / static_cast<double>(told.denominator), 0.05)) {
    return told;
  }
  const auto whole = static_cast<int64_t>(std::llround(mean));
  return is_near(static_cast<double>(whole), 0.002) ? FrameRate{whole, 1}
                                                    : FrameRate{gaps * 1'000'000'000, span};
}

}  // namespace

bool is_y4m(const std::filesystem::path& path) {
  if (path.extension() == ".y4m") {
    return true;
  }
  constexpr std::string_view kMagic = "YUV4MPEG2 ";
  std::array<char, kMagic.size()> begin{};
  std::ifstream file{path, std::ios::binary};
  file.read(begin.data(), begin.size());
  return file && std::string_view(begin.data(), begin.size()) == kMagic;
}

GstFileSource::GstFileSource(const std::filesystem::path& path, const OpenVideoOptions& options)
    : name_(path.filename().string()) {
  check(!options.size ||
            (options.size->width > 0 && options.size->height > 0 &&
             options.size->width <= kPictureSideMax && options.size->height <= kPictureSideMax),
        "GstFileSource: size out of range");
  std::error_code trouble;
  const uintmax_t file_size = std::filesystem::file_size(path, trouble);
  if (trouble) {
    fail(path, "cannot be opened: " + trouble.message());
  }
  if (file_size == 0) {
    fail(path, "is empty; record or copy it again");
  }
  Decoding decoding{path, options};
  GstVideoInfo info;
  gst_video_info_init(&info);
  GstClockTime first = GST_CLOCK_TIME_NONE;
  GstClockTime last = GST_CLOCK_TIME_NONE;
  int64_t bytes = 0;
  while (const Sample sample = decoding.next()) {
    if (gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())) == 0 ||
        info.width > kPictureSideMax || info.height > kPictureSideMax) {
      fail(path, "GStreamer gave pictures of a shape that cannot be used");
    }
    bytes += static_cast<int64_t>(info.width) * info.height * 3 / 2;
    if (bytes > options.memory_max.bytes()) {
      fail(path, "decodes to more than " + std::to_string(options.memory_max.bytes() >> 20) +
                     " MiB; cut it, scale it down, or convert it to .y4m, which is read piece by "
                     "piece");
    }
    PicturePtr picture = to_picture(sample.get(), info);
    if (picture == nullptr) {
      fail(path, "GStreamer's picture " + std::to_string(pictures_.size()) + " cannot be read");
    }
    if (!pictures_.empty() && (picture->width != width() || picture->height != height())) {
      fail(path, "the picture's size changes at picture " + std::to_string(pictures_.size()) +
                     "; give a size to scale to");
    }
    pictures_.push_back(std::move(picture));
    last = GST_BUFFER_PTS(gst_sample_get_buffer(sample.get()));
    first = pictures_.size() == 1 ? last : first;
  }
  if (pictures_.empty()) {
    fail(path, "holds no picture that GStreamer can decode");
  }
  frame_rate_ = rate_of(info, pictures_.size(), first, last);
}

std::unique_ptr<VideoSource> open_video(const std::filesystem::path& path,
                                        const OpenVideoOptions& options) {
  if (is_y4m(path)) {
    auto source =
        std::make_unique<Y4mSource>(path, Y4mSourceOptions{.memory_max = options.memory_max});
    if (!options.size || *options.size == PictureSize{source->width(), source->height()}) {
      return source;
    }
  }
  return std::make_unique<GstFileSource>(path, options);
}

}  // namespace cress::media
