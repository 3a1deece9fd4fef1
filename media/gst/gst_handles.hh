#pragma once

#include <gst/gst.h>

#include <memory>
#include <string>

#include "transport/base/time.hh"

namespace cress::media {

/// RAII owners of GStreamer's reference counts; only for the .cc files of this folder.
struct GstRelease {
  void operator()(GstObject* object) const { gst_object_unref(object); }
  void operator()(GstElement* element) const { gst_object_unref(element); }
  void operator()(GstBus* bus) const { gst_object_unref(bus); }
  void operator()(GstPad* pad) const { gst_object_unref(pad); }
  void operator()(GstClock* clock) const { gst_object_unref(clock); }
  void operator()(GstDevice* device) const { gst_object_unref(device); }
  void operator()(GstDeviceMonitor* monitor) const { gst_object_unref(monitor); }
  void operator()(GstElementFactory* factory) const { gst_object_unref(factory); }
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
  void operator()(GstMessage* message) const { gst_message_unref(message); }
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
  void operator()(GstStructure* structure) const { gst_structure_free(structure); }
  void operator()(gchar* text) const { g_free(text); }
};
template <class T>
using GstOwned = std::unique_ptr<T, GstRelease>;

/// Stops the pipeline before releasing it.
struct GstStopAndRelease {
  void operator()(GstElement* pipeline) const {
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
};
using GstPipelinePtr = std::unique_ptr<GstElement, GstStopAndRelease>;

/// Frees the error and returns its message in one line.
std::string take_words(GError* error);

/// A pipeline from its description. Errors: std::runtime_error with GStreamer's reason.
GstPipelinePtr parse_pipeline(const std::string& description);
/// Null if there is no element of this name.
GstOwned<GstElement> element_of(GstElement* pipeline, const char* name);
/// Whether an element of this kind can be created here.
bool has_element(const char* factory);
bool has_property(GstElement* element, const char* property);

/// Makes the pipeline use the system's steady clock, so that the times of several pipelines (a
/// microphone and its speaker) are comparable.
void use_system_time(GstElement* pipeline);
/// The current running time of the pipeline that contains `element`; zero before it has a clock.
Duration running_now(GstElement* element);
/// The age of the sample's start, in 0..1 s.
Duration age_of(GstElement* element, GstSample* sample);

}  // namespace cress::media
