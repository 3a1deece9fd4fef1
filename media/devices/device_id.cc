#include "media/devices/device_id.hh"

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "media/devices/devices.hh"

namespace cress::media {

DeviceId parse_device_id(const std::string& id) {
  using Kind = DeviceId::Kind;
  constexpr std::string_view kFile = "file:";
  constexpr std::string_view kPipeline = "gst:";
  if (id == kTestDevice) {
    return {Kind::kTest, {}};
  }
  if (id == kScreenDevice) {
    return {Kind::kScreen, {}};
  }
  if (id == kPortalDevice) {
    return {Kind::kPortal, {}};
  }
  if (id == kNoSpeaker) {
    return {Kind::kNone, {}};
  }
  if (id.starts_with(kFile)) {
    return {Kind::kFile, id.substr(kFile.size())};
  }
  if (id.starts_with(kPipeline)) {
    return {Kind::kPipeline, id.substr(kPipeline.size())};
  }
  return {Kind::kReal, id};
}

void require_file(const std::string& path) {
  std::error_code trouble;
  const auto size = std::filesystem::file_size(path, trouble);
  if (trouble) {
    throw std::runtime_error(path + ": cannot be opened: " + trouble.message());
  }
  if (size == 0) {
    throw std::runtime_error(path + ": is empty; record or copy it again");
  }
}

}  // namespace cress::media
