#include "media/gst/gst_file_source.hh"

#include <gst/gst.h>
#include <gst/video/video.h>

#include <array>
#include <cmath>
#include <fstream>
#include <string_view>

#include "media/gst/file_decoder.hh"
#include "media/gst/gst_handles.hh"
#include "media/gst/gst_picture.hh"
#include "media/source/y4m.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

constexpr const char* kNoPicture = "holds no picture that GStreamer can decode";

// appsink holds four pictures back at most: decoding waits for us.
std::string chain_to(std::optional<PictureSize> size) {
  const std::string shape = size ? ",width=" + std::to_string(size->width) +
                                       ",height=" + std::to_string(size->height) +
                                       ",pixel-aspect-ratio=1/1"
                                 : "";
  return "! videoconvert name=convert ! videoscale ! video/x-raw,format=I420" + shape +
         " ! appsink name=sink sync=false max-buffers=4";
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
  FileDecoder decoder{path,
                      {.chain = chain_to(options.size),
                       .stream = "video",
                       .piece = "picture",
                       .counts_pieces = true,
                       .patience = options.patience}};
  GstVideoInfo info;
  gst_video_info_init(&info);
  GstClockTime first = GST_CLOCK_TIME_NONE;
  GstClockTime last = GST_CLOCK_TIME_NONE;
  int64_t bytes = 0;
  while (const GstOwned<GstSample> sample = decoder.next()) {
    if (gst_video_info_from_caps(&info, gst_sample_get_caps(sample.get())) == 0 ||
        info.width > kPictureSideMax || info.height > kPictureSideMax) {
      fail_at(path, "GStreamer gave pictures of a shape that cannot be used");
    }
    bytes += static_cast<int64_t>(info.width) * info.height * 3 / 2;
    if (bytes > options.memory_max.bytes()) {
      fail_at(path,
              "decodes to more than " + std::to_string(options.memory_max.bytes() >> 20) +
                  " MiB; cut it, scale it down, or convert it to .y4m, which is read piece by "
                  "piece");
    }
    PicturePtr picture = to_picture(sample.get(), info);
    if (picture == nullptr) {
      fail_at(path, "GStreamer's picture " + std::to_string(pictures_.size()) + " cannot be read");
    }
    if (!pictures_.empty() && (picture->width != width() || picture->height != height())) {
      fail_at(path, "the picture's size changes at picture " + std::to_string(pictures_.size()) +
                        "; give a size to scale to");
    }
    pictures_.push_back(std::move(picture));
    last = GST_BUFFER_PTS(gst_sample_get_buffer(sample.get()));
    first = pictures_.size() == 1 ? last : first;
  }
  if (pictures_.empty()) {
    fail_at(path, kNoPicture);
  }
  frame_rate_ = rate_of(info, pictures_.size(), first, last);
}

void require_video(const std::filesystem::path& path) {
  if (is_y4m(path)) {
    static_cast<void>(Y4mSource{path});
    return;
  }
  FileDecoder decoder{path,
                      {.chain = chain_to({}),
                       .stream = "video",
                       .piece = "picture",
                       .counts_pieces = true,
                       .patience = OpenVideoOptions{}.patience}};
  if (decoder.next() == nullptr) {
    fail_at(path, kNoPicture);
  }
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
