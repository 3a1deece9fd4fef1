#include "media/devices/camera_modes.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

double per_second(FrameRate rate) {
  return static_cast<double>(rate.numerator) / static_cast<double>(rate.denominator);
}

// In doublings, because both rates and sizes are perceived logarithmically.
double cost_of(const CameraMode& mode, PictureSize wanted, FrameRate rate) {
  constexpr double kTooSlow = 3;
  constexpr double kTooFast = 0.1;
  constexpr double kTooSmall = 3;
  constexpr double kTooLarge = 0.3;
  constexpr double kJpeg = 0.2;
  const double speed = std::log2(per_second(mode.rate) / per_second(rate));
  const double scale = std::log2(std::min(static_cast<double>(mode.size.width) / wanted.width,
                                          static_cast<double>(mode.size.height) / wanted.height));
  // A rate of 29.97 for a wanted 30 costs nothing worth a change of mode.
  return (speed < 0 ? -speed * kTooSlow : speed * kTooFast) +
         (scale < 0 ? -scale * kTooSmall : scale * kTooLarge) + (mode.is_jpeg ? kJpeg : 0.0);
}

int clamped(const GValue* value, int wanted) {
  if (value == nullptr) {
    return 0;
  }
  if (G_VALUE_HOLDS_INT(value)) {
    return g_value_get_int(value);
  }
  if (GST_VALUE_HOLDS_INT_RANGE(value)) {
    return std::clamp(wanted, gst_value_get_int_range_min(value),
                      gst_value_get_int_range_max(value));
  }
  return 0;
}

FrameRate rate_in(const GstStructure* structure, FrameRate wanted) {
  const GValue* value = gst_structure_get_value(structure, "framerate");
  if (value != nullptr && GST_VALUE_HOLDS_FRACTION(value)) {
    return {gst_value_get_fraction_numerator(value), gst_value_get_fraction_denominator(value)};
  }
  if (value != nullptr && GST_VALUE_HOLDS_FRACTION_RANGE(value)) {
    const GValue* most = gst_value_get_fraction_range_max(value);
    const FrameRate top{gst_value_get_fraction_numerator(most),
                        gst_value_get_fraction_denominator(most)};
    return per_second(top) < per_second(wanted) ? top : wanted;
  }
  return wanted;  // the rate is unknown: some test devices and screens
}

}  // namespace

std::vector<OfferedMode> modes_of(GstOwned<GstCaps> caps, PictureSize wanted, FrameRate rate) {
  if (caps == nullptr || gst_caps_is_any(caps.get()) != 0) {
    return {};
  }
  caps.reset(gst_caps_normalize(caps.release()));  // lists become single values
  std::vector<OfferedMode> modes;
  for (guint i = 0; i < gst_caps_get_size(caps.get()); ++i) {
    const GstStructure* structure = gst_caps_get_structure(caps.get(), i);
    const GstCapsFeatures* features = gst_caps_get_features(caps.get(), i);
    const bool is_jpeg = gst_structure_has_name(structure, "image/jpeg") != 0;
    const bool is_raw =
        gst_structure_has_name(structure, "video/x-raw") != 0 &&
        gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY) != 0;
    const CameraMode mode{{clamped(gst_structure_get_value(structure, "width"), wanted.width),
                           clamped(gst_structure_get_value(structure, "height"), wanted.height)},
                          rate_in(structure, rate),
                          is_jpeg};
    if ((!is_jpeg && !is_raw) || mode.size.width < 2 || mode.size.height < 2 ||
        mode.rate.numerator <= 0 || mode.rate.denominator <= 0) {
      continue;
    }
    GstStructure* exact = gst_structure_copy(structure);
    gst_structure_set(exact, "width", G_TYPE_INT, mode.size.width, "height", G_TYPE_INT,
                      mode.size.height, "framerate", GST_TYPE_FRACTION,
                      narrow<int>(mode.rate.numerator), narrow<int>(mode.rate.denominator),
                      nullptr);
    modes.push_back({mode, GstOwned<GstCaps>{gst_caps_new_full(exact, nullptr)}});
  }
  return modes;
}

std::optional<CameraMode> choose_camera_mode(std::span<const CameraMode> modes, PictureSize wanted,
                                             FrameRate rate) {
  std::optional<CameraMode> best;
  double least = std::numeric_limits<double>::infinity();
  for (const CameraMode& mode : modes) {
    const double cost = cost_of(mode, wanted, rate);
    if (cost < least) {
      least = cost;
      best = mode;
    }
  }
  return best;
}

}  // namespace cress::media
