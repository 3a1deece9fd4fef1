#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/schemes/golden_schemes_test_tools.hh"
#include "eval/schemes/webrtc/gcc_packets.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::schemes {
namespace {

std::string read_gcc(const std::vector<std::byte>& datagram) {
  const auto packet = parse_gcc_packet(datagram);
  if (!packet) {
    return fmt::format("error {}", static_cast<int>(packet.error()));
  }
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(packet->kind),
                                 packet->media.transport_sequence, packet->media.media_sequence,
                                 packet->media.sent_again, packet->media.round_trip / 1ms,
                                 packet->media.fragment.size(), packet->padding.transport_sequence,
                                 packet->feedback.first_sequence, packet->feedback.held / 1us);
  for (const auto& arrival : packet->feedback.arrivals) {
    text += fmt::format(" {}", arrival ? (*arrival - kTimeZero) / 1us : -1);
  }
  for (const uint32_t sequence : packet->nack.media_sequences) {
    text += fmt::format(" {}", sequence);
  }
  return text;
}

TEST(GccGolden, PacketsAreReadAsRecorded) {
  const std::vector<std::byte> fragment(7, std::byte{9});
  const auto at = [](Duration time) { return std::optional{kTimeZero + time}; };
  const std::string text = golden::readings(
      {encode(GccMedia{.transport_sequence = 70'000,
                       .media_sequence = 258,
                       .sent_again = true,
                       .round_trip = 300ms,
                       .fragment = fragment}),
       encode(GccMedia{.round_trip = 70s, .fragment = fragment}),
       encode(GccPadding{65'537}, DataSize{9}), encode(GccPadding{2}, kGccPaddingHeader),
       encode(GccFeedback{.first_sequence = 600,
                          .arrivals = {at(3ms), std::nullopt, at(2ms), at(16s)},
                          .held = 5ms}),
       encode(GccFeedback{
           .first_sequence = 1, .arrivals = std::vector(kGccFeedbackMax, at(1ms)), .held = 5000s}),
       encode(GccNack{{1, 300, 70'000}}), encode(GccNack{std::vector<uint32_t>(kGccNackMax, 7)}),
       encode(GccKeyFrameRequest{})},
      read_gcc);
  expect_golden("packets", text);
}

TEST(GccGolden, CallsAreAsRecorded) {
  constexpr std::array<std::string_view, 2> kNames{"gcc", "gcc-draft"};
  golden::expect_calls("calls", kNames, 8s);
}

}  // namespace
}  // namespace cress::schemes
