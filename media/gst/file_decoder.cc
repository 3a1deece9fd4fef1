#include "media/gst/file_decoder.hh"

#include <gst/app/gstappsink.h>

#include <stdexcept>
#include <system_error>
#include <utility>

#include "transport/base/check.hh"
#include "transport/base/text.hh"

namespace cress::media {

void fail_at(const std::filesystem::path& path, const std::string& what) {
  throw std::runtime_error(path.string() + ": " + one_line(what));
}

FileDecoder::FileDecoder(std::filesystem::path path, FileDecoderOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  std::error_code trouble;
  const uintmax_t file_size = std::filesystem::file_size(path_, trouble);
  if (trouble) {
    fail_at(path_, "cannot be opened: " + trouble.message());
  }
  if (file_size == 0) {
    fail_at(path_, "is empty; record or copy it again");
  }
  check(gst_is_initialized() != 0, "FileDecoder: make a GstRuntime first");
  start();
}

void FileDecoder::start() {
  ++starts_;
  pipeline_.reset();
  streams_known_ = false;
  GError* error = nullptr;
  pipeline_.reset(gst_parse_launch(
      ("filesrc name=file ! decodebin name=decode " + options_.chain).c_str(), &error));
  if (error != nullptr || pipeline_ == nullptr) {
    fail_at(path_, "GStreamer cannot build a decoder: " + take_words(error) +
                       "; install its base and good plug-ins");
  }
  g_object_set(element_of(pipeline_.get(), "file").get(), "location", path_.c_str(), nullptr);
  g_signal_connect(element_of(pipeline_.get(), "decode").get(), "no-more-pads",
                   G_CALLBACK(+[](GstElement*, gpointer known) {
                     static_cast<std::atomic<bool>*>(known)->store(true);
                   }),
                   &streams_known_);
  convert_ = element_of(pipeline_.get(), "convert");
  sink_ = element_of(pipeline_.get(), "sink");
  bus_.reset(gst_element_get_bus(pipeline_.get()));
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);  // errors arrive on the bus
}

void FileDecoder::fail_with(GstMessage* message) const {
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  const std::string words = take_words(error);
  const std::string beyond = options_.counts_pieces && pieces_ > 0
                                 ? " beyond " + options_.piece + " " + std::to_string(pieces_)
                                 : "";
  fail_at(path_, "GStreamer cannot decode it" + beyond + ": " + words);
}

// Without this a file of other streams alone would be waited for until patience ends: nothing of it
// ever reaches our sink, not even its end.
bool FileDecoder::lacks_stream() const {
  if (!streams_known_.load()) {
    return false;
  }
  const GstOwned<GstPad> pad{gst_element_get_static_pad(convert_.get(), "sink")};
  return gst_pad_is_linked(pad.get()) == 0;
}

// A demuxer may fail while decodebin (1.22) still adds it; then the error is swallowed and nothing
// ever happens. What remains to be seen is that it has stopped fetching from the file although no
// streams are known.
bool FileDecoder::is_stuck() const {
  if (streams_known_.load()) {
    return false;
  }
  bool stopped = false;
  GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline_.get()));
  gst_iterator_foreach(
      elements,
      +[](const GValue* value, gpointer found) {
        const GstOwned<GstPad> pad{gst_element_get_static_pad(
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

GstOwned<GstSample> FileDecoder::next() {
  constexpr int kStuckLooksFirst = 6;
  constexpr int kStartsMax =
      4;  // mostly the second start tells the reason that the first swallowed
  int stuck_looks = 0;
  for (Duration waited{0}; waited < options_.patience; waited += options_.look) {
    GstOwned<GstSample> sample{gst_app_sink_try_pull_sample(
        GST_APP_SINK(sink_.get()), static_cast<GstClockTime>(options_.look.count()))};
    if (sample != nullptr) {
      ++pieces_;
      return sample;
    }
    if (lacks_stream()) {
      fail_at(path_,
              "holds no " + options_.stream + " that GStreamer can decode, only other streams");
    }
    if (const GstOwned<GstMessage> message{gst_bus_pop_filtered(bus_.get(), GST_MESSAGE_ERROR)}) {
      fail_with(message.get());
    }
    if (gst_app_sink_is_eos(GST_APP_SINK(sink_.get())) != 0) {
      return nullptr;
    }
    stuck_looks = pieces_ == 0 && is_stuck() ? stuck_looks + 1 : 0;
    // On a busy machine an undamaged file looks the same until its decoder is found: each start
    // is waited for twice as long as the one before.
    if (stuck_looks == kStuckLooksFirst << (starts_ - 1)) {
      if (starts_ == kStartsMax) {
        fail_at(path_, "GStreamer cannot decode it: it gives up without a reason");
      }
      start();
      stuck_looks = 0;
    }
  }
  fail_at(path_, "GStreamer gave no " + options_.piece + " for " +
                     std::to_string(static_cast<int>(to_seconds(options_.patience))) +
                     " s; is the file damaged?");
}

}  // namespace cress::media
