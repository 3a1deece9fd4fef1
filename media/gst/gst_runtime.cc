#include "media/gst/gst_runtime.hh"

#include <gst/gst.h>

#include <stdexcept>
#include <string>

namespace cress::media {

GstRuntime::GstRuntime() {
  GError* error = nullptr;
  if (gst_init_check(nullptr, nullptr, &error) == 0) {
    const std::string reason = error != nullptr ? error->message : "no reason given";
    g_clear_error(&error);
    throw std::runtime_error("GStreamer does not start: " + reason);
  }
}

}  // namespace cress::media
