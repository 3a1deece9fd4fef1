#include <cstddef>
#include <cstdint>
#include <span>

#include "media/codec/opus_decoder.hh"
#include "transport/base/check.hh"

// The input is a list of packets: the action in one byte, the length in two (high first), the
// bytes. libopus itself is not instrumented here; the test watches its effect on our memory and our
// own parsing of packets.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace media = cress::media;
  media::OpusDecoder decoder;
  std::span<const std::byte> rest = std::as_bytes(std::span{data, size});
  while (rest.size() >= 3) {
    const auto act = std::to_integer<unsigned>(rest[0]) % 4;
    const size_t length = std::to_integer<size_t>(rest[1]) << 8U | std::to_integer<size_t>(rest[2]);
    rest = rest.subspan(3);
    const auto packet = rest.first(length < rest.size() ? length : rest.size());
    rest = rest.subspan(packet.size());
    const auto info = media::inspect_opus(packet);
    if (act == 0) {
      const auto decoded = decoder.decode(packet);
      cress::check(!decoded || info, "decoded what is no packet");
    } else if (act == 1) {
      const auto decoded = decoder.decode_fec(packet);
      cress::check(!decoded || info->has_fec, "decoded a copy that is not there");
    } else if (act == 2) {
      decoder.conceal();
    } else {
      decoder.reset();
    }
  }
  return 0;
}
