#include "eval/encoder/ivf_video.hh"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "media/codec/vp8_decoder.hh"
#include "media/frame/ivf.hh"
#include "media/frame/scale_picture.hh"

namespace cress::encoder_bench {
namespace {

constexpr uint64_t kPicturesMax = 1'000'000;  // nine hours at 30 per second, most of them held
constexpr int64_t kRateMax = 240;

}  // namespace

bool is_vp8_ivf(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  media::IvfReader reader{file};
  const auto header = reader.read_header();
  return header && header->codec == media::kIvfVp8;
}

void IvfVideo::fail(const std::string& what) const {
  throw std::runtime_error(path_.string() + ": " + what);
}

std::vector<IvfVideo::Timed> IvfVideo::decode_all(std::istream& stream, DataSize memory_max) {
  media::IvfReader reader{stream};
  const auto header = reader.read_header();
  if (!header) {
    fail(describe(header.error()));
  }
  if (header->codec != media::kIvfVp8) {
    fail("an IVF file of another codec than VP8");
  }
  frame_rate_ = {.numerator = header->timebase_denominator,
                 .denominator = header->timebase_numerator};
  media::Vp8Decoder decoder;
  std::vector<Timed> shown;
  DataSize memory;
  for (uint64_t number = 0;; ++number) {
    auto frame = reader.read_frame();
    if (!frame) {
      fail(describe(frame.error()));
    }
    if (!frame->has_value()) {
      return shown;
    }
    const auto picture = decoder.decode((*frame)->data);
    if (!picture) {
      fail("frame " + std::to_string(number) + ": " + describe(picture.error()));
    }
    if (*picture == nullptr) {
      continue;  // encoded as a reference, not for display
    }
    if (!shown.empty() && (*frame)->time <= shown.back().time) {
      fail("frame " + std::to_string(number) + ": its time is not after the one before");
    }
    shown.push_back({(*frame)->time, shown.empty()
                                         ? *picture
                                         : media::at_size(*picture, shown.front().picture->width,
                                                          shown.front().picture->height)});
    memory += DataSize{static_cast<int64_t>(shown.back().picture->data.size())};
    if (memory > memory_max) {
      fail("its pictures take more than " + std::to_string(memory_max.bytes() >> 20) +
           " MiB; cut it shorter");
    }
  }
}

IvfVideo::IvfVideo(const std::filesystem::path& path, DataSize memory_max) : path_(path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) {
    fail("cannot be opened");
  }
  const std::vector<Timed> shown = decode_all(file, memory_max);
  if (shown.empty()) {
    fail("no picture in it");
  }
  if (shown.front().picture->width < 16 || shown.front().picture->height < 16) {
    fail("pictures under 16x16");
  }
  // The frame interval is the shortest time between two pictures; longer ones are gaps.
  uint64_t step = shown.size() > 1 ? shown[1].time - shown[0].time : 1;
  for (size_t i = 1; i < shown.size(); ++i) {
    step = std::min(step, shown[i].time - shown[i - 1].time);
  }
  const uint64_t length = (shown.back().time - shown.front().time) / step + 1;
  if (length > kPicturesMax || step > INT32_MAX) {
    fail("its times leap");
  }
  frame_rate_.denominator *= static_cast<int64_t>(step);
  const int64_t common = std::gcd(frame_rate_.numerator, frame_rate_.denominator);
  frame_rate_.numerator /= common;
  frame_rate_.denominator /= common;
  if (frame_rate_.numerator > kRateMax * frame_rate_.denominator ||
      frame_rate_.denominator > 1000 * frame_rate_.numerator) {
    fail("a rate of " + std::to_string(frame_rate_.numerator) + "/" +
         std::to_string(frame_rate_.denominator) + " pictures a second");
  }
  size_t newest = 0;
  for (uint64_t i = 0; i < length; ++i) {
    while (newest + 1 < shown.size() && shown[newest + 1].time - shown.front().time <= i * step) {
      ++newest;
    }
    pictures_.push_back(shown[newest].picture);
  }
}

}  // namespace cress::encoder_bench
