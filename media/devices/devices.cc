#include "media/devices/devices.hh"

#include <algorithm>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "media/devices/device_monitor.hh"
#include "media/devices/device_outbox.hh"
#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::media {
namespace {

constexpr const char* kCameraClass = "Video/Source";
constexpr const char* kMicrophoneClass = "Audio/Source";
constexpr const char* kSpeakerClass = "Audio/Sink";

std::string take_text(gchar* text) {
  const GstOwned<gchar> owned{text};
  return owned == nullptr ? std::string{} : std::string{owned.get()};
}

std::string text_in(const GstStructure* properties, const char* key) {
  const gchar* text = properties == nullptr ? nullptr : gst_structure_get_string(properties, key);
  return text == nullptr ? std::string{} : std::string{text};
}

bool is_set(const GstStructure* properties, const char* key) {
  gboolean value = 0;
  return properties != nullptr && gst_structure_get_boolean(properties, key, &value) != 0 &&
         value != 0;
}

// The name that PulseAudio, PipeWire and ALSA use themselves.
std::string internal_name(GstDevice* device) {
  constexpr const char* kProperty = "internal-name";
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(device), kProperty) == nullptr) {
    return {};
  }
  gchar* text = nullptr;
  g_object_get(device, kProperty, &text, nullptr);
  return take_text(text);
}

// "v4l2", "pulse", "alsa", "pipewire".
std::string api_of(GstDevice* device, const GstStructure* properties) {
  const std::string told = text_in(properties, "device.api");
  std::string api = told.empty() ? G_OBJECT_TYPE_NAME(device) : told;  // "GstPulseDevice"
  for (const std::string& word : {std::string{"Gst"}, std::string{"Device"}}) {
    if (const size_t at = api.find(word); at != std::string::npos) {
      api.erase(at, word.size());
    }
  }
  std::ranges::transform(api, api.begin(), [](char c) { return g_ascii_tolower(c); });
  return api;
}

// The same after a restart and at the same port: /dev/video0 is not, the bus and the card are.
std::string id_of(GstDevice* device, const GstStructure* properties, const std::string& name) {
  const std::string api = api_of(device, properties);
  if (std::string own = internal_name(device); !own.empty()) {
    return api + ":" + own;
  }
  if (std::string node = text_in(properties, "node.name"); !node.empty()) {
    return api + ":" + node;
  }
  const std::string bus = text_in(properties, "v4l2.device.bus_info");
  return bus.empty() ? api + ":" + name : api + ":" + bus + ":" + name;
}

int rank_of(const Device& device) { return device.is_default ? 0 : 1; }

bool is_listed_before(const Device& a, const Device& b) {
  return std::tuple{a.kind, rank_of(a), a.name, a.id} <
         std::tuple{b.kind, rank_of(b), b.name, b.id};
}

const char* word_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCamera:
    case DeviceKind::kScreen:
      return "camera";
    case DeviceKind::kMicrophone:
      return "microphone";
    case DeviceKind::kSpeaker:
      return "speaker";
  }
  return "device";
}

}  // namespace

bool is_screen(const std::string& id) { return id == kScreenDevice || id == kPortalDevice; }

std::vector<Device> builtin_devices() {
  std::vector<Device> devices{{DeviceKind::kCamera, kTestDevice, "Test picture"}};
  if (has_element("ximagesrc")) {
    devices.push_back({DeviceKind::kScreen, kScreenDevice, "Whole screen"});
  }
  if (has_element("pipewiresrc")) {
    devices.push_back({DeviceKind::kScreen, kPortalDevice, "A screen or window"});
  }
  devices.push_back({DeviceKind::kMicrophone, kTestDevice, "Test tone"});
  devices.push_back({DeviceKind::kSpeaker, kNoSpeaker, "No speaker"});
  return devices;
}

namespace {

// PipeWire's provider (0.3.65) sometimes frees a device twice when a watch ends. Its cameras are
// also listed by V4L2 and, as PipeWire implements PulseAudio, its audio devices by that provider.
void leave_out_pipewire() {
  if (GstDeviceProviderFactory* const factory =
          gst_device_provider_factory_find("pipewiredeviceprovider")) {
    gst_plugin_feature_set_rank(GST_PLUGIN_FEATURE(factory), GST_RANK_NONE);
    gst_object_unref(factory);
  }
}

}  // namespace

GstOwned<GstDeviceMonitor> make_device_monitor() {
  check(gst_is_initialized() != 0, "DeviceWatch: make a GstRuntime first");
  leave_out_pipewire();
  GstOwned<GstDeviceMonitor> monitor{gst_device_monitor_new()};
  for (const char* classes : {kCameraClass, kMicrophoneClass, kSpeakerClass}) {
    gst_device_monitor_add_filter(monitor.get(), classes, nullptr);
  }
  return monitor;
}

Device describe_device(GstDevice* device) {
  Device described;
  if (gst_device_has_classes(device, kCameraClass) != 0) {
    described.kind = DeviceKind::kCamera;
  } else if (gst_device_has_classes(device, kMicrophoneClass) != 0) {
    described.kind = DeviceKind::kMicrophone;
  } else {
    described.kind = DeviceKind::kSpeaker;
  }
  const GstOwned<GstStructure> properties{gst_device_get_properties(device)};
  if (described.kind == DeviceKind::kMicrophone &&
      text_in(properties.get(), "device.class") == "monitor") {
    return described;
  }
  described.name = take_text(gst_device_get_display_name(device));
  described.id = id_of(device, properties.get(), described.name);
  described.is_default = is_set(properties.get(), "is-default");
  return described;
}

const FoundDevice* add_device(std::vector<FoundDevice>& known, GstDevice* handle) {
  Device device = describe_device(handle);
  const auto is_same = [&](const FoundDevice& other) { return other.handle.get() == handle; };
  if (device.id.empty() || std::ranges::any_of(known, is_same)) {
    return nullptr;
  }
  const std::string first = device.id;
  const auto is_taken = [&](const FoundDevice& other) {
    return other.device.kind == device.kind && other.device.id == device.id;
  };
  for (int number = 2; std::ranges::any_of(known, is_taken); ++number) {
    device.id = first + " #" + std::to_string(number);
  }
  gst_object_ref(handle);
  known.push_back({std::move(device), GstOwned<GstDevice>{handle}});
  return &known.back();
}

void add_devices(std::vector<FoundDevice>& known, GstDeviceMonitor* monitor) {
  GList* list = gst_device_monitor_get_devices(monitor);
  for (GList* i = list; i != nullptr; i = i->next) {
    const GstOwned<GstDevice> handle{GST_DEVICE(i->data)};
    add_device(known, handle.get());
  }
  g_list_free(list);
}

FoundDevice find_device(DeviceKind kind, const std::string& id) {
  const GstOwned<GstDeviceMonitor> monitor = make_device_monitor();
  std::vector<FoundDevice> found;
  // Without any provider of devices it does not start, and then there are none.
  if (gst_device_monitor_start(monitor.get()) != 0) {
    add_devices(found, monitor.get());
    gst_device_monitor_stop(monitor.get());
  }
  std::erase_if(found, [&](const FoundDevice& one) { return one.device.kind != kind; });
  const std::string what = word_of(kind);
  if (found.empty()) {
    throw std::runtime_error("this machine has no " + what);
  }
  const auto chosen =
      id == kDefaultDevice
          ? std::ranges::min_element(found, {},
                                     [](const FoundDevice& one) { return rank_of(one.device); })
          : std::ranges::find(found, id, [](const FoundDevice& one) { return one.device.id; });
  if (chosen == found.end()) {
    throw std::runtime_error("no such " + what + " is plugged in");
  }
  return std::move(*chosen);
}

/// Threads: `devices_` and the outbox are shared with GStreamer's threads, under locks.
class DeviceWatch::Monitor {
 public:
  Monitor() : monitor_(make_device_monitor()), changes_(kChangesMax) {
    const GstOwned<GstBus> bus{gst_device_monitor_get_bus(monitor_.get())};
    gst_bus_set_sync_handler(bus.get(), &Monitor::take_message, this, nullptr);
    // Without any provider of devices it does not start; then there are just the built-in ones.
    started_ = gst_device_monitor_start(monitor_.get()) != 0;
    const std::scoped_lock lock{mutex_};
    if (started_) {
      add_devices(devices_, monitor_.get());
    }
    changes_.forget_items();  // devices present from the beginning are not changes
  }
  ~Monitor() {
    if (started_) {
      gst_device_monitor_stop(monitor_.get());
    }
    const GstOwned<GstBus> bus{gst_device_monitor_get_bus(monitor_.get())};
    gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
  }

  std::vector<Device> list() const {
    std::vector<Device> devices;
    {
      const std::scoped_lock lock{mutex_};
      for (const FoundDevice& found : devices_) {
        devices.push_back(found.device);
      }
    }
    std::ranges::sort(devices, is_listed_before);
    for (const Device& device : builtin_devices()) {
      const auto behind = std::ranges::upper_bound(
          devices, device, [](const Device& a, const Device& b) { return a.kind < b.kind; });
      devices.insert(behind, device);
    }
    return devices;
  }
  DeviceOutbox<DeviceChange>& changes() { return changes_; }

 private:
  void handle_plugged(GstDevice* handle) {
    const std::scoped_lock lock{mutex_};
    if (const FoundDevice* added = add_device(devices_, handle)) {
      changes_.put({DeviceChange::Kind::kPlugged, added->device});
    }
  }
  void handle_unplugged(GstDevice* handle) {
    const std::scoped_lock lock{mutex_};
    const auto gone = std::ranges::find(
        devices_, handle, [](const FoundDevice& known) { return known.handle.get(); });
    if (gone != devices_.end()) {
      changes_.put({DeviceChange::Kind::kUnplugged, gone->device});
      devices_.erase(gone);
    }
  }

  static GstBusSyncReply take_message(GstBus*, GstMessage* raw, gpointer self) {
    const GstOwned<GstMessage> message{raw};
    auto* monitor = static_cast<Monitor*>(self);
    GstDevice* device = nullptr;
    if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_DEVICE_ADDED) {
      gst_message_parse_device_added(message.get(), &device);
      const GstOwned<GstDevice> owned{device};
      monitor->handle_plugged(device);
    } else if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_DEVICE_REMOVED) {
      gst_message_parse_device_removed(message.get(), &device);
      const GstOwned<GstDevice> owned{device};
      monitor->handle_unplugged(device);
    }
    return GST_BUS_DROP;
  }

  GstOwned<GstDeviceMonitor> monitor_;
  bool started_ = false;
  mutable std::mutex mutex_;
  std::vector<FoundDevice> devices_;  // without the built-in ones
  DeviceOutbox<DeviceChange> changes_;
};

DeviceWatch::DeviceWatch() : monitor_(std::make_unique<Monitor>()) {}
DeviceWatch::~DeviceWatch() = default;

std::vector<Device> DeviceWatch::list() const { return monitor_->list(); }
int DeviceWatch::ready_fd() const { return monitor_->changes().fd(); }
std::optional<DeviceChange> DeviceWatch::poll_change() { return monitor_->changes().take(); }

}  // namespace cress::media
