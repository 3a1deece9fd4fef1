#pragma once

#include <string>
#include <string_view>

namespace cress::media {

/// The parsed id of a live device; only for the .cc files of this folder.
struct DeviceId {
  enum class Kind { kReal, kTest, kScreen, kPortal, kNone, kFile, kPipeline };
  Kind kind = Kind::kReal;
  /// The device's id, the file's path or the pipeline's description.
  std::string rest;
};
DeviceId parse_device_id(const std::string& id);

/// Errors: std::runtime_error "PATH: what; what to do" if the file is missing or empty.
void require_file(const std::string& path);

}  // namespace cress::media
