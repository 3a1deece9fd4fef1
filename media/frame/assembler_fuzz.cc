#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "media/frame/assembler.hh"
#include "transport/base/check.hh"

// The input is a list of messages, each after its length in one byte. Whatever they contain, the
// assembler stays within its bounds and returns only frames of the length in their header, which
// can be cut again, with parity, and reassembled with fragments lost.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cress::check;
  namespace media = cress::media;
  const media::AssemblerOptions options{
      .frames_max = 4, .bytes_max = media::kEncodedFrameMax, .age_max = cress::Duration{100}};
  media::Assembler assembler{options};
  std::span<const std::byte> rest = std::as_bytes(std::span{data, size});
  cress::TimePoint now{};
  while (!rest.empty()) {
    const size_t length = std::to_integer<size_t>(rest[0]);
    rest = rest.subspan(1);
    const std::span<const std::byte> message =
        rest.first(length < rest.size() ? length : rest.size());
    rest = rest.subspan(message.size());
    now += cress::Duration{static_cast<int64_t>(length)};
    const auto result = assembler.handle_fragment(now, message);
    check(assembler.incomplete_frames() <= options.frames_max, "too many frames held");
    check(assembler.incomplete_bytes() <= options.bytes_max, "too many bytes held");
    if (result && result->has_value()) {
      const media::EncodedFrame& frame = **result;
      check(frame.size() == media::parse_fragment(message)->header.frame_size, "a wrong length");
      media::Assembler again;
      std::optional<media::EncodedFrame> copy;
      const auto parity = static_cast<int>(frame.data.size() % 5);
      const auto pieces = media::fragment(frame, cress::DataSize{200}, parity);
      const size_t parts = media::parse_fragment(pieces[0])->header.count;
      for (size_t i = pieces.size() - parts; i < pieces.size(); ++i) {  // as many lost as parity
        check(!copy, "a frame came out before its last fragment");
        copy = again.handle_fragment(cress::kTimeZero, pieces[i]).value();
      }
      check(copy == frame, "a frame changed on the way");
    }
  }
  return 0;
}
