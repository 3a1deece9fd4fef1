#include "media/gst/gst_runtime.hh"

#include <gst/gst.h>

#include <stdexcept>
#include <string>

#include "transport/base/leak_check.hh"

#ifdef CRESS_LEAK_CHECK
// GLib drops its first table of quarks (16 KiB) on purpose when it grows, because other threads may
// still read it. Its stack is cut short at g_malloc, so a narrower pattern finds nothing.
// fontconfig, which writes the test picture's clock, keeps its configuration to the end; a bare
// pipeline "videotestsrc ! timeoverlay ! fakesink" leaks the same 288 bytes.
// GStreamer's PulseAudio provider (1.22), asked for its devices, forgets its connection where no
// server answers; nothing but gst_device_provider_get_devices is needed to see it.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): LeakSanitizer's name
extern "C" const char* __lsan_default_suppressions() {
  return "leak:g_malloc\nleak:libfontconfig.so\nleak:pa_xmalloc\n";
}
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): likewise
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
#endif

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
