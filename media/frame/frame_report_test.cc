#include "media/frame/frame_report.hh"

#include <gtest/gtest.h>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

std::vector<std::byte> bytes_of(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (const int value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

TEST(FrameReport, HasTheDocumentedLayout) {
  EXPECT_EQ(build_message(FrameReport{.newest = 0x01020304, .before = 0x80000001}),
            bytes_of({2, 1, 2, 3, 4, 0x80, 0, 0, 1}));
  EXPECT_EQ(build_message(KeyFrameRequest{}), bytes_of({1}));
}

TEST(FrameReport, ParseReturnsWhatWasBuiltAndRefusesOtherShapes) {
  Rng rng{1};
  for (int round = 0; round < 1000; ++round) {
    const FrameReport report{.newest = static_cast<uint32_t>(rng.next()),
                             .before = static_cast<uint32_t>(rng.next())};
    auto bytes = build_message(report);
    EXPECT_EQ(parse_frame_report(bytes), report);
    EXPECT_FALSE(parse_key_frame_request(bytes));
    bytes.push_back({});
    EXPECT_FALSE(parse_frame_report(bytes));
    bytes.resize(rng.below(9));
    EXPECT_FALSE(parse_frame_report(bytes));
  }
  EXPECT_TRUE(parse_key_frame_request(build_message(KeyFrameRequest{})));
  EXPECT_FALSE(parse_key_frame_request(bytes_of({1, 1})));
  EXPECT_FALSE(parse_key_frame_request(bytes_of({2})));
  EXPECT_FALSE(parse_key_frame_request({}));
  EXPECT_FALSE(parse_frame_report(bytes_of({3, 1, 2, 3, 4, 5, 6, 7, 8})));
}

}  // namespace
}  // namespace cress::media
