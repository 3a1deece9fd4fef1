#pragma once

#include <string>
#include <vector>

#include "media/devices/devices.hh"
#include "media/gst/gst_handles.hh"

namespace cress::media {

/// Devices as GStreamer has them; only for the .cc files of this folder.
struct FoundDevice {
  Device device;
  GstOwned<GstDevice> handle;
};

/// A monitor for cameras, microphones and speakers, not started.
GstOwned<GstDeviceMonitor> make_device_monitor();
/// What GStreamer tells of a device; no id: nothing for a call (the sound that a speaker plays,
/// offered as a microphone).
Device describe_device(GstDevice* device);
/// The new last of `known`; null when it was there already or is nothing for a call. An id that
/// another device has already gets " #2", " #3", ...
const FoundDevice* add_device(std::vector<FoundDevice>& known, GstDevice* handle);
/// All of a started monitor.
void add_devices(std::vector<FoundDevice>& known, GstDeviceMonitor* monitor);
/// Looks now. `id`: of a Device, or kDefaultDevice. Errors: std::runtime_error with words for
/// people when it is not there.
FoundDevice find_device(DeviceKind kind, const std::string& id);

}  // namespace cress::media
