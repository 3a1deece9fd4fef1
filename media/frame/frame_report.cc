#include "media/frame/frame_report.hh"

#include "transport/base/big_endian.hh"

namespace cress::media {
namespace {

constexpr std::byte kKeyFrameRequest{1};
constexpr std::byte kFrameReport{2};
constexpr size_t kFrameReportSize = 9;

uint32_t get(std::span<const std::byte> bytes, size_t at) {
  return static_cast<uint32_t>(number_at(bytes, at, 4));
}

}  // namespace

std::vector<std::byte> build_message(KeyFrameRequest /*request*/) { return {kKeyFrameRequest}; }

std::vector<std::byte> build_message(const FrameReport& report) {
  std::vector<std::byte> bytes{kFrameReport};
  append_number(report.newest, 4, bytes);
  append_number(report.before, 4, bytes);
  return bytes;
}

std::optional<KeyFrameRequest> parse_key_frame_request(std::span<const std::byte> bytes) {
  return bytes.size() == 1 && bytes[0] == kKeyFrameRequest ? std::optional{KeyFrameRequest{}}
                                                           : std::nullopt;
}

std::optional<FrameReport> parse_frame_report(std::span<const std::byte> bytes) {
  if (bytes.size() != kFrameReportSize || bytes[0] != kFrameReport) {
    return std::nullopt;
  }
  return FrameReport{.newest = get(bytes, 1), .before = get(bytes, 5)};
}

}  // namespace cress::media
