#include "media/gst/gst_audio_source.hh"

#include <gst/app/gstappsink.h>
#include <gst/gst.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "media/gst/gst_handles.hh"
#include "media/source/audio_clip.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string what) {
  std::ranges::replace(what, '\n', ' ');
  throw std::runtime_error(path.string() + ": " + what);
}

template <class T>
using Owned = GstOwned<T>;

// Video is not linked to anything and stops. No dither: the same file gives the same samples.
constexpr const char* kPipeline =
    "filesrc name=file ! decodebin name=decode "
    "! audioconvert name=convert dithering=none ! audioresample "
    "! audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=1 "
    "! appsink name=sink sync=false max-buffers=16";
static_assert(kAudioSampleRate == 48'000, "the pipeline says so too");

/// One decoding run of one file.
class Decoding {
 public:
  Decoding(const std::filesystem::path& path, const OpenAudioOptions& options);
  /// The whole audio.
  std::vector<int16_t> run();

 private:
  enum class State { kRunning, kEnded, kGaveUp };

  void start();
  State step();
  void append(GstSample* sample);
  bool has_no_sound() const;
  bool has_stopped_without_streams() const;

  std::filesystem::path path_;
  OpenAudioOptions options_;
  std::vector<int16_t> samples_;
  Duration waited_{};
  int idle_looks_ = 0;
  // Set by a thread of GStreamer when all streams of the file are known; outlives the pipeline.
  std::atomic<bool> streams_known_ = false;
  GstPipelinePtr pipeline_;
  Owned<GstElement> convert_;
  Owned<GstElement> sink_;
  Owned<GstBus> bus_;
};

Decoding::Decoding(const std::filesystem::path& path, const OpenAudioOptions& options)
    : path_(path), options_(options) {
  check(gst_is_initialized() != 0, "open_audio: make a GstRuntime first");
  start();
}

void Decoding::start() {
  pipeline_.reset();
  streams_known_ = false;
  idle_looks_ = 0;
  GError* error = nullptr;
  pipeline_.reset(gst_parse_launch(kPipeline, &error));
  if (error != nullptr || pipeline_ == nullptr) {
    fail(path_, "GStreamer cannot build a decoder: " + take_words(error) +
                    "; install its base and good plug-ins");
  }
  const auto element = [this](const char* name) {
    return Owned<GstElement>{gst_bin_get_by_name(GST_BIN(pipeline_.get()), name)};
  };
  g_object_set(element("file").get(), "location", path_.c_str(), nullptr);
  g_signal_connect(element("decode").get(), "no-more-pads",
                   G_CALLBACK(+[](GstElement*, gpointer known) {
                     static_cast<std::atomic<bool>*>(known)->store(true);
                   }),
                   &streams_known_);
  convert_ = element("convert");
  sink_ = element("sink");
  bus_.reset(gst_element_get_bus(pipeline_.get()));
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);  // a failure is reported on the bus
}

// A film without audio: nothing ever reaches our sink, not even its end.
bool Decoding::has_no_sound() const {
  if (!streams_known_.load()) {
    return false;
  }
  const Owned<GstPad> pad{gst_element_get_static_pad(convert_.get(), "sink")};
  return gst_pad_is_linked(pad.get()) == 0;
}

// decodebin (1.22) can swallow the error of a demuxer that fails while being added, and then
// nothing ever happens: the only sign is that the file is no longer read although no streams are
// known.
bool Decoding::has_stopped_without_streams() const {
  if (streams_known_.load()) {
    return false;
  }
  bool stopped = false;
  GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline_.get()));
  gst_iterator_foreach(
      elements,
      +[](const GValue* value, gpointer found) {
        const Owned<GstPad> pad{gst_element_get_static_pad(
            static_cast<GstElement*>(g_value_get_object(value)), "sink")};
        if (pad != nullptr && GST_PAD_MODE(pad.get()) == GST_PAD_MODE_PULL &&
            gst_pad_get_task_state(pad.get()) == GST_TASK_PAUSED) {
          *static_cast<bool*>(found) = true;
        }
      },
      &stopped);
  gst_iterator_free(elements);
  return stopped;
}

void Decoding::append(GstSample* sample) {
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  GstMapInfo map;
  if (buffer == nullptr || gst_buffer_map(buffer, &map, GST_MAP_READ) == 0) {
    fail(path_, "GStreamer's sound cannot be read");
  }
  const size_t count = map.size / 2;
  if (static_cast<int64_t>(2 * (samples_.size() + count)) > options_.memory_max.bytes()) {
    gst_buffer_unmap(buffer, &map);
    fail(path_, "decodes to more than " + std::to_string(options_.memory_max.bytes() >> 20) +
                    " MiB of sound; cut it");
  }
  for (size_t i = 0; i < count; ++i) {
    const unsigned value = map.data[2 * i] | static_cast<unsigned>(map.data[2 * i + 1]) << 8U;
    samples_.push_back(static_cast<int16_t>(static_cast<uint16_t>(value)));
  }
  gst_buffer_unmap(buffer, &map);
}

Decoding::State Decoding::step() {
  constexpr Duration kLook = 50ms;  // an error is noticed this late, an ordinary piece at once
  constexpr int kIdleLooksMax = 6;
  const Owned<GstSample> sample{gst_app_sink_try_pull_sample(
      GST_APP_SINK(sink_.get()), static_cast<GstClockTime>(kLook.count()))};
  if (sample != nullptr) {
    append(sample.get());
    waited_ = Duration{};
    return State::kRunning;
  }
  if (has_no_sound()) {
    fail(path_, "holds no sound that GStreamer can decode, only other streams");
  }
  if (const Owned<GstMessage> message{gst_bus_pop_filtered(bus_.get(), GST_MESSAGE_ERROR)}) {
    GError* error = nullptr;
    gst_message_parse_error(message.get(), &error, nullptr);
    fail(path_, "GStreamer cannot decode it: " + take_words(error));
  }
  if (gst_app_sink_is_eos(GST_APP_SINK(sink_.get())) != 0) {
    return State::kEnded;
  }
  waited_ += kLook;
  if (waited_ >= options_.patience) {
    fail(path_, "GStreamer gave no sound for " +
                    std::to_string(static_cast<int>(to_seconds(options_.patience))) +
                    " s; is the file damaged?");
  }
  idle_looks_ = samples_.empty() && has_stopped_without_streams() ? idle_looks_ + 1 : 0;
  return idle_looks_ == kIdleLooksMax ? State::kGaveUp : State::kRunning;
}

std::vector<int16_t> Decoding::run() {
  constexpr int kStartsMax = 4;  // usually the second start reports the reason
  int starts = 1;
  for (;;) {
    const State state = step();
    if (state == State::kEnded) {
      break;
    }
    if (state == State::kGaveUp) {
      if (starts == kStartsMax) {
        fail(path_, "GStreamer cannot decode it: it gives up without a reason");
      }
      ++starts;
      start();
    }
  }
  if (samples_.empty()) {
    fail(path_, "holds no sound that GStreamer can decode");
  }
  return std::move(samples_);
}

}  // namespace

std::unique_ptr<AudioSource> open_audio(const std::filesystem::path& path,
                                        const OpenAudioOptions& options) {
  std::error_code trouble;
  const uintmax_t file_size = std::filesystem::file_size(path, trouble);
  if (trouble) {
    fail(path, "cannot be opened: " + trouble.message());
  }
  if (file_size == 0) {
    fail(path, "is empty; record or copy it again");
  }
  return std::make_unique<AudioClip>(path.filename().string(), Decoding{path, options}.run());
}

}  // namespace cress::media
