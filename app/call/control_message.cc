#include "app/call/control_message.hh"

#include <algorithm>
#include <cstddef>

#include "transport/base/big_endian.hh"
#include "transport/base/clean_text.hh"

namespace cress::app {
namespace {

// 1 and 2 are media's: feedback from a receiver of video.
constexpr std::byte kPersonState{3};
constexpr std::byte kLinkReport{4};
constexpr std::byte kChatLine{5};
constexpr size_t kLinkReportSize = 9;
constexpr size_t kChatHead = 5;
constexpr double kLossUnit = 1000;
// Flags of a PersonState.
constexpr uint32_t kMuted = 1;
constexpr uint32_t kCameraOff = 2;
constexpr uint32_t kSharesScreen = 4;

void append_text(std::string_view text, std::vector<std::byte>& out) {
  const auto bytes = std::as_bytes(std::span{text});
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), '\0');
  std::ranges::transform(bytes, text.begin(), [](std::byte b) { return static_cast<char>(b); });
  return text;
}

}  // namespace

std::vector<std::byte> encode(const ControlMessage& message) {
  if (const auto* request = std::get_if<KeyFrameRequest>(&message)) {
    return media::build_message(*request);
  }
  if (const auto* report = std::get_if<FrameReport>(&message)) {
    return media::build_message(*report);
  }
  if (const auto* person = std::get_if<PersonState>(&message)) {
    const uint32_t flags = (person->muted ? kMuted : 0) | (person->camera_off ? kCameraOff : 0) |
                           (person->shares_screen ? kSharesScreen : 0);
    std::vector<std::byte> bytes{kPersonState, static_cast<std::byte>(flags)};
    append_text(clean_name(person->name), bytes);
    return bytes;
  }
  if (const auto* line = std::get_if<ChatLine>(&message)) {
    std::vector<std::byte> bytes{kChatLine};
    append_number(line->serial, 4, bytes);
    append_text(clean_line(line->text), bytes);
    return bytes;
  }
  const auto& link = std::get<LinkReport>(message);
  std::vector<std::byte> bytes{kLinkReport};
  append_number(static_cast<uint32_t>(std::clamp(link.forecast.kilobits_per_second(), 0.0, 4e9)), 4,
                bytes);
  append_number(static_cast<uint32_t>(std::clamp(link.loss, 0.0, 1.0) * kLossUnit), 4, bytes);
  return bytes;
}

std::optional<ControlMessage> parse_control_message(std::span<const std::byte> bytes) {
  if (const auto request = media::parse_key_frame_request(bytes)) {
    return *request;
  }
  if (const auto report = media::parse_frame_report(bytes)) {
    return *report;
  }
  if (bytes.size() == kLinkReportSize && bytes[0] == kLinkReport) {
    return LinkReport{
        .forecast = DataRate::kilobits_per_second(static_cast<int64_t>(number_at(bytes, 1, 4))),
        .loss = std::min(static_cast<double>(number_at(bytes, 5, 4)) / kLossUnit, 1.0)};
  }
  if (bytes.size() >= 2 && bytes.size() <= 2 + kPersonNameMax && bytes[0] == kPersonState) {
    const auto flags = std::to_integer<uint32_t>(bytes[1]);
    return PersonState{.name = clean_name(text_of(bytes.subspan(2))),
                       .muted = (flags & kMuted) != 0,
                       .camera_off = (flags & kCameraOff) != 0,
                       .shares_screen = (flags & kSharesScreen) != 0};
  }
  if (bytes.size() > kChatHead && bytes.size() <= kChatHead + kChatLineMax &&
      bytes[0] == kChatLine) {
    ChatLine line{.serial = static_cast<uint32_t>(number_at(bytes, 1, 4)),
                  .text = clean_line(text_of(bytes.subspan(kChatHead)))};
    return line.text.empty() ? std::nullopt : std::optional<ControlMessage>{std::move(line)};
  }
  return std::nullopt;
}

std::string clean_name(std::string_view name) { return clean_text(name, kPersonNameMax); }

}  // namespace cress::app
