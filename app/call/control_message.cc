#include "app/call/control_message.hh"

#include <cstddef>

namespace cress::app {
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
  for (size_t i = 0; i < 4; ++i) {
    value = value << 8U | std::to_integer<uint32_t>(bytes[at + i]);
  }
  return value;
}

}  // namespace

std::vector<std::byte> encode(const ControlMessage& message) {
  if (std::holds_alternative<KeyFrameRequest>(message)) {
    return {kKeyFrameRequest};
  }
  const auto& report = std::get<FrameReport>(message);
  std::vector<std::byte> bytes{kFrameReport};
  put(bytes, report.newest);
  put(bytes, report.before);
  return bytes;
}

std::optional<ControlMessage> parse_control_message(std::span<const std::byte> bytes) {
  if (bytes.size() == 1 && bytes[0] == kKeyFrameRequest) {
    return KeyFrameRequest{};
  }
  if (bytes.size() == kFrameReportSize && bytes[0] == kFrameReport) {
    return FrameReport{.newest = get(bytes, 1), .before = get(bytes, 5)};
  }
  return std::nullopt;
}

}  // namespace cress::app
