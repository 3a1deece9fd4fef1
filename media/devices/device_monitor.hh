#pragma once

#include <string>
#include <vector>

#include "media/devices/devices.hh"
#include "media/gst/gst_handles.hh"

namespace cress::media {

/// Devices as GStreamer reports them; only for the .cc files of this folder.
struct FoundDevice {
  Device device;
  GstOwned<GstDevice> handle;
};

/// A monitor for cameras, microphones and speakers, not yet started.
GstOwned<GstDeviceMonitor> make_device_monitor();
/// GStreamer's description of a device; without an id: not usable in a call (a speaker's output
/// offered as a microphone).
Device describe_device(GstDevice* device);
/// The new last entry of `known`; null if it was already there or is not usable in a call. An id
/// that another device already has gets " #2", " #3", ...
const FoundDevice* add_device(std::vector<FoundDevice>& known, GstDevice* handle);
/// Adds all devices of a started monitor.
void add_devices(std::vector<FoundDevice>& known, GstDeviceMonitor* monitor);
/// Searches now. `id`: of a Device, or kDefaultDevice. Errors: std::runtime_error with a readable
/// message if it is missing.
FoundDevice find_device(DeviceKind kind, const std::string& id);

}  // namespace cress::media
