#include <benchmark/benchmark.h>

#include <vector>

#include "media/codec/opus_decoder.hh"
#include "media/codec/opus_encoder.hh"
#include "media/source/audio_synthetic_voice.hh"

namespace {

namespace media = cress::media;

constexpr uint64_t kFrames = 600;

// Every iteration is one frame of 20 ms: a time of 200 us is one per cent of a core.
// Arguments: kbit/s, complexity.
void opus_encode(benchmark::State& state) {
  media::SyntheticVoice voice;
  media::OpusEncoder encoder{{.target = cress::DataRate::kilobits_per_second(state.range(0)),
                              .complexity = static_cast<int>(state.range(1))}};
  encoder.set_expected_loss(0.1);
  uint64_t index = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(encoder.encode(voice.frame(index++)));
  }
}
BENCHMARK(opus_encode)->ArgsProduct({{16, 48}, {5, 9, 10}})->Unit(benchmark::kMicrosecond);

void opus_decode(benchmark::State& state) {
  media::SyntheticVoice voice;
  media::OpusEncoder encoder{{.dtx = false}};
  std::vector<media::CodedSound> coded;
  for (uint64_t i = 0; i < kFrames; ++i) {
    coded.push_back(encoder.encode(voice.frame(i)));
  }
  media::OpusDecoder decoder;
  size_t index = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(decoder.decode(coded[index++ % kFrames].data));
  }
}
BENCHMARK(opus_decode)->Unit(benchmark::kMicrosecond);

void opus_conceal(benchmark::State& state) {
  media::SyntheticVoice voice;
  media::OpusEncoder encoder{{.dtx = false}};
  media::OpusDecoder decoder;
  uint64_t index = 0;
  for ([[maybe_unused]] auto _ : state) {
    if (index % 4 == 0) {
      state.PauseTiming();
      benchmark::DoNotOptimize(decoder.decode(encoder.encode(voice.frame(index)).data));
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(decoder.conceal());
    ++index;
  }
}
BENCHMARK(opus_conceal)->Unit(benchmark::kMicrosecond);

}  // namespace
