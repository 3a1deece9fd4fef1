#include "media/gst/gst_handles.hh"

#include <algorithm>
#include <stdexcept>

#include "transport/base/text.hh"

namespace cress::media {

std::string take_words(GError* error) {
  const std::string words = error != nullptr ? error->message : "no reason given";
  g_clear_error(&error);
  return one_line(words);
}

GstPipelinePtr parse_pipeline(const std::string& description) {
  GError* error = nullptr;
  GstPipelinePtr pipeline{gst_parse_launch(description.c_str(), &error)};
  if (error != nullptr || pipeline == nullptr) {
    throw std::runtime_error("GStreamer cannot build it: " + take_words(error));
  }
  return pipeline;
}

GstOwned<GstElement> element_of(GstElement* pipeline, const char* name) {
  return GstOwned<GstElement>{gst_bin_get_by_name(GST_BIN(pipeline), name)};
}

bool has_element(const char* factory) {
  return GstOwned<GstElementFactory>{gst_element_factory_find(factory)} != nullptr;
}

bool has_property(GstElement* element, const char* property) {
  return g_object_class_find_property(G_OBJECT_GET_CLASS(element), property) != nullptr;
}

void use_system_time(GstElement* pipeline) {
  const GstOwned<GstClock> clock{gst_system_clock_obtain()};
  gst_pipeline_use_clock(GST_PIPELINE(pipeline), clock.get());
  gst_element_set_start_time(pipeline, GST_CLOCK_TIME_NONE);
  gst_element_set_base_time(pipeline, 0);
}

Duration running_now(GstElement* element) {
  const GstOwned<GstClock> clock{gst_element_get_clock(element)};
  if (clock == nullptr) {
    return {};
  }
  return Duration{static_cast<int64_t>(gst_clock_get_time(clock.get())) -
                  static_cast<int64_t>(gst_element_get_base_time(element))};
}

Duration age_of(GstElement* element, GstSample* sample) {
  const GstClockTime pts = GST_BUFFER_PTS(gst_sample_get_buffer(sample));
  const GstClockTime at =
      gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME, pts);
  if (!GST_CLOCK_TIME_IS_VALID(pts) || !GST_CLOCK_TIME_IS_VALID(at)) {
    return {};
  }
  const Duration age = running_now(element) - Duration{static_cast<int64_t>(at)};
  return std::clamp<Duration>(age, 0ms, 1s);
}

}  // namespace cress::media
