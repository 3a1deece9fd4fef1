#include "media/devices/echo_probe.hh"

#include <atomic>

#include "media/gst/gst_handles.hh"
#include "transport/base/check.hh"

namespace cress::media {

struct EchoProbe::Parts {
  GstOwned<GstElement> element;
  std::string name;
  std::atomic<const void*> listener = nullptr;
};

EchoProbe::EchoProbe() : parts_(std::make_unique<Parts>()) {
  // Without a name it gets a unique one, by which the processor finds it.
  GstElement* element = gst_element_factory_make("webrtcechoprobe", nullptr);
  check(element != nullptr, "EchoProbe: no webrtcechoprobe");
  parts_->element.reset(GST_ELEMENT(gst_object_ref_sink(element)));
  parts_->name = GstOwned<gchar>{gst_element_get_name(element)}.get();
}
EchoProbe::~EchoProbe() = default;

const std::string& EchoProbe::name() const { return parts_->name; }
void* EchoProbe::element() const { return parts_->element.get(); }

bool EchoProbe::claim(const void* listener) {
  const void* before = nullptr;
  return parts_->listener.compare_exchange_strong(before, listener) || before == listener;
}

void EchoProbe::release(const void* listener) {
  const void* before = listener;
  parts_->listener.compare_exchange_strong(before, nullptr);
}

}  // namespace cress::media
