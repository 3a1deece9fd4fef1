#include "media/gst/gst_movie_writer.hh"

#include <fcntl.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "media/frame/ivf.hh"
#include "media/frame/scale_picture.hh"
#include "media/gst/file_decoder.hh"
#include "media/gst/gst_handles.hh"
#include "media/gst/gst_picture.hh"
#include "media/source/y4m.hh"
#include "transport/base/check.hh"

namespace cress::media {

/// A file being written.
class MovieWriter::Format {
 public:
  virtual ~Format() = default;
  /// `picture` is on screen in [from, until); the next call continues at `until`. A picture that is
  /// displayed too briefly for the file is left out, unless it is the `last`.
  virtual void show(const Picture& picture, Duration from, Duration until, bool last) = 0;
  virtual void hear(Duration at, const AudioFrame& frame) = 0;
  /// Everything is in the file.
  virtual void finish() = 0;
};

namespace {

using std::filesystem::path;

// How long GStreamer may take for one step before it counts as stuck.
constexpr Duration kPatience = 30s;

std::string reason_of(int error) { return std::generic_category().message(error); }

// Creates or empties the file, so that a wrong path is reported with the system's own reason.
void create(const path& shown, const path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) {
    fail_at(shown, "cannot be opened for writing: " + reason_of(errno));
  }
  ::close(fd);
}

// A network file system or a full disk may fail only when the bytes must really be stored.
void sync(const path& shown, const path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) {
    ::close(fd);
  }
  if (!synced) {
    fail_at(shown, "cannot be written whole: " + reason_of(error));
  }
}

/// Constant rate: tick `i` shows what is on screen at its time.
class Y4mMovie final : public MovieWriter::Format {
 public:
  Y4mMovie(path shown, const path& file, const MovieOptions& options)
      : shown_(std::move(shown)),
        rate_(options.frame_rate),
        writer_(file, {options.width, options.height, options.frame_rate}) {}

  void show(const Picture& picture, Duration, Duration until, bool last) override {
    for (bool due = last; due || rate_.time_of(ticks_) < until; ++ticks_, due = false) {
      attempt([&] { writer_.write(picture); });
    }
  }
  void hear(Duration, const AudioFrame&) override {
    check(false, "MovieWriter: sound into a .y4m");
  }
  void finish() override {
    attempt([this] { writer_.finish(); });
  }

 private:
  // The writer knows the file by its temporary name.
  template <class Act>
  void attempt(Act act) const {
    try {
      act();
    } catch (const std::runtime_error&) {
      fail_at(shown_, "cannot be written whole; is the disk full?");
    }
  }

  path shown_;
  FrameRate rate_;
  uint64_t ticks_ = 0;
  Y4mWriter writer_;
};

template <class T>
using Owned = GstOwned<T>;

// The quantizer's range sets the quality, whatever the rate (the limit is never reached); measured
// in the test: over 40 dB. One thread: where all cores are busy, libvpx's threads wait for each
// other by spinning, and two took 16 s of processor time for what one does in 1 s. The muxer waits
// for the slower of audio and video; meanwhile the other's encoded data wait in the queues.
// timebase: Matroska's, so that times that differ there also differ in the encoder.
constexpr const char* kEncoder =
    "appsrc name=pictures format=time max-buffers=4 max-bytes=0 "
    "! vp8enc deadline=1 cpu-used=-6 threads=1 end-usage=vbr target-bitrate=100000000 "
    "min-quantizer=4 max-quantizer=16 keyframe-max-dist=120 timebase=1/1000 ";
constexpr const char* kWebmPart =
    "! queue max-size-buffers=0 max-size-time=0 max-size-bytes=268435456 ! mux. "
    "webmmux name=mux writing-app=Cress ! filesink name=file ";
constexpr const char* kSoundPart =
    " appsrc name=sound format=time max-buffers=64 max-bytes=0 ! opusenc bitrate=96000 "
    "! queue max-size-buffers=0 max-size-time=0 max-size-bytes=268435456 ! mux. ";
// Taken from there whenever a picture is added, so at most a handful waits.
constexpr const char* kIvfPart = "! appsink name=coded sync=false wait-on-eos=false";

/// Video through VP8: .webm with GStreamer's muxer, .ivf with our own writer.
class Vp8Movie final : public MovieWriter::Format {
 public:
  Vp8Movie(path shown, const path& file, const MovieOptions& options);

  void show(const Picture& picture, Duration from, Duration until, bool last) override;
  void hear(Duration at, const AudioFrame& frame) override;
  void finish() override;

 private:
  void set_caps(const MovieOptions& options);
  void push(GstElement* to, Owned<GstBuffer> buffer);
  void take_coded();
  void push_samples(std::span<const int16_t> samples);
  void push_silence(int64_t until);
  [[noreturn]] void fail_with(GstMessage* message) const;
  Owned<GstMessage> wait_for(unsigned kinds, Duration patience) const;

  path shown_;
  GstVideoInfo info_;
  int64_t samples_ = 0;  // of audio so far
  GstPipelinePtr pipeline_;
  Owned<GstBus> bus_;
  Owned<GstElement> pictures_;
  Owned<GstElement> sound_;  // null without audio
  Owned<GstElement> coded_;  // only of an .ivf
  std::unique_ptr<IvfWriter> ivf_;
};

Vp8Movie::Vp8Movie(path shown, const path& file, const MovieOptions& options)
    : shown_(std::move(shown)) {
  check(gst_is_initialized() != 0, "MovieWriter: make a GstRuntime first");
  const bool is_ivf = shown_.extension() == ".ivf";
  const std::string description = std::string{kEncoder} + (is_ivf ? kIvfPart : kWebmPart) +
                                  (options.with_sound ? kSoundPart : "");
  GError* error = nullptr;
  pipeline_.reset(gst_parse_launch(description.c_str(), &error));
  if (error != nullptr || pipeline_ == nullptr) {
    fail_at(shown_, "GStreamer cannot build an encoder: " + take_words(error) +
                        "; install its base and good plug-ins");
  }
  bus_.reset(gst_element_get_bus(pipeline_.get()));
  pictures_ = element_of(pipeline_.get(), "pictures");
  sound_ = options.with_sound ? element_of(pipeline_.get(), "sound") : nullptr;
  if (is_ivf) {
    coded_ = element_of(pipeline_.get(), "coded");
    ivf_ = std::make_unique<IvfWriter>(file, IvfHeader{.width = options.width,
                                                       .height = options.height,
                                                       .timebase_numerator = 1,
                                                       .timebase_denominator = 1000});
  } else {
    g_object_set(element_of(pipeline_.get(), "file").get(), "location", file.c_str(), nullptr);
  }
  set_caps(options);
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);  // a failure is reported on the bus
}

void Vp8Movie::set_caps(const MovieOptions& options) {
  info_ = video_info(options.width, options.height, options.frame_rate);
  const Owned<GstCaps> caps{gst_video_info_to_caps(&info_)};
  gst_app_src_set_caps(GST_APP_SRC(pictures_.get()), caps.get());
  if (sound_ != nullptr) {
    const Owned<GstCaps> sound{gst_caps_new_simple("audio/x-raw", "format", G_TYPE_STRING, "S16LE",
                                                   "layout", G_TYPE_STRING, "interleaved", "rate",
                                                   G_TYPE_INT, static_cast<int>(kAudioSampleRate),
                                                   "channels", G_TYPE_INT, 1, nullptr)};
    gst_app_src_set_caps(GST_APP_SRC(sound_.get()), sound.get());
  }
}

void Vp8Movie::fail_with(GstMessage* message) const {
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  const bool full =
      g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT) != 0;
  const std::string words = full ? reason_of(ENOSPC) : error->message;
  g_clear_error(&error);
  fail_at(shown_, "cannot be written: " + words);
}

// The first message of these kinds, or null when time is up; an error is thrown.
Owned<GstMessage> Vp8Movie::wait_for(unsigned kinds, Duration patience) const {
  Owned<GstMessage> message{gst_bus_timed_pop_filtered(
      bus_.get(), static_cast<GstClockTime>(patience.count()),
      static_cast<GstMessageType>(kinds | static_cast<unsigned>(GST_MESSAGE_ERROR)))};
  if (message != nullptr && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ERROR) {
    fail_with(message.get());
  }
  return message;
}

// An appsrc that blocks would wait for ever after an error, so the waiting is ours.
void Vp8Movie::push(GstElement* to, Owned<GstBuffer> buffer) {
  constexpr Duration kLook = 2ms;
  GstAppSrc* source = GST_APP_SRC(to);
  const uint64_t most = gst_app_src_get_max_buffers(source);
  Duration waited{};
  wait_for(0, 0ms);
  while (gst_app_src_get_current_level_buffers(source) >= most) {
    if (waited >= kPatience) {
      fail_at(shown_, "GStreamer's encoder stands still");
    }
    wait_for(0, kLook);
    waited += kLook;
  }
  if (gst_app_src_push_buffer(source, buffer.release()) != GST_FLOW_OK) {
    wait_for(0, kPatience);
    fail_at(shown_, "GStreamer takes no more");
  }
}

void Vp8Movie::show(const Picture& picture, Duration from, Duration until, bool last) {
  // Whole milliseconds, as in the file; a picture replaced within one was never visible.
  const auto begin = std::chrono::floor<std::chrono::milliseconds>(from);
  const auto end = std::chrono::floor<std::chrono::milliseconds>(until);
  if (end <= begin && !last) {
    return;
  }
  if (sound_ != nullptr) {
    push_silence(audio_samples(from - MovieWriter::kSoundLagMax));
  }
  Owned<GstBuffer> buffer = to_buffer(picture, info_);
  GST_BUFFER_PTS(buffer.get()) = static_cast<GstClockTime>(Duration{begin}.count());
  GST_BUFFER_DURATION(buffer.get()) = static_cast<GstClockTime>(Duration{end - begin}.count());
  push(pictures_.get(), std::move(buffer));
  take_coded();
}

// What the encoder has finished goes into the .ivf.
void Vp8Movie::take_coded() {
  if (ivf_ == nullptr) {
    return;
  }
  const auto next = [this] {
    return Owned<GstSample>{gst_app_sink_try_pull_sample(GST_APP_SINK(coded_.get()), 0)};
  };
  while (const Owned<GstSample> sample = next()) {
    GstBuffer* buffer = gst_sample_get_buffer(sample.get());
    std::vector<std::byte> data(gst_buffer_get_size(buffer));
    gst_buffer_extract(buffer, 0, data.data(), data.size());
    try {
      ivf_->write(GST_BUFFER_PTS(buffer) / GST_MSECOND, data);
    } catch (const std::runtime_error&) {  // knows the file by its temporary name
      fail_at(shown_, "cannot be written whole; is the disk full?");
    }
  }
}

void Vp8Movie::push_samples(std::span<const int16_t> samples) {
  std::vector<uint8_t> bytes;
  bytes.reserve(2 * samples.size());
  for (const int16_t sample : samples) {
    const auto bits = static_cast<uint16_t>(sample);
    bytes.push_back(static_cast<uint8_t>(bits & 0xFFU));
    bytes.push_back(static_cast<uint8_t>(bits >> 8U));
  }
  Owned<GstBuffer> buffer{gst_buffer_new_memdup(bytes.data(), bytes.size())};
  const auto count = static_cast<int64_t>(samples.size());
  GST_BUFFER_PTS(buffer.get()) = static_cast<GstClockTime>(audio_duration(samples_).count());
  GST_BUFFER_DURATION(buffer.get()) = static_cast<GstClockTime>(
      (audio_duration(samples_ + count) - audio_duration(samples_)).count());
  samples_ += count;
  push(sound_.get(), std::move(buffer));
}

void Vp8Movie::push_silence(int64_t until) {
  constexpr AudioFrame kSilence{};
  while (samples_ < until) {
    const auto missing = static_cast<size_t>(until - samples_);
    push_samples(std::span{kSilence}.first(std::min(missing, kSilence.size())));
  }
}

void Vp8Movie::hear(Duration at, const AudioFrame& frame) {
  check(sound_ != nullptr, "MovieWriter: sound into a movie made without");
  constexpr auto kJitter = static_cast<int64_t>(kAudioFrameSamples / 2);
  const int64_t gap = audio_samples(at) - samples_;
  if (gap > kJitter) {
    push_silence(samples_ + gap);
  }
  const int64_t known = gap < -kJitter ? -gap : 0;
  if (known < static_cast<int64_t>(frame.size())) {
    push_samples(std::span{frame}.subspan(static_cast<size_t>(known)));
  }
}

void Vp8Movie::finish() {
  for (GstElement* source : {pictures_.get(), sound_.get()}) {
    if (source != nullptr) {
      gst_app_src_end_of_stream(GST_APP_SRC(source));
    }
  }
  if (wait_for(GST_MESSAGE_EOS, kPatience) == nullptr) {
    fail_at(shown_, "GStreamer does not come to an end");
  }
  take_coded();
  if (ivf_ != nullptr) {
    try {
      ivf_->finish();
    } catch (const std::runtime_error&) {
      fail_at(shown_, "cannot be written whole; is the disk full?");
    }
  }
  gst_element_set_state(pipeline_.get(), GST_STATE_NULL);  // closes the file
}

std::unique_ptr<MovieWriter::Format> open(const path& shown, const path& file,
                                          const MovieOptions& options) {
  if (shown.extension() == ".y4m") {
    return std::make_unique<Y4mMovie>(shown, file, options);
  }
  return std::make_unique<Vp8Movie>(shown, file, options);
}

// Studio range: what every player displays as black.
Picture black(int width, int height) {
  Picture picture = make_picture(width, height);
  std::fill_n(picture.y(), picture.luma_size(), uint8_t{16});
  std::fill_n(picture.u(), 2 * picture.chroma_size(), uint8_t{128});
  return picture;
}

}  // namespace

MovieWriter::MovieWriter(const path& path, const MovieOptions& options)
    : path_(path), part_(path), options_(options) {
  check(options.width > 0 && options.height > 0 && options.width <= kPictureSideMax &&
            options.height <= kPictureSideMax,
        "MovieWriter: size out of range");
  check(options.frame_rate.numerator > 0 && options.frame_rate.denominator > 0,
        "MovieWriter: frame rate out of range");
  std::error_code trouble;
  const auto status = std::filesystem::status(path, trouble);
  const bool direct = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  const std::string ending = path.extension();
  if (!direct && ending != ".webm" && ending != ".ivf" && ending != ".y4m") {
    fail_at(path, "a movie's name ends in .webm, .ivf or .y4m");
  }
  if (ending != ".webm" && options.with_sound && !direct) {
    fail_at(path, "a " + ending +
                      " holds no sound; name a .webm, or write the sound to a file of its own");
  }
  if (!direct) {
    part_ += ".part";
  }
  create(path_, part_);
  pending_ = black(options.width, options.height);
  try {
    format_ = open(path_, part_, options_);
  } catch (...) {
    remove_part();
    throw;
  }
}

MovieWriter::~MovieWriter() {
  const bool finished = format_ == nullptr;
  format_.reset();
  if (!finished) {
    remove_part();
  }
}

void MovieWriter::remove_part() const {
  if (part_ != path_) {
    std::error_code ignored;  // there is no one left to report to
    std::filesystem::remove(part_, ignored);
  }
}

void MovieWriter::show_pending(Duration until) {
  if (until > pending_at_) {
    format_->show(pending_, pending_at_, until, false);
  }
  pending_at_ = until;
}

void MovieWriter::add_picture(Duration at, const Picture& picture) {
  check(format_ != nullptr, "MovieWriter: it is finished");
  check(at >= pending_at_, "MovieWriter: a picture from the past");
  show_pending(at);
  const bool fits = picture.width == options_.width && picture.height == options_.height;
  pending_ = fits ? picture : scale_picture(picture, options_.width, options_.height);
}

void MovieWriter::add_sound(Duration at, const AudioFrame& frame) {
  check(format_ != nullptr, "MovieWriter: it is finished");
  check(at >= 0ms, "MovieWriter: sound before the beginning");
  format_->hear(at, frame);
}

void MovieWriter::finish(std::optional<Duration> until) {
  check(format_ != nullptr, "MovieWriter: it is finished");
  const Duration tick = options_.frame_rate.time_of(1);
  format_->show(pending_, pending_at_, std::max(pending_at_ + tick, until.value_or(0ms)), true);
  format_->finish();
  if (part_ != path_) {
    sync(path_, part_);
    std::error_code trouble;
    std::filesystem::rename(part_, path_, trouble);
    if (trouble) {
      fail_at(path_, "cannot be replaced: " + trouble.message());
    }
  }
  format_.reset();
}

}  // namespace cress::media
