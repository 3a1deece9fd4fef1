#include "media/frame/frame_report.hh"

namespace cress::media {
namespace {

constexpr std::byte kKeyFrameRequest{1};
constexpr std::byte kFrameReport{2};
constexpr size_t kFrameReportSize = 9;

void put(std::vector<std::byte>& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::byte>(value >> static_cast<unsigned>(shift)));
  }
}

uint32_t get(std::span<const std::byte> bytes, size_t at) {
  uint32_t value = 0;
  for (const std::byte byte : bytes.subspan(at, 4)) {
    value = value << 8U | std::to_integer<uint32_t>(byte);
  }
  return value;
}

}  // namespace

std::vector<std::byte> build_message(KeyFrameRequest /*request*/) { return {kKeyFrameRequest}; }

std::vector<std::byte> build_message(const FrameReport& report) {
  std::vector<std::byte> bytes{kFrameReport};
  put(bytes, report.newest);
  put(bytes, report.before);
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
