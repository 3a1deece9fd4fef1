#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "eval/schemes/golden_schemes_test_tools.hh"
#include "eval/schemes/tcp/tcp_segment.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::schemes {
namespace {

std::string read_tcp(const std::vector<std::byte>& datagram) {
  const auto segment = parse_tcp_segment(datagram);
  if (!segment) {
    return fmt::format("error {}", static_cast<int>(segment.error()));
  }
  std::string text = fmt::format("{} {} {} {} {} {}", segment->sequence, segment->payload.bytes(),
                                 segment->acknowledgement, segment->window.bytes(),
                                 (segment->timestamp - kTimeZero) / 1us,
                                 segment->echo ? (*segment->echo - kTimeZero) / 1us : -1);
  for (const TcpRange& range : segment->sacks) {
    text += fmt::format(" {}-{}", range.begin, range.end);
  }
  return text;
}

TEST(TcpGolden, SegmentsAreReadAsRecorded) {
  const std::string text = golden::readings(
      {encode(
           TcpSegment{.sequence = 70'000, .payload = kTcpPayloadMax, .timestamp = kTimeZero + 1s}),
       encode(TcpSegment{.acknowledgement = 1 << 20,
                         .window = DataSize{100'000},
                         .timestamp = kTimeZero + 2s,
                         .echo = kTimeZero + 1s,
                         .sacks = {{1 << 21, 1 << 22}, {5 << 20, 6 << 20}}})},
      read_tcp);
  expect_golden("segments", text);
}

TEST(TcpGolden, FlowsAreAsRecorded) {
  constexpr std::array<std::string_view, 2> kNames{"reno", "cubic"};
  expect_golden("flows", golden::flows(kNames, 15s));
}

}  // namespace
}  // namespace cress::schemes
