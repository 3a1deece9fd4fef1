#include "media/devices/devices.hh"

#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "media/devices/camera.hh"
#include "media/devices/device_monitor.hh"
#include "media/devices/device_test_tools.hh"
#include "media/gst/gst_runtime.hh"

namespace cress::media {
namespace {

// A provider of devices that exist only in this test, created like GStreamer's own providers.
struct FakeProvider {
  GstDeviceProvider parent;
};
struct FakeProviderClass {
  GstDeviceProviderClass parent;
};
struct FakeDevice {
  GstDevice parent;
};
struct FakeDeviceClass {
  GstDeviceClass parent;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): GStreamer makes the object
GstDeviceProvider* fake_provider = nullptr;

GType fake_device_type() {
  static const GType type = [] {
    GTypeInfo info{};
    info.class_size = sizeof(FakeDeviceClass);
    info.instance_size = sizeof(FakeDevice);
    info.class_init = +[](gpointer klass, gpointer) {
      GST_DEVICE_CLASS(klass)->create_element = +[](GstDevice*, const gchar*) {
        return gst_parse_bin_from_description("videotestsrc is-live=true", TRUE, nullptr);
      };
    };
    return g_type_register_static(GST_TYPE_DEVICE, "CressFakeDevice", &info,
                                  static_cast<GTypeFlags>(0));
  }();
  return type;
}

GstDevice* make_fake(const char* name, const char* classes, GstStructure* properties) {
  GstCaps* caps = gst_caps_from_string(
      "video/x-raw,format=YUY2,width=1280,height=720,framerate={10/1,5/1}; "
      "video/x-raw,format=YUY2,width=320,height=240,framerate=30/1");
  auto* device = GST_DEVICE(g_object_new(fake_device_type(), "display-name", name, "device-class",
                                         classes, "caps", caps, "properties", properties, nullptr));
  gst_caps_unref(caps);
  gst_structure_free(properties);
  return device;
}

GstStructure* camera_at(const char* bus) {
  return gst_structure_new("properties", "device.api", G_TYPE_STRING, "v4l2",
                           "v4l2.device.bus_info", G_TYPE_STRING, bus, nullptr);
}

GType fake_provider_type() {
  static const GType type = [] {
    GTypeInfo info{};
    info.class_size = sizeof(FakeProviderClass);
    info.instance_size = sizeof(FakeProvider);
    info.class_init = +[](gpointer klass, gpointer) {
      auto* provider = GST_DEVICE_PROVIDER_CLASS(klass);
      provider->start = +[](GstDeviceProvider* self) -> gboolean {
        fake_provider = self;
        gst_device_provider_device_add(self, make_fake("Lens", "Video/Source", camera_at("usb-1")));
        return TRUE;
      };
      provider->stop = +[](GstDeviceProvider*) { fake_provider = nullptr; };
      gst_device_provider_class_set_static_metadata(provider, "Fake", "Source/Sink/Audio/Video",
                                                    "Devices of a test", "Cress");
    };
    return g_type_register_static(GST_TYPE_DEVICE_PROVIDER, "CressFakeProvider", &info,
                                  static_cast<GTypeFlags>(0));
  }();
  return type;
}

class Devices : public ::testing::Test {
 protected:
  Devices() {
    static const bool registered =
        gst_device_provider_register(nullptr, "cressfake", GST_RANK_PRIMARY,
                                     fake_provider_type()) != 0;
    EXPECT_TRUE(registered);
  }
  static bool has(const std::vector<Device>& devices, DeviceKind kind, const std::string& id) {
    return std::ranges::any_of(devices,
                               [&](const Device& d) { return d.kind == kind && d.id == id; });
  }

  GstRuntime runtime_;
};

TEST_F(Devices, TheBuiltInOnesAreAlwaysThereAndIdsAreUniqueInTheirKind) {
  const DeviceWatch watch;
  const std::vector<Device> devices = watch.list();
  EXPECT_TRUE(has(devices, DeviceKind::kCamera, "test"));
  EXPECT_TRUE(has(devices, DeviceKind::kMicrophone, "test"));
  EXPECT_TRUE(has(devices, DeviceKind::kSpeaker, "none"));
  std::set<std::pair<DeviceKind, std::string>> ids;
  for (const Device& device : devices) {
    EXPECT_TRUE(ids.emplace(device.kind, device.id).second) << device.id;
    EXPECT_FALSE(device.name.empty());
  }
  EXPECT_TRUE(std::ranges::is_sorted(devices, {}, &Device::kind));
}

TEST_F(Devices, InitialDevicesAreListedButAreNoChange) {
  DeviceWatch watch;
  EXPECT_TRUE(has(watch.list(), DeviceKind::kCamera, "v4l2:usb-1:Lens"));
  EXPECT_FALSE(watch.poll_change());
  EXPECT_FALSE(is_readable(watch.ready_fd()));
}

TEST_F(Devices, PluggingAndUnpluggingWakesTheLoopAndChangesTheList) {
  DeviceWatch watch;
  ASSERT_NE(fake_provider, nullptr);
  GstDevice* second = make_fake("Lens", "Video/Source", camera_at("usb-1"));
  gst_object_ref_sink(second);
  gst_device_provider_device_add(fake_provider, second);
  const auto change = [&] {
    return wait_for(watch.ready_fd(), [&] { return watch.poll_change(); });
  };
  const Device expected{DeviceKind::kCamera, "v4l2:usb-1:Lens #2", "Lens"};
  EXPECT_EQ(change(), (DeviceChange{DeviceChange::Kind::kPlugged, expected}));
  EXPECT_TRUE(has(watch.list(), DeviceKind::kCamera, expected.id));
  gst_device_provider_device_remove(fake_provider, second);
  EXPECT_EQ(change(), (DeviceChange{DeviceChange::Kind::kUnplugged, expected}));
  EXPECT_FALSE(has(watch.list(), DeviceKind::kCamera, expected.id));
  EXPECT_TRUE(has(watch.list(), DeviceKind::kCamera, "v4l2:usb-1:Lens")) << "the first stays";
  EXPECT_FALSE(is_readable(watch.ready_fd()));
  gst_object_unref(second);
}

TEST_F(Devices, MonitorIsNoMicrophoneAndTheDefaultIsFirst) {
  DeviceWatch watch;
  ASSERT_NE(fake_provider, nullptr);
  const auto sound = [](const char* what, bool is_default) {
    return gst_structure_new("properties", "device.api", G_TYPE_STRING, "fake", "device.class",
                             G_TYPE_STRING, what, "is-default", G_TYPE_BOOLEAN,
                             static_cast<gboolean>(is_default), nullptr);
  };
  gst_device_provider_device_add(fake_provider,
                                 make_fake("Monitor", "Audio/Source", sound("monitor", false)));
  gst_device_provider_device_add(fake_provider,
                                 make_fake("A headset", "Audio/Source", sound("sound", false)));
  gst_device_provider_device_add(fake_provider,
                                 make_fake("The desk", "Audio/Source", sound("sound", true)));
  std::vector<std::string> names;
  for (const Device& device : watch.list()) {
    if (device.kind == DeviceKind::kMicrophone && device.id.starts_with("fake:")) {
      names.push_back(device.name);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"The desk", "A headset"}));
}

TEST_F(Devices, ACameraIsOpenedByItsIdInTheModeThatFits) {
  LiveCamera camera{{.id = "v4l2:usb-1:Lens", .size = {320, 240}, .rate = {30, 1}}, steady_clock()};
  const auto started =
      event_of(camera, DeviceEvent::Kind::kStarted, [&] { camera.poll_picture(); });
  ASSERT_TRUE(started);
  EXPECT_EQ(started->words, "The camera \"Lens\" gives 320 x 240 pictures.");
}

TEST_F(Devices, TheDefaultCameraIsFoundToo) {
  LiveCamera camera{{.id = "default", .size = {320, 240}}, steady_clock()};
  EXPECT_TRUE(event_of(camera, DeviceEvent::Kind::kStarted, [&] { camera.poll_picture(); }));
}

}  // namespace
}  // namespace cress::media
