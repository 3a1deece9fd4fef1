#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "media/frame/assembler.hh"
#include "media/frame/fragment.hh"
#include "media/frame/parity.hh"
#include "transport/base/rng.hh"

namespace {

using namespace cress;
using Messages = std::vector<std::vector<std::byte>>;

media::EncodedFrame random_frame(int64_t bytes) {
  Rng rng{1};
  media::EncodedFrame frame{.key_frame = true,
                            .data = std::vector<std::byte>(static_cast<size_t>(bytes))};
  for (std::byte& b : frame.data) {
    b = static_cast<std::byte>(rng.next());
  }
  return frame;
}

// Message sizes: a datagram's for a frame as a call sends it, and the one that cuts the largest
// frame into 127 fragments, the worst case.
constexpr DataSize kMessage{1150};
constexpr DataSize kLargeMessage{8300};

// To cut a frame of range(0) bytes, with range(1) parity fragments.
void fragment_with_parity(benchmark::State& state) {
  const media::EncodedFrame frame = random_frame(state.range(0));
  const DataSize message_max = state.range(0) > 100'000 ? kLargeMessage : kMessage;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(media::fragment(frame, message_max, static_cast<int>(state.range(1))));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(fragment_with_parity)
    ->ArgsProduct({{20'000}, {0, 1, 2, 4, 8}})
    ->Args({1 << 20, 127})
    ->Unit(benchmark::kMicrosecond);

// To reassemble it, with the first range(1) fragments lost.
void assemble_with_parity(benchmark::State& state) {
  const media::EncodedFrame frame = random_frame(state.range(0));
  const DataSize message_max = state.range(0) > 100'000 ? kLargeMessage : kMessage;
  const Messages messages = media::fragment(frame, message_max, static_cast<int>(state.range(1)));
  for ([[maybe_unused]] auto _ : state) {
    media::Assembler assembler;
    for (size_t i = static_cast<size_t>(state.range(1)); i < messages.size(); ++i) {
      benchmark::DoNotOptimize(assembler.handle_fragment(kTimeZero, messages[i]));
    }
    if (assembler.stats().frames_completed != 1) {
      state.SkipWithError("the frame did not come out");
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(assemble_with_parity)
    ->ArgsProduct({{20'000}, {0, 1, 2, 4, 8}})
    ->Args({1 << 20, 127})
    ->Unit(benchmark::kMicrosecond);

void choose_parity(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    int fragments = 18;
    benchmark::DoNotOptimize(fragments);
    benchmark::DoNotOptimize(media::parity_for(fragments, 0.05));
  }
}
BENCHMARK(choose_parity);

}  // namespace
