#pragma once

#include <gst/gst.h>

#include <optional>
#include <span>
#include <vector>

#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_handles.hh"
#include "media/source/video_source.hh"

namespace cress::media {

/// A mode that a camera offers.
struct CameraMode {
  PictureSize size;
  FrameRate rate{};
  bool is_jpeg = false;
  friend bool operator==(const CameraMode&, const CameraMode&) = default;
};

/// The mode nearest to the wanted size and rate: the least weighted sum of both distances, in
/// doublings. Too slow and too small weigh most, then too large, JPEG (a fixed cost) and too fast.
/// Many cameras give large raw pictures only at 5 or 10 per second: then JPEG. nullopt: no mode.
std::optional<CameraMode> choose_camera_mode(std::span<const CameraMode> modes, PictureSize wanted,
                                             FrameRate rate);

struct OfferedMode {
  CameraMode mode;
  GstOwned<GstCaps> caps;  ///< exactly this mode
};

/// The usable part of a camera's caps: raw pictures in ordinary memory, and JPEG, at least 2 × 2.
/// Of a range of sizes or rates, the nearest to the wanted one. nullptr: none.
std::vector<OfferedMode> modes_of(GstOwned<GstCaps> caps, PictureSize wanted, FrameRate rate);

}  // namespace cress::media
