#include "media/gst/gst_audio_source.hh"

#include <gst/gst.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "media/gst/file_decoder.hh"
#include "media/gst/gst_handles.hh"
#include "media/source/audio_clip.hh"

namespace cress::media {
namespace {

// No dither: the same file gives the same samples.
constexpr const char* kChain =
    "! audioconvert name=convert dithering=none ! audioresample "
    "! audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=1 "
    "! appsink name=sink sync=false max-buffers=16";
constexpr const char* kNoSound = "holds no sound that GStreamer can decode";
static_assert(kAudioSampleRate == 48'000, "the chain says so too");

}  // namespace

std::unique_ptr<AudioSource> open_audio(const std::filesystem::path& path,
                                        const OpenAudioOptions& options) {
  FileDecoder decoder{
      path, {.chain = kChain, .stream = "sound", .piece = "sound", .patience = options.patience}};
  std::vector<int16_t> samples;
  while (const GstOwned<GstSample> sample = decoder.next()) {
    GstBuffer* buffer = gst_sample_get_buffer(sample.get());
    const size_t count = buffer == nullptr ? 0 : gst_buffer_get_size(buffer) / 2;
    if (static_cast<int64_t>(2 * (samples.size() + count)) > options.memory_max.bytes()) {
      fail_at(path, "decodes to more than " + std::to_string(options.memory_max.bytes() >> 20) +
                        " MiB of sound; cut it");
    }
    GstMapInfo map;
    if (buffer == nullptr || gst_buffer_map(buffer, &map, GST_MAP_READ) == 0) {
      fail_at(path, "GStreamer's sound cannot be read");
    }
    for (size_t i = 0; i < count; ++i) {
      const unsigned value = map.data[2 * i] | static_cast<unsigned>(map.data[2 * i + 1]) << 8U;
      samples.push_back(static_cast<int16_t>(static_cast<uint16_t>(value)));
    }
    gst_buffer_unmap(buffer, &map);
  }
  if (samples.empty()) {
    fail_at(path, kNoSound);
  }
  return std::make_unique<AudioClip>(path.filename().string(), std::move(samples));
}

void require_audio(const std::filesystem::path& path) {
  FileDecoder decoder{path,
                      {.chain = kChain,
                       .stream = "sound",
                       .piece = "sound",
                       .patience = OpenAudioOptions{}.patience}};
  if (decoder.next() == nullptr) {
    fail_at(path, kNoSound);
  }
}

}  // namespace cress::media
