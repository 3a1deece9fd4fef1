#include <benchmark/benchmark.h>

#include <vector>

#include "media/codec/vp8_decoder.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/source/synthetic_camera.hh"

namespace {

namespace media = cress::media;

constexpr uint64_t kClipLength = 60;

std::vector<media::PicturePtr> make_clip(int width, int height) {
  media::SyntheticCamera camera{{.width = width, .height = height}};
  std::vector<media::PicturePtr> clip;
  for (uint64_t i = 0; i < kClipLength; ++i) {
    clip.push_back(camera.picture(i));
  }
  return clip;
}

// Arguments: width, height, quantizer.
void vp8_encode(benchmark::State& state) {
  const int width = static_cast<int>(state.range(0));
  const int height = static_cast<int>(state.range(1));
  const std::vector<media::PicturePtr> clip = make_clip(width, height);
  media::Vp8Encoder encoder{{.width = width, .height = height}};
  uint64_t index = 0;
  int64_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    // Forwards, then backwards: no jump, which would cost as much as a scene cut.
    const uint64_t at = index % (2 * kClipLength - 2);
    const uint64_t frame = at < kClipLength ? at : 2 * kClipLength - 2 - at;
    bytes += encoder.encode(*clip[frame], {.quantizer = static_cast<int>(state.range(2))})
                 .size()
                 .bytes();
    ++index;
  }
  state.counters["bytes_per_frame"] = static_cast<double>(bytes) / static_cast<double>(index);
}
BENCHMARK(vp8_encode)
    ->ArgsProduct({{640}, {360}, {12, 24, 48}})
    ->ArgsProduct({{1280}, {720}, {12, 24, 48}})
    ->Unit(benchmark::kMillisecond);

void vp8_decode(benchmark::State& state) {
  const int width = static_cast<int>(state.range(0));
  const int height = static_cast<int>(state.range(1));
  media::Vp8Encoder encoder{{.width = width, .height = height}};
  std::vector<media::CodedPicture> coded;
  for (const media::PicturePtr& picture : make_clip(width, height)) {
    coded.push_back(encoder.encode(*picture, {.quantizer = static_cast<int>(state.range(2))}));
  }
  media::Vp8Decoder decoder;
  uint64_t index = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(decoder.decode(coded[index++ % coded.size()].data));
  }
}
BENCHMARK(vp8_decode)->Args({640, 360, 24})->Args({1280, 720, 24})->Unit(benchmark::kMillisecond);

}  // namespace
